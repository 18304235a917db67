/**
 * Splits a file's text into chunks: overlapping windows of lines, or the file as one. Lines are numbered from 1 and
 * ranges include both ends, as in editors and compilers. A line ends with `\n`; a `\r` before it is kept.
 */
import { ValueError } from "../errors.ts";

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
  /** The lines as in the file, line ends included. */
  text: string;
  startLine: number;
  endLine: number;
  /** Which piece of one line that is too long for a chunk, from 0; absent for whole lines. */
  piece?: number;
}

/** Checks the options. @throws ValueError with the argument's name in `svc_index_repo` */
export function checkChunkOptions(options: ChunkOptions): void {
  const { mode, windowLines, windowOverlapLines } = options;
  if (mode !== "windowed" && mode !== "file") throw new ValueError(`mode '${mode}' is not one of 'windowed', 'file'`);
  if (!Number.isSafeInteger(windowLines) || windowLines < 1) {
    throw new ValueError(`window_lines must be a whole number of at least 1, not ${windowLines}`);
  }
  if (!Number.isSafeInteger(windowOverlapLines) || windowOverlapLines < 0) {
    throw new ValueError(`window_overlap_lines must be a whole number of at least 0, not ${windowOverlapLines}`);
  }
  if (windowOverlapLines >= windowLines) {
    throw new ValueError(
      `window_overlap_lines (${windowOverlapLines}) must be less than window_lines (${windowLines}): ` +
        "windows would not advance",
    );
  }
}

/** Bytes of a source file as text: a byte order mark is dropped, invalid UTF-8 becomes U+FFFD. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder("utf-8").decode(bytes);
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

/** The chunks of a text in order; none for a blank text. The options must have been checked. */
export function chunkText(text: string, options: ChunkOptions): Chunk[] {
  const lines = splitLines(text);
  // Blank lines at the end would make a last window without new text.
  let count = lines.length;
  while (count > 0 && lines[count - 1]!.trim() === "") count--;

  const chunks: Chunk[] = [];
  let from = 0;
  for (let at = 0; at <= count; at++) {
    // A line too long for a chunk separates windows: inside an overlap it would be repeated.
    const tooLong = at < count && isTooLong(lines[at]!);
    if (at < count && !tooLong) continue;
    chunkRun(lines, from, at, options, chunks);
    if (tooLong) {
      const pieces = splitLongLine(lines[at]!);
      for (const [piece, part] of pieces.entries()) {
        chunks.push({ text: part, startLine: at + 1, endLine: at + 1, piece });
      }
    }
    from = at + 1;
  }
  return chunks;
}

/** The pieces of a line that is longer than a chunk, cut between characters. */
export function splitLongLine(line: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < line.length) {
    // A third of the bytes in UTF-16 units always fits; the rest is filled in steps.
    let end = Math.min(line.length, start + Math.floor(CHUNK_BYTES_MAX / 3));
    let bytes = utf8Length(line.slice(start, end));
    while (end < line.length) {
      const room = CHUNK_BYTES_MAX - bytes;
      const step = Math.min(Math.floor(room / 3), line.length - end);
      if (step === 0) break;
      bytes += utf8Length(line.slice(end, end + step));
      end += step;
    }
    if (end < line.length && isLowSurrogate(line.charCodeAt(end))) end--;
    pieces.push(line.slice(start, end));
    start = end;
  }
  return pieces;
}

/** Windows over `lines[from, to)`, none of which is too long by itself. */
function chunkRun(lines: string[], from: number, to: number, options: ChunkOptions, chunks: Chunk[]): void {
  const size = options.mode === "file" ? to - from : options.windowLines;
  const step = options.mode === "file" ? size : options.windowLines - options.windowOverlapLines;
  for (let start = from; start < to; start += step) {
    const end = Math.min(start + size, to);
    pushBounded(lines, start, end, chunks);
    if (end === to) break;
  }
}

/** One window, cut at lines where it would exceed a chunk. */
function pushBounded(lines: string[], start: number, end: number, chunks: Chunk[]): void {
  let first = start;
  let bytes = 0;
  for (let at = start; at < end; at++) {
    const length = utf8Length(lines[at]!);
    if (bytes + length > CHUNK_BYTES_MAX) {
      chunks.push({ text: lines.slice(first, at).join(""), startLine: first + 1, endLine: at });
      first = at;
      bytes = 0;
    }
    bytes += length;
  }
  chunks.push({ text: lines.slice(first, end).join(""), startLine: first + 1, endLine: end });
}

function isTooLong(line: string): boolean {
  // A UTF-16 unit takes at most three bytes, so nearly every line needs no counting.
  return line.length * 3 > CHUNK_BYTES_MAX && utf8Length(line) > CHUNK_BYTES_MAX;
}

function utf8Length(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
