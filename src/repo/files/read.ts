/**
 * Reads one file of a root, never outside of it. A repository is untrusted input: a FIFO or device would block a plain
 * read for ever, a link may leave the root, a file may be replaced at any time. So the native side opens each folder by
 * its name in the one above, without following links and without blocking, and reads what it has opened, with a cap.
 */
import { NativeError } from "../../../ffi/status.ts";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { type NativeTree, ReadOutcome, type ReadOutcomeCode } from "../../../ffi/ty_tree.ts";
import { REPO_FILE_BYTES_MAX } from "../../limits.ts";
import { type FileStamp, stampOf } from "./stamp.ts";

/** Why a file was not read. An `unreadable` one keeps its rows. */
export type ReadFailure = "gone" | "unreadable" | "too_large" | "binary" | "secret";

/**
 * A file's bytes, a 53-bit hash of them that is never 0, and its stamp from before it was read: a later edit changes it.
 * Or the reason of the failure.
 */
export type FileRead =
  | { bytes: Uint8Array; hash: number; stamp: FileStamp }
  | { failure: ReadFailure; stamp?: FileStamp };

const FAILURES: Partial<Record<ReadOutcomeCode, ReadFailure>> = {
  [ReadOutcome.GONE]: "gone",
  [ReadOutcome.UNREADABLE]: "unreadable",
  [ReadOutcome.TOO_LARGE]: "too_large",
  [ReadOutcome.BINARY]: "binary",
};

/**
 * Reads `path` (relative, `/`-separated). The bytes are valid until the tree's next read.
 * @param bytesMax 0: {@link REPO_FILE_BYTES_MAX}
 */
export function readFile(tree: NativeTree, path: string, bytesMax: number): FileRead {
  return orUnreadable(() => readOpened(tree, path, bytesMax));
}

function readOpened(tree: NativeTree, path: string, bytesMax: number): FileRead {
  const file = tree.read(path, Math.min(bytesMax || REPO_FILE_BYTES_MAX, REPO_FILE_BYTES_MAX));
  const stamp = stampOf(file);
  const failure = FAILURES[file.outcome];
  if (failure !== undefined) return file.mark === 0 ? { failure } : { failure, stamp };
  const hash = file.hashHigh * 2 ** 21 + (file.hashLow >>> 11) || 1;
  return { bytes: file.bytes, stamp, hash };
}

/** The same below a resolved root of which no tree is open, into memory of its own. */
export function readFileOf(env: Environment, root: string, path: string, bytesMax = 0): FileRead {
  return orUnreadable(() => {
    const tree = env.openTree(root);
    try {
      return readOpened(tree, path, bytesMax);
    } finally {
      tree.close();
    }
  });
}

/** A path that is too long, or a process that lacks descriptors or memory, makes a file unreadable for this run. */
function orUnreadable(read: () => FileRead): FileRead {
  try {
    return read();
  } catch (error) {
    if (error instanceof NativeError) return { failure: "unreadable" };
    throw error;
  }
}
