/** Git work trees, found by their `.git`. Works without an installed git. */
import { lstatSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** The top level of the git work tree that holds a resolved directory. */
export function workTreeOf(directory: string): string | undefined {
  for (let at = directory; ; at = dirname(at)) {
    if (isTopLevel(at)) return at;
    if (at === dirname(at)) return undefined;
  }
}

/** `.git` is a folder, valid for git if it has a HEAD; in linked work trees and submodules it is a file. */
export function isTopLevel(directory: string): boolean {
  const marker = join(directory, ".git");
  try {
    const stat = statSync(marker, { throwIfNoEntry: false });
    if (!stat?.isDirectory()) return stat?.isFile() ?? false;
    return lstatSync(join(marker, "HEAD"), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
