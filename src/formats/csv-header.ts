/** The first line of a table, before it is parsed: how many columns it names, and what ends its lines. */
import { ValueError } from "../errors.ts";
import { CSV_COLUMNS_MAX } from "../limits.ts";

const [CR, LF, QUOTE] = [0x0d, 0x0a, 0x22];
const BOM = [0xef, 0xbb, 0xbf];

/** What the beginning of a table tells of its first line that is not empty. */
export interface Header {
  /** So far, where the line has not ended. */
  readonly columns: number;
  readonly isEnded: boolean;
  /** The line end of the first line, empty or not; absent: there is none. */
  readonly lineEnd: "\r\n" | "\n" | "\r" | undefined;
}

/**
 * Reads until the first line that is not empty has ended, until there is no more, or beyond `most` bytes. The parser
 * would take a microsecond for each byte until it has found the end of a line.
 * @returns the chunks that were read, too
 */
export async function readHeader(chunks: AsyncIterator<Uint8Array>, delimiter: string, most: number) {
  const read: Uint8Array[] = [];
  let bytes = 0;
  // Twice as much is looked through each time: all times together are linear.
  for (let next = 1; ; next = bytes * 2) {
    let isAll = false;
    while (!isAll && bytes < next) {
      const { value, done } = await chunks.next();
      isAll = done === true;
      if (value) read.push(value);
      bytes += value?.length ?? 0;
    }
    const header = headerOf(read.length === 1 ? read[0]! : Buffer.concat(read, bytes), Buffer.from(delimiter));
    if (isAll) return { header: { ...header, isEnded: true }, read };
    if (header.isEnded || bytes > most) return { header, read };
  }
}

/** The header that these bytes begin with. */
export function headerOf(bytes: Uint8Array, delimiter: Uint8Array): Header {
  let columns = 0;
  let lineEnd: Header["lineEnd"];
  let [isFieldStart, isQuoted] = [true, false];
  for (let at = BOM.every((byte, i) => bytes[i] === byte) ? BOM.length : 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (isQuoted) {
      if (byte === QUOTE) isQuoted = false;
    } else if (byte === QUOTE && (isFieldStart || bytes[at - 1] === QUOTE)) {
      // After another one it is a part of the text, which goes on.
      [isFieldStart, isQuoted] = [false, true];
      columns ||= 1;
    } else if (byte === CR || byte === LF) {
      // Another byte has to say whether it is CRLF.
      if (byte === CR && at + 1 === bytes.length) break;
      const end = byte === LF ? "\n" : bytes[at + 1] === LF ? "\r\n" : "\r";
      lineEnd ??= end;
      if (columns > 0) return { columns, isEnded: true, lineEnd };
      at += end.length - 1;
    } else {
      columns ||= 1;
      isFieldStart = startsAt(bytes, at, delimiter);
      if (!isFieldStart) continue;
      columns += 1;
      at += delimiter.length - 1;
    }
  }
  return { columns, isEnded: false, lineEnd };
}

function startsAt(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

/** @throws ValueError for too many columns, with their number as far as it is known */
export function checkColumns({ columns, isEnded }: Header, name: string, delimiter: string): void {
  if (columns <= CSV_COLUMNS_MAX) return;
  const cut = delimiter === "\t" ? "cut" : `cut -d '${delimiter}'`;
  throw new ValueError(
    `${name} has ${isEnded ? "" : "more than "}${columns} columns, and at most ${CSV_COLUMNS_MAX} can be imported: ` +
      `keep the columns that you need, as in ${cut} -f 1-20 OLD > NEW`,
    "limit",
  );
}
