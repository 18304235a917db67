/** Status codes of native calls: `ty_status` in ty_runtime.h. src/store/failure.ts maps them to error classes. */
export const Status = {
  OK: 0,
  INVALID: 1,
  KEY_EXISTS: 2,
  NOT_FOUND: 3,
  STATE: 4,
  IO: 5,
  BUSY: 6,
  CANCELLED: 7,
  CORRUPT: 8,
  NO_MEMORY: 9,
  BUFFER: 10,
  ABI: 11,
  LARGE: 12,
  VERSION: 13,
  INDEX: 14,
  UNSURE: 15,
  NO_LEXICAL: 16,
  UNBUILT: 17,
  FULL: 18,
  REFUSED: 19,
} as const;

/** One of the codes above. */
export type StatusCode = (typeof Status)[keyof typeof Status];

/** A failed native call. `message` is the library's; `errno` the system's number where a system call failed, else 0. */
export class NativeError extends Error {
  override readonly name = "NativeError";
  constructor(
    readonly status: StatusCode,
    readonly errno: number,
    message: string,
  ) {
    super(message);
  }
}
