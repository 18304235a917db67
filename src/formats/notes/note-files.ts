/** Which files below a folder are notes, and the bytes of one. */
import { closeSync, constants, type Dirent, fstatSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { OSError, ValueError } from "../../errors.ts";
import { NOTE_DEPTH_MAX, NOTE_FILES_MAX, TEXT_BYTES_MAX } from "../../limits.ts";
import type { ByteSource } from "../input/bytes.ts";
import type { Remarks } from "../input/remarks.ts";

/** A note: its path below the folder, with slashes, and its size. */
export interface NoteFile {
  readonly path: string;
  readonly bytes: number;
}

/** A file's bytes, and its path below the folder that is imported, with slashes. */
export interface Note {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Whether a name is that of a Markdown file; Cursor's rules end in `.mdc`. */
export function isNote(name: string): boolean {
  return /\.(md|markdown|mdown|mkd|mdc)$/i.test(name);
}

/** Whether a name is that of a file of plain text. */
export function isPlainText(name: string): boolean {
  return /\.(txt|text)$/i.test(name);
}

/**
 * The notes below a folder, by path; with `isWanted` files of other names. Left out are hidden files and folders (`.obsidian`, `.git`, `.trash`) silently, and
 * links and other special files with a remark: a link may lead out of the folder, and within it its target is read once.
 * @throws OSError for a folder that cannot be read; ValueError for too many files
 */
export function findNotes(root: string, remarks: Remarks, isWanted: (name: string) => boolean = isNote): NoteFile[] {
  const found: NoteFile[] = [];
  const walk = (folder: string, depth: number) => {
    if (depth > NOTE_DEPTH_MAX)
      throw new ValueError(`'${folder}' lies more than ${NOTE_DEPTH_MAX} folders deep`, "limit");
    for (const entry of entries(join(root, folder), folder)) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) walk(path, depth + 1);
      else if (entry.isSymbolicLink()) remarks.add("a link", `'${path}'`);
      else if (!isWanted(entry.name)) continue;
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

/** The text of a file; undefined for what is not UTF-8, or has a NUL as binary files have. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** One file. @throws ValueError for one that is too long, or not text */
export async function* singleNote(path: string, input: ByteSource, ending = ".md"): AsyncGenerator<Note> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input.chunks()) {
    length += chunk.length;
    if (length > TEXT_BYTES_MAX)
      throw new ValueError(`${input.name} has more than ${TEXT_BYTES_MAX} bytes: divide it`, "limit");
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks, length);
  if (utf8(bytes) === undefined) throw new ValueError(`${input.name} is not UTF-8 text: convert it first`);
  yield { path: path === "-" ? `stdin${ending}` : basename(path).replace(/\.gz$/i, ""), bytes };
}

/** The files of a folder. */
export async function* notesIn(root: string, files: readonly NoteFile[], remarks: Remarks): AsyncGenerator<Note> {
  for (const { path, bytes } of files) {
    if (bytes > TEXT_BYTES_MAX) remarks.add(`more than ${TEXT_BYTES_MAX} bytes`, `'${path}'`);
    else {
      const read = readNote(join(root, path), path);
      if (read) yield { path, bytes: read };
      else remarks.add("replaced by something else meanwhile", `'${path}'`);
    }
  }
}

/** The bytes of a file; undefined where a link or a pipe has taken its place. @throws OSError */
function readNote(file: string, path: string): Uint8Array | undefined {
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile() || stat.size > TEXT_BYTES_MAX) return undefined;
      const bytes = Buffer.alloc(stat.size);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = readSync(fd, bytes, length, bytes.length - length, null);
      }
      return bytes.subarray(0, length);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP" || code === "ENOENT") return undefined;
    throw new OSError(`cannot read '${path}': ${code ?? "unknown error"}`);
  }
}
