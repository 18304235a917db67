/**
 * Every failure a caller can see, one class per cause. The class name is the type that travels:
 * an MCP client reads `ValueError: …`, a remote client gets the same class back, `--json` prints type and code. People
 * read the message alone.
 *
 * A message names the value that was wrong and what to do. It never holds a secret, a stack trace, or an absolute path
 * of a file that the caller did not name.
 */

/**
 * The closed list of types that may appear before the colon, each with its reasons. Type and reason are the `code` of
 * an error, as in `KeyError.id_exists`: programs switch on it, never on the sentence. The first reason is that of
 * errors that need no other.
 */
export const ERROR_REASONS = {
  ValueError: ["invalid_value", "no_collection", "no_row", "collection_differs", "unknown_name", "limit"],
  TypeError: ["wrong_type"],
  KeyError: ["id_exists"],
  PermissionError: [
    "denied",
    "not_logged_in",
    "license_invalid",
    "license_expired",
    "feature_missing",
    "secret_exposed",
    "unauthorized",
    "device_revoked",
  ],
  RuntimeError: [
    "internal",
    "runtime_missing",
    "runtime_invalid",
    "runtime_key_unknown",
    "no_lexical_index",
    "unavailable",
  ],
  OSError: ["io", "disk_full", "damaged", "other_version", "disconnected", "outcome_unknown", "changes_lost"],
  TimeoutError: ["timed_out", "locked", "behind"],
  CancelledError: ["cancelled"],
} as const;

/** One of the eight types that callers can switch on exhaustively. */
export type ErrorType = keyof typeof ERROR_REASONS;

/** Why, as far as a program may want to know. */
export type Reason<T extends ErrorType> = (typeof ERROR_REASONS)[T][number];

/** What all of our failures have in common: a stable `type` and `code`, and a sentence. */
export abstract class SvcError<T extends ErrorType = ErrorType> extends Error {
  abstract readonly type: T;

  /** @param reason why, where it is not the type's first */
  constructor(
    message: string,
    readonly reason?: Reason<T>,
  ) {
    super(message);
  }

  /** `<type>.<reason>`, of the table above. */
  get code(): string {
    return `${this.type}.${this.reason ?? ERROR_REASONS[this.type][0]}`;
  }
}

/** The class of the errors of one type. */
function classOf<T extends ErrorType>(type: T) {
  return class extends SvcError<T> {
    override readonly name = type;
    readonly type = type;
  };
}

/** A value outside its domain, a collection that does not exist, a limit exceeded. */
export class ValueError extends classOf("ValueError") {}

/**
 * An argument of the wrong JSON type. Not the language's own TypeError, which is a bug of ours and never reaches a
 * caller.
 */
export class ArgumentTypeError extends classOf("TypeError") {}

/** `add` of an id that exists already, or stands twice in one call; nothing of the batch was written. */
export class KeyError extends classOf("KeyError") {}

/** Not logged in, a licence that is invalid or expired, a secret file that others can read. */
export class PermissionError extends classOf("PermissionError") {}

/** The native runtime is missing or not verified, or an index was asked for that was never built. */
export class RuntimeError extends classOf("RuntimeError") {}

/** The disk said no. The state on disk is the last saved one. */
export class OSError extends classOf("OSError") {}

/** A lock, a connection or a deadline that did not come in time. */
export class TimeoutError extends classOf("TimeoutError") {}

/** The caller asked to stop; the last saved state stands. */
export class CancelledError extends classOf("CancelledError") {}

/** An error as it travels. */
export interface ErrorFacts {
  readonly type: ErrorType;
  /** `<type>.<reason>` */
  readonly code: string;
  readonly message: string;
}

/**
 * Type, code and message of any failure. One that is not ours is a bug and becomes a RuntimeError without its stack; one
 * of the system's keeps its code and loses its message, which names paths.
 */
export function errorFacts(error: unknown): ErrorFacts {
  if (error instanceof SvcError) return { type: error.type, code: error.code, message: error.message };
  if (error instanceof Error && "code" in error && "syscall" in error) {
    const message = `the system refused ${String(error.syscall)} (${String(error.code)})`;
    return { type: "OSError", code: "OSError.io", message };
  }
  const message = `internal error: ${error instanceof Error ? error.message : String(error)}`;
  return { type: "RuntimeError", code: "RuntimeError.internal", message };
}

/** The one line that travels: `<Type>: <message>`. */
export function errorLine(error: unknown): string {
  const { type, message } = errorFacts(error);
  return `${type}: ${message}`;
}

/** The message of any failure, for people. */
export function errorMessage(error: unknown): string {
  return errorFacts(error).message;
}

/** The message of a line that was sent. */
export function withoutType(line: string): string {
  return line.replace(/^[A-Z][A-Za-z]*Error: /, "");
}

/** The code that travels beside the line: that of a reason which the type alone does not say; undefined otherwise. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof SvcError && error.reason !== undefined ? error.code : undefined;
}

/** What an action returns; undefined where it fails: for what may be missing, damaged or closed. */
export function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
