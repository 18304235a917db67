/** Which piece of a long text a hit shows: the passage that the question is about, or what fits of it. */
import { characterStart, measure, measureBack, positionOf } from "./sizes.ts";

/** What of a text a question is about, in bytes of its UTF-8; `to` is 0 where that is nothing: `Collection.passages`. */
export interface Passage {
  from: number;
  /** Where its best sentence begins. */
  best: number;
  /** Where the best word of that stands. */
  word: number;
  to: number;
}

/** A piece of a text, in UTF-16 units; whole characters. */
export interface Piece {
  start: number;
  end: number;
}

/** The share of a piece that is given to what stands before the best sentence. */
const BEFORE_SHARE = 1 / 4;
/** The share of a piece that may be left empty for it to begin or end between lines, or between words. */
const EDGE_SHARE = 1 / 8;

/** The piece of `text` to show, at most `bytes` bytes inside a JSON string: without a passage the beginning. */
export function excerpt(text: string, passage: Passage | undefined, bytes: number): Piece {
  if (!passage?.to) return { start: 0, end: endOf(text, 0, bytes) };
  const [from, best, word, to] = [passage.from, passage.best, passage.word, passage.to].map(
    (offset) => positionOf(text, offset).at,
  ) as [number, number, number, number];
  const isWhole = measure(text, from, bytes).end >= to;
  const start = isWhole ? Math.min(from, fill(text, bytes)) : startOf(text, best, bytes);
  const end = endOf(text, start, bytes);
  if (end > word) return { start, end };
  // A sentence longer than the piece: around its best word.
  const later = startOf(text, word, bytes);
  return { start: later, end: endOf(text, later, bytes) };
}

/** Where a piece begins that ends with the text: there is nothing to show after it. */
function fill(text: string, bytes: number): number {
  const edge = Math.floor(bytes * EDGE_SHARE);
  return edgeAfter(text, measureBack(text, text.length, bytes - edge), edge);
}

/** Where the piece begins that shows what stands at `place`. */
function startOf(text: string, place: number, bytes: number): number {
  const edge = Math.floor(bytes * EDGE_SHARE);
  const before = edgeAfter(text, measureBack(text, place, Math.floor(bytes * BEFORE_SHARE)), edge);
  return characterStart(text, Math.min(before, fill(text, bytes), place));
}

/** The first beginning of a line within `units` after `at`, else that of a word, else the character at `at`. */
function edgeAfter(text: string, at: number, units: number): number {
  if (at <= 0) return 0;
  if (text.charAt(at - 1) === "\n") return at;
  const stretch = text.slice(at, at + units);
  const line = stretch.indexOf("\n");
  if (line >= 0) return at + line + 1;
  const space = stretch.search(/\s\S/);
  return space >= 0 ? at + space + 1 : characterStart(text, at);
}

/** The end of the piece from `start`: where a line or a word ends, if one does near the end of what fits. */
function endOf(text: string, start: number, bytes: number): number {
  const { end } = measure(text, start, bytes);
  if (end === text.length) return end;
  const least = measureBack(text, end, Math.floor(bytes * EDGE_SHARE));
  const tail = text.slice(Math.max(least, start + 1), end);
  const line = tail.lastIndexOf("\n");
  if (line >= 0) return end - tail.length + line + 1;
  const space = /\s(?=\S*$)/.exec(tail)?.index ?? -1;
  return space >= 0 ? end - tail.length + space + 1 : end;
}
