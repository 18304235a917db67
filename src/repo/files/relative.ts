/** Paths relative to a root: `/`-separated, "" for the root itself. */

/** Whether a path lies in a folder of the root, or is that folder. */
export function isIn(folder: string, path: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** The folder of a path, `""` for what lies in the root. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Whether a path is one of the folders or lies below one. */
export function isInAny(folders: ReadonlySet<string>, path: string): boolean {
  if (folders.size === 0) return false;
  for (let at = path; at !== ""; at = parentOf(at)) if (folders.has(at)) return true;
  return folders.has("");
}

/** Whether it is a path: of components that are neither empty nor dots. */
export function isPath(path: string): boolean {
  return path.split("/").every((name) => name !== "" && name !== "." && name !== "..") && !path.includes("\0");
}

/** The order of paths by their components' bytes: a folder comes before what lies in it, and that before its neighbours. */
export function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a.replaceAll("/", "\0")), Buffer.from(b.replaceAll("/", "\0")));
}
