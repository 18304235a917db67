/** What a native call may answer: `ty_status` in ty_runtime.h. Policy (which of our error classes that becomes) lives in src/store. */
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
} as const;

/** One of the codes above. */
export type StatusCode = (typeof Status)[keyof typeof Status];

/** A native call failed. `message` is the library's sentence; `errno` the system's number where a system call failed, else 0. */
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
