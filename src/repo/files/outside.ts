/** What of a root is not looked at: links that lead out of it, and folders that the caller excludes. */
import { readlinkSync, realpathSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { realPath } from "./refusals.ts";

/** Whether a link below a resolved root leads out of it. One inside is a second name of what is listed itself. */
export function leadsOutside(root: string, path: string): boolean {
  const link = join(root, path);
  try {
    return relativeTo(root, realpathSync.native(link)) === undefined;
  } catch {
    // Dangling or a cycle: by the link's own text.
    try {
      return relativeTo(root, resolve(dirname(link), readlinkSync(link))) === undefined;
    } catch {
      return false;
    }
  }
}

/** Those of absolute folders that lie below a resolved root, relative to it. */
export function insideOf(root: string, folders: readonly string[]): Set<string> {
  const inner = folders.map((folder) => relativeTo(root, realPath(folder)));
  return new Set(inner.filter((path) => path !== undefined && path !== "") as string[]);
}

function relativeTo(root: string, path: string): string | undefined {
  if (path === root) return "";
  return path.startsWith(root + sep) ? path.slice(root.length + 1) : undefined;
}
