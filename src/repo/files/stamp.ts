/** What identifies an unchanged file without reading it. */

export interface FileStamp {
  /** In bytes. */
  size: number;
  /** A 53-bit hash of its size, both times, inode and type, never 0: any edit changes one of the four. */
  mark: number;
  /** The later of its modification and change times, in milliseconds since 1970. A tool may set the former back. */
  changedMs: number;
}

/** Two edits within this time may get the same times. */
const RACY_MS = 2000;

/** The stamp in what a walk or a read says of a file. */
export function stampOf({ size, mark, changedMs }: FileStamp): FileStamp {
  return { size, mark, changedMs };
}

/**
 * The mark to keep of a file that was read: 0, which is not a file's, where it is "racily clean", as git calls it: it
 * changed so shortly before it was read, or later, that a second edit could leave the same stamp. It is read again.
 * @param readMs when the read began
 */
export function settledMark({ mark, changedMs }: FileStamp, readMs: number): number {
  return changedMs >= readMs - RACY_MS ? 0 : mark;
}
