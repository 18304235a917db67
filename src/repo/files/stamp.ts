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

const BILLION = 1_000_000_000n;
/** The number of regular files among types of entries. */
const REGULAR = 1n;

/** The stamp of what `lstat` or `fstat` says of a regular file, with `bigint`; as the native tree has it. */
export function stampOf(stat: { size: bigint; mtimeNs: bigint; ctimeNs: bigint; ino: bigint }): FileStamp {
  const { size, mtimeNs, ctimeNs, ino } = stat;
  const [seconds, rest] = [(ns: bigint) => ns / BILLION, (ns: bigint) => ns % BILLION];
  const words = [size, seconds(mtimeNs), seconds(ctimeNs), (rest(mtimeNs) << 32n) | rest(ctimeNs), ino, REGULAR];
  const mark = Number(Bun.hash.xxHash64(BigUint64Array.from(words)) >> 11n);
  const changedNs = mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
  return { size: Number(size), mark: mark === 0 ? 1 : mark, changedMs: Number(changedNs / 1_000_000n) };
}

/**
 * The mark to keep of a file that was read: 0, which is not a file's, where it is "racily clean", as git calls it: it
 * changed so shortly before it was read, or later, that a second edit could leave the same stamp. It is read again.
 * @param readMs when the read began
 */
export function settledMark({ mark, changedMs }: FileStamp, readMs: number): number {
  return changedMs >= readMs - RACY_MS ? 0 : mark;
}
