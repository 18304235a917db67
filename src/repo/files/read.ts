/**
 * Reads one file of a root, never outside of it. A repository is untrusted input: a FIFO or device would block a plain
 * read for ever, a link may leave the root, a file may be replaced between `lstat` and read. So: open without following
 * links and without blocking, `fstat` the descriptor, and only then read, with a cap.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { REPO_FILE_BYTES_MAX } from "../../limits.ts";
import { type FileStamp, stampOf } from "./stamp.ts";

/** Why a file was not read. An `unreadable` one keeps its rows. */
export type ReadFailure = "gone" | "unreadable" | "outside" | "too_large" | "binary" | "secret";

/** The bytes with their stamp (taken before the read: a later edit changes it), or the reason of the failure. */
export type ReadResult = { bytes: Uint8Array; stamp: FileStamp } | { failure: ReadFailure; stamp?: FileStamp };

/** A file is binary if its first bytes contain a NUL, as for git and ripgrep. */
const BINARY_PROBE_BYTES = 8 * 1024;

/** Reads `path` (relative, `/`-separated) below the resolved `root`. `bytesMax` 0: {@link REPO_FILE_BYTES_MAX}. */
export function readRepoFile(root: string, path: string, bytesMax = 0): ReadResult {
  const full = join(root, path);
  let fd: number;
  try {
    fd = openSync(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return { failure: "gone" };
    // ELOOP: a link has replaced the file. The walk counts links; here the file is gone.
    return { failure: code === "ELOOP" ? "gone" : "unreadable" };
  }
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (!stat.isFile()) return { failure: "unreadable" };
    const size = Number(stat.size);
    const stamp = stampOf(stat);
    if (!isInside(root, full, stat)) return { failure: "outside" };
    if (size > Math.min(bytesMax || REPO_FILE_BYTES_MAX, REPO_FILE_BYTES_MAX)) return { failure: "too_large", stamp };
    const bytes = new Uint8Array(size);
    const probe = readInto(fd, bytes, 0, Math.min(size, BINARY_PROBE_BYTES));
    if (bytes.subarray(0, probe).includes(0)) return { failure: "binary", stamp };
    const length = probe < BINARY_PROBE_BYTES ? probe : readInto(fd, bytes, probe, size);
    return { bytes: length === size ? bytes : bytes.subarray(0, length), stamp };
  } catch {
    return { failure: "unreadable" };
  } finally {
    closeSync(fd);
  }
}

/** O_NOFOLLOW covers the last component only: a link may have replaced a directory above it. */
function isInside(root: string, full: string, opened: { dev: bigint; ino: bigint }): boolean {
  const parent = realpathSync.native(dirname(full));
  if (parent !== root && !parent.startsWith(root.endsWith(sep) ? root : root + sep)) return false;
  const now = lstatSync(join(parent, full.slice(full.lastIndexOf(sep) + 1)), { bigint: true });
  return now.ino === opened.ino && now.dev === opened.dev;
}

/** Fills `bytes` from `from` up to `to`; returns the end of the data, before `to` if the file shrank. */
function readInto(fd: number, bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to) {
    const count = readSync(fd, bytes, at, to - at, null);
    if (count === 0) break;
    at += count;
  }
  return at;
}
