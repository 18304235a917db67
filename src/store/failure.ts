/** Maps native failures to our error classes, with the library's message and our remedy. */
import { getSystemErrorName } from "node:util";
import { NativeError, Status } from "../../ffi/status.ts";
import { diskRemedy, isFull } from "../durable.ts";
import { CancelledError, KeyError, OSError, RuntimeError, SvcError, TimeoutError, ValueError } from "../errors.ts";

/**
 * The error that a caller sees for a failure in collection `name`. Our own errors pass through.
 *
 * @param stands the collection's state after a failed change, as the end of a sentence; empty for a failed read
 */
export function fromNative(error: unknown, name: string, stands = ""): SvcError {
  if (error instanceof SvcError) return error;
  if (error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError")) {
    return new CancelledError(`the call was cancelled${stands || `; collection '${name}' stands as last saved`}`);
  }
  if (!(error instanceof NativeError)) throw error;
  const message = error.message;
  switch (error.status) {
    case Status.KEY_EXISTS:
      return new KeyError(message);
    case Status.STATE:
      return new RuntimeError(message);
    case Status.NO_LEXICAL:
      return new RuntimeError(`${message}: 'svc mem alter ${name} --lexical' adds one`, "no_lexical_index");
    case Status.UNBUILT:
      return new RuntimeError(
        `${message}: build it with svc_build_lexical or 'svc mem build-lexical ${name}'`,
        "no_lexical_index",
      );
    case Status.BUSY:
      return new TimeoutError(`collection '${name}' is being changed by others: ${message}; try again later`, "locked");
    case Status.CANCELLED:
      return new CancelledError(`the call was cancelled${stands || `; collection '${name}' stands as last saved`}`);
    case Status.FULL:
    case Status.IO:
      // Without a system error the collection's directory is gone, and its last saved state with it.
      return error.errno > 0 ? diskFailure(message, getSystemErrorName(-error.errno), stands) : new OSError(message);
    case Status.UNSURE:
      // Neither lost nor saved for certain: the collection need not stand as it was.
      return new OSError(
        `collection '${name}': ${message}; check the collection before you repeat the call`,
        "outcome_unknown",
      );
    case Status.REFUSED:
      return new OSError(`collection '${name}': ${message}${stands}`);
    case Status.CORRUPT:
      return damaged(name, message);
    case Status.INDEX:
      // The rows are intact.
      return new OSError(
        `collection '${name}': ${message}; 'svc mem check ${name} --repair' repairs what can be repaired`,
        "damaged",
      );
    case Status.VERSION:
      // The message says which of both is newer, and so what helps.
      return new OSError(`collection '${name}': ${message}`, "other_version");
    case Status.NO_MEMORY:
      return new OSError(`out of memory${stands}`);
    case Status.ABI:
      return new RuntimeError(`${message}: run 'svc runtime install' again`, "runtime_invalid");
    default:
      return new ValueError(message, ALTERED.test(message) ? "collection_differs" : undefined);
  }
}

/** Whether a save of staged changes failed where they are staged still: the disk is full, or it was refused. */
export function isStillStaged(error: unknown): boolean {
  return error instanceof NativeError && (error.status === Status.FULL || error.status === Status.REFUSED);
}

/** Whether a failed save may have been made. */
export function isUnsure(error: unknown): boolean {
  if (error instanceof OSError) return error.reason === "outcome_unknown";
  return error instanceof NativeError && error.status === Status.UNSURE;
}

/** What the native side says where the files are those of another schema than the collection was opened with. */
const ALTERED = /^another process has saved a collection of this name with another /;

/** Whether a call failed because another process has altered the collection since it was opened. */
export function isAltered(error: unknown): boolean {
  return error instanceof ValueError && error.reason === "collection_differs" && ALTERED.test(error.message);
}

/** The error for files that differ from what was written. */
export function damaged(name: string, what: string): OSError {
  return new OSError(
    `collection '${name}' is damaged: ${what}; ` +
      `'svc mem check ${name} --repair' saves the rows that can be read, or fetches them from the memory's database; a backup has all rows`,
    "damaged",
  );
}

function diskFailure(message: string, code: string, stands: string): OSError {
  return new OSError(`${message}${diskRemedy(code)}${stands}`, isFull(code) ? "disk_full" : "io");
}
