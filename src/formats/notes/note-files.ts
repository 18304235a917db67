/** Which files below a folder are notes. */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { OSError, ValueError } from "../../errors.ts";
import { NOTE_DEPTH_MAX, NOTE_FILES_MAX } from "../../limits.ts";
import type { Remarks } from "../input/remarks.ts";

/** A note: its path below the folder, with slashes, and its size. */
export interface NoteFile {
  readonly path: string;
  readonly bytes: number;
}

/** Whether a name is that of a Markdown file. */
export function isNote(name: string): boolean {
  return /\.(md|markdown|mdown|mkd)$/i.test(name);
}

/**
 * The notes below a folder, by path. Left out are hidden files and folders (`.obsidian`, `.git`, `.trash`) silently, and
 * links and other special files with a remark: a link may lead out of the folder, and within it its target is read once.
 * @throws OSError for a folder that cannot be read; ValueError for too many files
 */
export function findNotes(root: string, remarks: Remarks): NoteFile[] {
  const found: NoteFile[] = [];
  const walk = (folder: string, depth: number) => {
    if (depth > NOTE_DEPTH_MAX)
      throw new ValueError(`'${folder}' lies more than ${NOTE_DEPTH_MAX} folders deep`, "limit");
    for (const entry of entries(join(root, folder), folder)) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) walk(path, depth + 1);
      else if (entry.isSymbolicLink()) remarks.add("a link", `'${path}'`);
      else if (!isNote(entry.name)) continue;
      else if (!entry.isFile()) remarks.add("no plain file", `'${path}'`);
      else if (!path.isWellFormed() || path.includes("\ufffd")) remarks.add("a name that is not UTF-8", `'${path}'`);
      else found.push({ path, bytes: statSync(join(root, path), { throwIfNoEntry: false })?.size ?? 0 });
      if (found.length > NOTE_FILES_MAX)
        throw new ValueError(`more than ${NOTE_FILES_MAX} files: import its folders one by one`, "limit");
    }
  };
  walk("", 0);
  return found;
}

/** In the order of their names, which is the same on every machine. */
function entries(folder: string, path: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OSError(`cannot read ${path === "" ? "the folder" : `'${path}'`}: ${code ?? "unknown error"}`);
  }
}
