/** Which paths of a repository a question is about. */
import { existsSync } from "node:fs";
import { isAbsolute, join, resolve, sep } from "node:path";
import { shown } from "../../checks/kinds.ts";
import { ValueError } from "../../errors.ts";
import { isBelow } from "../files/refusals.ts";
import type { Workspace } from "../files/workspace.ts";

/**
 * The path of a hint, relative to the repository's root as those of rows are; undefined where nothing is excluded.
 *
 * In a workspace that is a folder of a repository a relative hint is of that folder first. Where it names nothing there
 * it may be a path of an answer, which is relative to the root.
 * @param hint absolute or relative, with `*` or other signs of a pattern in any part
 * @throws ValueError for one that leads out of the workspace
 */
export function scopeOf({ root, below }: Workspace, hint: string | undefined): string | undefined {
  if (!hint) return below;
  const folder = join(root, below ?? "");
  const inFolder = resolve(folder, hint);
  const inRoot = resolve(root, hint);
  const isOfRoot = !isAbsolute(hint) && isBelow(folder, inRoot) && !existsSync(plainPart(inFolder));
  const full = isOfRoot && existsSync(plainPart(inRoot)) ? inRoot : inFolder;
  if (!isBelow(folder, full)) {
    throw new ValueError(`path_hint ${shown(hint)} lies outside the workspace: give a path below its root`);
  }
  return full === root ? undefined : full.slice(root.length + 1).replaceAll(sep, "/");
}

/** The folders of a path before the first part that may be a pattern; all of a path without any. */
function plainPart(path: string): string {
  const parts = path.split(sep);
  const at = parts.findIndex((part) => /[*?[{]/.test(part));
  return at === -1 ? path : parts.slice(0, at).join(sep) || sep;
}
