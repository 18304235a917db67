/**
 * Which piece of a long text a hit shows: around the line that has most of the question's words, each weighed by how
 * few lines of the text have it, with as many further words beside it as fit.
 */
import { characterStart, measure, measureBack } from "./sizes.ts";
import { fold, occurrences, type Term } from "./words.ts";

/** A piece of a text, in UTF-16 units; whole characters. */
export interface Piece {
  start: number;
  end: number;
}

/** UTF-16 units beyond which a line is taken apart at its sentences, or anywhere. */
const LINE_UNITS_MAX = 240;
/** The share of a piece that is given to what stands before the best line. */
const BEFORE_SHARE = 1 / 4;
/** The share of a piece that may be left empty for it to begin or end between lines, or between words. */
const EDGE_SHARE = 1 / 8;

/**
 * The piece of `text` to show for a question, at most `bytes` bytes inside a JSON string.
 * @param searched the part of the text in which the words are looked for
 */
export function excerpt(text: string, terms: readonly Term[], bytes: number, searched: Piece): Piece {
  const best = bestLine(text.slice(searched.start, searched.end), terms, bytes);
  if (!best) return { start: searched.start, end: endOf(text, searched.start, bytes) };
  best.start += searched.start;
  best.places = best.places.map((place) => place + searched.start);
  const start = startOf(text, best.start, bytes);
  const end = endOf(text, start, bytes);
  if (end > best.places[0]!) return { start, end };
  // A line longer than the piece: around its first word of the question.
  const later = startOf(text, best.places[0]!, bytes);
  return { start: later, end: endOf(text, later, bytes) };
}

/** Where the piece begins that shows what stands at `place`. */
function startOf(text: string, place: number, bytes: number): number {
  const edge = Math.floor(bytes * EDGE_SHARE);
  const before = measureBack(text, place, Math.floor(bytes * BEFORE_SHARE));
  // At the text's end there is nothing to show after it: the room goes to what stands before.
  const last = measureBack(text, text.length, bytes - edge);
  return characterStart(text, Math.min(edgeBehind(text, Math.min(before, last), edge), place));
}

/** A line, or a part of one, with words of the question in it. */
interface Line {
  start: number;
  /** Indices of its terms, and where these stand; some may stand twice. */
  terms: number[];
  places: number[];
}

/** Lines that may add to the value of the one before them. */
const NEAR_LINES_MAX = 8;

/** The line to show; undefined where none has a word of the question. */
function bestLine(text: string, terms: readonly Term[], bytes: number): Line | undefined {
  const lines = linesOf(text, terms);
  const seen = terms.map(() => -1);
  const counts = terms.map(() => 0);
  for (const [i, line] of lines.entries()) {
    for (const term of line.terms) {
      if (seen[term] !== i) counts[term]! += 1;
      seen[term] = i;
    }
  }
  const all = Math.max(lines.length, Math.ceil(text.length / LINE_UNITS_MAX));
  const weights = counts.map((count) => (count > 0 ? Math.log(1 + all / count) : 0));
  // What the following lines add counts half: one line with all words is better than several with one each.
  const reach = bytes * (1 - BEFORE_SHARE);
  let best: Line | undefined;
  let most = 0;
  seen.fill(-1);
  for (let i = 0; i < lines.length; i++) {
    const first = lines[i]!;
    let value = 0;
    for (let j = i; j < lines.length && j < i + NEAR_LINES_MAX && lines[j]!.start < first.start + reach; j++) {
      for (const term of lines[j]!.terms) {
        if (seen[term] !== i) value += j === i ? weights[term]! : weights[term]! / 2;
        seen[term] = i;
      }
    }
    if (value > most) [most, best] = [value, first];
  }
  return best;
}

/** The lines that have words of the question, in order. */
function linesOf(text: string, terms: readonly Term[]): Line[] {
  const folded = fold(text);
  const found: { at: number; term: number }[] = [];
  for (const [term, wanted] of terms.entries()) {
    for (const at of occurrences(folded, wanted)) found.push({ at, term });
  }
  found.sort((a, b) => a.at - b.at);
  const lines: Line[] = [];
  let line: Line | undefined;
  let last = 0;
  for (const { at, term } of found) {
    const isNear = line !== undefined && at - line.start <= LINE_UNITS_MAX;
    // Between two words of one line nothing is looked at twice.
    const start = lineStart(text, at, isNear ? last : 0);
    if (line && isNear && start <= last) {
      line.terms.push(term);
      line.places.push(at);
    } else {
      line = { start, terms: [term], places: [at] };
      lines.push(line);
    }
    last = at;
  }
  return lines;
}

/**
 * Where the line or sentence begins that a position is in, not looked for before `from`; of a longer one, a place some
 * characters before it.
 */
function lineStart(text: string, at: number, from: number): number {
  const least = Math.max(from, at - LINE_UNITS_MAX);
  for (let i = at; i > least; i--) if (isLineEnd(text, i - 1)) return i;
  return least === from ? from : at - LINE_UNITS_MAX / 4;
}

/** Whether a line or a sentence ends with the character. */
function isLineEnd(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  // A line break; and the full stops that no space has to follow.
  if (unit === 0x0a || unit === 0x3002 || unit === 0xff01 || unit === 0xff1f) return true;
  // . ! ?
  if (unit !== 0x2e && unit !== 0x21 && unit !== 0x3f) return false;
  const next = text.charCodeAt(at + 1);
  return next === 0x20 || next === 0x0a || next === 0x0d || next === 0x09;
}

/** The first beginning of a line within `units` after `at`, else that of a word, else the character at `at`. */
function edgeBehind(text: string, at: number, units: number): number {
  if (at <= 0) return 0;
  if (text.charAt(at - 1) === "\n") return at;
  const stretch = text.slice(at, at + units);
  const line = stretch.indexOf("\n");
  if (line >= 0) return at + line + 1;
  const space = stretch.search(/\s\S/);
  return space >= 0 ? at + space + 1 : at;
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
