/**
 * Splits a file's text into chunks: overlapping windows of lines, or the file as one. Lines are numbered from 1 and
 * ranges include both ends, as in editors and compilers. A line ends with `\n`; a `\r` before it is kept.
 *
 * Chunks are ranges of the file's bytes: as strings of lines that are joined again, a first index spent an eighth of its
 * time here, and held three copies of every text.
 */
import { isUtf8 } from "node:buffer";
import { ValueError } from "../../errors.ts";

/** `windowed`: overlapping windows of lines; `file`: one chunk a file, where its size allows. */
export type ChunkMode = "windowed" | "file";

export interface ChunkOptions {
  mode: ChunkMode;
  windowLines: number;
  windowOverlapLines: number;
}

export const CHUNK_DEFAULTS: ChunkOptions = { mode: "windowed", windowLines: 48, windowOverlapLines: 8 };

/**
 * UTF-8 bytes of text in one chunk. Long windows are cut at lines, a longer line (minified code) into numbered pieces.
 */
export const CHUNK_BYTES_MAX = 64 * 1024;

/**
 * Part of every fingerprint: raise it when the same file would give other chunks or labels, or count as a secret by
 * other rules, and all files are chunked again.
 */
export const CHUNKER_VERSION = 2;

export interface Chunk {
  /** Bytes `from` to `to`, exclusive, of the text: the lines as in the file, line ends included. */
  from: number;
  to: number;
  startLine: number;
  endLine: number;
  /** Which piece of one line that is too long for a chunk, from 0; absent for whole lines. */
  piece?: number;
}

/** Checks that options go together; each by itself was checked as an argument. @throws ValueError naming the argument */
export function checkChunkOptions({ windowLines, windowOverlapLines }: ChunkOptions): void {
  if (windowOverlapLines >= windowLines) {
    throw new ValueError(
      `window_overlap_lines (${windowOverlapLines}) must be less than window_lines (${windowLines}): ` +
        "windows would not advance",
    );
  }
}

/**
 * The bytes of a source file as UTF-8: a byte order mark is dropped, what is invalid becomes U+FFFD. Valid bytes are not
 * copied.
 */
export function textBytes(bytes: Uint8Array): Uint8Array {
  if (!isUtf8(bytes)) return new TextEncoder().encode(decodeText(bytes));
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** The same as a string. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder("utf-8").decode(bytes);
}

/** Within a text the mark is a character. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** What {@link textBytes} gave, or a part of it that a chunk can be, as a string. */
export function textOf(text: Uint8Array): string {
  return utf8.decode(text);
}

/** The lines of a text, each with its line end; a final `\n` ends a line and begins none. */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf("\n", start);
    const next = end === -1 ? text.length : end + 1;
    lines.push(text.slice(start, next));
    start = next;
  }
  return lines;
}

/** The chunks of a text, as {@link textBytes} gives it, in order; none for a blank one. The options must have been checked. */
export function chunkBytes(text: Uint8Array, options: ChunkOptions): Chunk[] {
  const { starts, longest } = linesOf(text);
  // Blank lines at the end would make a last window without new text.
  let count = starts.length - 1;
  while (count > 0 && isBlank(text, starts[count - 1]!, starts[count]!)) count--;

  const chunks: Chunk[] = [];
  let from = 0;
  for (let at = longest > CHUNK_BYTES_MAX ? 0 : count; at <= count; at++) {
    // A line too long for a chunk separates windows: inside an overlap it would be repeated.
    const tooLong = at < count && starts[at + 1]! - starts[at]! > CHUNK_BYTES_MAX;
    if (at < count && !tooLong) continue;
    chunkRun(starts, from, at, options, chunks);
    if (tooLong) pushPieces(text, at, starts[at]!, starts[at + 1]!, chunks);
    from = at + 1;
  }
  return chunks;
}

/** Where each line begins, and the end of the text; and the bytes of the longest line. */
function linesOf(text: Uint8Array): { starts: number[]; longest: number } {
  const starts = [0];
  let longest = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf(10, at);
    const next = end === -1 ? text.length : end + 1;
    if (next - at > longest) longest = next - at;
    at = next;
    starts.push(at);
  }
  return { starts, longest };
}

/** Whether a line has nothing but white space. */
function isBlank(text: Uint8Array, from: number, to: number): boolean {
  let at = from;
  while (at < to && (text[at] === 32 || (text[at]! >= 9 && text[at]! <= 13))) at++;
  if (at === to) return true;
  // What is left begins with a letter or with a character beyond ASCII, of which some are white space.
  return text[at]! >= 0x80 && textOf(text.subarray(from, to)).trim() === "";
}

/** A line too long for a chunk, in numbered pieces. */
function pushPieces(text: Uint8Array, line: number, start: number, end: number, chunks: Chunk[]): void {
  let from = start;
  for (const [piece, part] of splitLongLine(textOf(text.subarray(start, end))).entries()) {
    const to = from + Buffer.byteLength(part);
    chunks.push({ from, to, startLine: line + 1, endLine: line + 1, piece });
    from = to;
  }
}

/** The pieces of a line that is longer than a chunk, cut between characters. */
export function splitLongLine(line: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < line.length) {
    // A third of the bytes in UTF-16 units always fits; the rest is filled in steps.
    let end = Math.min(line.length, start + Math.floor(CHUNK_BYTES_MAX / 3));
    let bytes = Buffer.byteLength(line.slice(start, end));
    while (end < line.length) {
      const room = CHUNK_BYTES_MAX - bytes;
      const step = Math.min(Math.floor(room / 3), line.length - end);
      if (step === 0) break;
      bytes += Buffer.byteLength(line.slice(end, end + step));
      end += step;
    }
    if (end < line.length && isLowSurrogate(line.charCodeAt(end))) end--;
    pieces.push(line.slice(start, end));
    start = end;
  }
  return pieces;
}

/** Windows over the lines from `from` to `to`, exclusive, none of which is too long by itself. */
function chunkRun(starts: number[], from: number, to: number, options: ChunkOptions, chunks: Chunk[]): void {
  const size = options.mode === "file" ? to - from : options.windowLines;
  const step = options.mode === "file" ? size : options.windowLines - options.windowOverlapLines;
  for (let start = from; start < to; start += step) {
    const end = Math.min(start + size, to);
    pushBounded(starts, start, end, chunks);
    if (end === to) break;
  }
}

/** One window, cut at lines where it would exceed a chunk. */
function pushBounded(starts: number[], start: number, end: number, chunks: Chunk[]): void {
  let first = start;
  if (starts[end]! - starts[start]! > CHUNK_BYTES_MAX) {
    for (let at = start; at < end; at++) {
      if (starts[at + 1]! - starts[first]! <= CHUNK_BYTES_MAX) continue;
      chunks.push({ from: starts[first]!, to: starts[at]!, startLine: first + 1, endLine: at });
      first = at;
    }
  }
  chunks.push({ from: starts[first]!, to: starts[end]!, startLine: first + 1, endLine: end });
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
