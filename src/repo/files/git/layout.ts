/**
 * Where git keeps what it knows of a work tree, read from its files as git reads them. They are untrusted, and may name
 * any folder: what is read there is only names and patterns, and a name counts only where the walk finds it in the
 * root.
 */
import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { readText } from "./text.ts";

/** The folders of one work tree's repository, resolved. */
export interface GitLayout {
  /** The git folder of this work tree alone: index, HEAD. */
  gitDir: string;
  /** The git folder of all work trees: config, info/exclude. The same folder unless the work tree is a linked one. */
  commonDir: string;
}

/** A path and a few words; larger files are not git's. */
const LINK_BYTES_MAX = 8 * 1024;

/** The layout of the work tree whose top level is `top`; undefined where git sees none there. */
export function layoutOf(top: string): GitLayout | undefined {
  const marker = join(top, ".git");
  try {
    const stat = statSync(marker, { throwIfNoEntry: false });
    if (!stat) return undefined;
    return layoutIn(stat.isDirectory() ? marker : linkedFrom(top, marker));
  } catch {
    return undefined;
  }
}

function linkedFrom(top: string, marker: string): string | undefined {
  const text = readText(marker, LINK_BYTES_MAX);
  if (!text?.startsWith("gitdir: ")) return undefined;
  return resolve(top, text.slice("gitdir: ".length).replace(/[\r\n]+$/, ""));
}

/** By what git itself looks for. */
function layoutIn(named: string | undefined): GitLayout | undefined {
  if (named === undefined || !isHead(join(named, "HEAD"))) return undefined;
  const gitDir = realpathSync.native(named);
  const shared = readText(join(gitDir, "commondir"), LINK_BYTES_MAX)?.replace(/[\r\n]+$/, "");
  const commonDir = shared === undefined ? gitDir : realpathSync.native(resolve(gitDir, shared));
  for (const name of ["objects", "refs"]) accessSync(join(commonDir, name), constants.X_OK);
  return { gitDir, commonDir };
}

function isHead(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return readlinkSync(path).startsWith("refs/");
  return /^(ref:\s*refs\/|[0-9a-f]{40})/.test(readText(path, LINK_BYTES_MAX) ?? "");
}
