/**
 * The fingerprints of a repository on disk: a head, and blocks of records after it, a later record of a path in place
 * of an earlier one. How many bytes of it count is said by the repository's note (`note.ts`), which is saved together
 * with the rows; bytes after them are what a failed save left.
 *
 * The head is a line of JSON, filled up with spaces to a multiple of 8 bytes. A block is columns, little-endian: u32
 * magic, records, windows, bytes of the paths; then f64 marks, f64 content hashes, f64 hashes of the windows, u32 first
 * lines of the windows, u32 chunks, u8 kinds, the paths in UTF-8 with a NUL after each, and zeros up to a multiple of
 * 8. A kind is its number in `KINDS`, 3 for a path that has no record any more, and 16 more where the chunks' windows
 * are known. Columns, because the paths of 5,000 records are decoded at once in a tenth of the time.
 */
import { closeSync, constants, ftruncateSync, rmSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { isObject } from "../../checks/kinds.ts";
import { diskError, syncFile, writeNew } from "../../durable.ts";
import { openRegular, RegularFile } from "../../regular-file.ts";
import type { GitWorkTree } from "../files/work-tree.ts";
import { type Fingerprint, KINDS } from "./fingerprints.ts";

const FORMAT = 3;
const MAGIC = 0x33504653;
const BLOCK_HEAD = 16;
/** The kind of a path without a record, and the flag of known windows. */
const REMOVED = 3;
const WITH_WINDOWS = 16;

/** Bytes of the longest head: a root and a path below it, 4 KiB together, git's folder, and everything else. */
const HEAD_BYTES_MAX = 16 * 1024;

/** Larger logs are not ours: a million records take less. */
const LOG_BYTES_MAX = 1024 * 1024 * 1024;

/** What a log is about. */
export interface Head {
  repoId: string;
  /** Resolved root, below which rows' sources are read. */
  root: string;
  /** The repository of git that the root belonged to; absent: none. */
  git?: GitWorkTree | undefined;
  /** `deviceOf` the root. */
  device: number;
}

/** Records by path; undefined: the path has none any more. */
export type Records = ReadonlyMap<string, Fingerprint | undefined>;

/** How much of a log counts, and its checksum. */
export interface Extent {
  bytes: number;
  /** CRC-32 of so many bytes. */
  sum: number;
}

/** Creates a log. Its name must be new; it is durable once the folder is synced. @throws OSError */
export function createLog(path: string, head: Head, records: Records): Extent {
  const line = new TextEncoder().encode(JSON.stringify({ format: FORMAT, ...head }));
  const headBytes = Math.ceil((line.length + 1) / 8) * 8;
  const block = encodeBlock(records);
  const bytes = new Uint8Array(headBytes + block.length).fill(32, line.length, headBytes - 1);
  bytes.set(line);
  bytes[headBytes - 1] = 10;
  bytes.set(block, headBytes);
  writeNew(path, bytes);
  return { bytes: bytes.length, sum: crc32(bytes) };
}

/** Appends records after what counts, in place of what a failed save left there, and syncs. @throws OSError */
export function appendLog(path: string, to: Extent, records: Records): Extent {
  const block = encodeBlock(records);
  try {
    const { fd, stat } = openRegular(path, constants.O_WRONLY | constants.O_NOFOLLOW);
    try {
      if (stat.size > to.bytes) ftruncateSync(fd, to.bytes);
      for (let at = 0; at < block.length; ) at += writeSync(fd, block, at, block.length - at, to.bytes + at);
      syncFile(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw diskError(error, "write", path);
  }
  return { bytes: to.bytes + block.length, sum: crc32(block, to.sum) };
}

/** Removes a log that does not count. One that cannot be removed, as a folder in its place, is left. */
export function removeLog(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next run that begins a log tries again.
  }
}

/**
 * Reads what counts of a log and is not known yet into `files`; undefined where it is missing, damaged, of another
 * format or repository. Then `files` may have some of it.
 * @param known what was read before
 */
export function readLog(
  path: string,
  repoId: string,
  extent: Extent,
  files: Map<string, Fingerprint>,
  known: Extent & { head?: Head } = { bytes: 0, sum: 0 },
): Head | undefined {
  if (extent.bytes > LOG_BYTES_MAX || known.bytes > extent.bytes) return undefined;
  const bytes = readFrom(path, known.bytes, extent.bytes);
  if (bytes === undefined || crc32(bytes, known.sum) !== extent.sum) return undefined;
  const head = known.head ?? parseHead(bytes);
  if (head?.repoId !== repoId) return undefined;
  let at = known.head ? 0 : bytes.indexOf(10) + 1;
  while (at < bytes.length) {
    const next = decodeBlock(bytes, at, files);
    if (next === undefined) return undefined;
    at = next;
  }
  return head;
}

/** The head alone, for callers that do not index: a few kilobytes are read. */
export function readHead(path: string): Head | undefined {
  const bytes = readFrom(path, 0, HEAD_BYTES_MAX, true);
  return bytes && parseHead(bytes);
}

/** About how many bytes a record takes. */
export function recordBytes(path: string, file: Fingerprint): number {
  return path.length + 22 + (file.windows ? file.chunks * 12 : 0);
}

function encodeBlock(records: Records): Uint8Array {
  const count = records.size;
  let windows = 0;
  for (const file of records.values()) if (file?.windows) windows += file.chunks;
  const paths = new TextEncoder().encode([...records.keys(), ""].join("\0"));
  const block = new ArrayBuffer(roundUp(BLOCK_HEAD + count * 21 + windows * 12 + paths.length));
  const { marks, hashes, windowHashes, lines, chunks, kinds, text } = columnsOf(block, 0, count, windows, paths.length);
  new Uint32Array(block, 0, 4).set([MAGIC, count, windows, paths.length]);
  text.set(paths);
  let at = 0;
  let window = 0;
  for (const file of records.values()) {
    kinds[at] = file ? KINDS.indexOf(file.kind) + (file.windows ? WITH_WINDOWS : 0) : REMOVED;
    marks[at] = file?.mark ?? 0;
    hashes[at] = file?.hash ?? 0;
    chunks[at] = file?.chunks ?? 0;
    at++;
    if (!file?.windows) continue;
    const { from } = file.windows;
    for (let chunk = 0; chunk < file.chunks; chunk++, window++) {
      windowHashes[window] = file.windows.hashes[from + chunk]!;
      lines[window] = file.windows.lines[from + chunk]!;
    }
  }
  return new Uint8Array(block);
}

/** Reads the block at a place, a multiple of 8; returns where the next one begins, undefined if none does. */
function decodeBlock(bytes: Uint8Array<ArrayBuffer>, at: number, files: Map<string, Fingerprint>): number | undefined {
  if (at % 8 !== 0 || bytes.length - at < BLOCK_HEAD) return undefined;
  const [magic, count = 0, windows = 0, pathBytes = 0] = new Uint32Array(bytes.buffer, bytes.byteOffset + at, 4);
  const size = roundUp(BLOCK_HEAD + count * 21 + windows * 12 + pathBytes);
  if (magic !== MAGIC || size > bytes.length - at) return undefined;
  const columns = columnsOf(bytes.buffer, bytes.byteOffset + at, count, windows, pathBytes);
  const { marks, hashes, windowHashes, lines, chunks, kinds, text } = columns;
  const paths = new TextDecoder("utf-8", { ignoreBOM: true }).decode(text).split("\0");
  if (paths.length !== count + 1) return undefined;
  for (let i = 0, from = 0; i < count; i++) {
    const flags = kinds[i]!;
    const kind = KINDS[flags & ~WITH_WINDOWS];
    if (kind === undefined) {
      if (flags !== REMOVED) return undefined;
      files.delete(paths[i]!);
      continue;
    }
    const file: Fingerprint = { kind, chunks: chunks[i]!, mark: marks[i]!, hash: hashes[i]! };
    if (flags & WITH_WINDOWS) {
      if (file.chunks > windows - from) return undefined;
      file.windows = { from, hashes: windowHashes, lines };
      from += file.chunks;
    }
    files.set(paths[i]!, file);
  }
  return at + size;
}

function columnsOf(buffer: ArrayBuffer, start: number, count: number, windows: number, pathBytes: number) {
  let at = start + BLOCK_HEAD;
  const take = (bytes: number) => {
    at += bytes;
    return at - bytes;
  };
  return {
    marks: new Float64Array(buffer, take(count * 8), count),
    hashes: new Float64Array(buffer, take(count * 8), count),
    windowHashes: new Float64Array(buffer, take(windows * 8), windows),
    lines: new Uint32Array(buffer, take(windows * 4), windows),
    chunks: new Uint32Array(buffer, take(count * 4), count),
    kinds: new Uint8Array(buffer, take(count), count),
    text: new Uint8Array(buffer, take(pathBytes), pathBytes),
  };
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** The head line, each field checked: other programs may have changed the file. */
function parseHead(bytes: Uint8Array): Head | undefined {
  try {
    const end = bytes.subarray(0, HEAD_BYTES_MAX).indexOf(10);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, Math.max(end, 0)))) as
      | (Partial<Head> & { format?: unknown })
      | null;
    if (!isObject(head) || head.format !== FORMAT) return undefined;
    const { repoId, root, device, git } = head;
    if (git !== undefined && !isObject(git)) return undefined;
    const words = [repoId, root, git?.common ?? "", git?.linked ?? ""];
    if (typeof device !== "number" || !words.every((value) => typeof value === "string")) return undefined;
    return { repoId: repoId!, root: root!, device, ...(git ? { git } : {}) };
  } catch {
    return undefined;
  }
}

/** The bytes of a regular file between two places; undefined where it is missing or, unless `orLess`, shorter. */
function readFrom(path: string, from: number, to: number, orLess = false): Uint8Array<ArrayBuffer> | undefined {
  const file = RegularFile.open(path);
  try {
    return file?.read(from, (orLess ? Math.min(to, file.size) : to) - from);
  } finally {
    file?.close();
  }
}
