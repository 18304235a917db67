/**
 * Which lines of a file an answer shows: those with the question's words, above all where a name is defined that it
 * asks for, and lines about them. A definition and a match are read downwards, so that lines below count more than
 * lines above. Linear in the windows' text.
 */
import { chunkOf } from "../files/source.ts";
import { around, bestPart, LINE_UNITS_MAX, segmentsOf } from "./cut.ts";
import { type FileLines, type Line, runsOf } from "./line.ts";

/** A stretch of a file: lines from 1, both included; or a numbered piece of one that is too long for a chunk. */
export interface Stretch {
  start: number;
  end: number;
  piece?: number | undefined;
}

/** What makes lines good. */
export interface LineQuestion {
  /** The identifiers asked for, as written. */
  names: readonly string[];
  /** What the question's words in each text are worth together; 0 for none. */
  valuesOf(texts: readonly string[]): ArrayLike<number>;
  /** The names that a text defines, with their lines from 1, in order. */
  definitionsIn(text: string): readonly { name: string; line: number }[];
}

/** Definitions are looked for in a whole file of so many UTF-16 units; of a larger one in what was found. */
const WHOLE_UNITS_MAX = 64 * 1024;
/** Lines above the best one in which the definition is looked for that it is part of: one window. */
const SYMBOL_LINES = 48;
/** UTF-16 units of a file that are looked at; what is after them in its windows, the best first, is left out. */
const FILE_UNITS_MAX = 512 * 1024;
/** What a line adds to the one below it, and to the one above. */
const BELOW = 0.8;
const ABOVE = 0.4;
/** The same of a definition asked for, within its body. */
const BODY_BELOW = 0.95;
const BODY_ABOVE = 0.3;
/** What is left of it after the body. */
const BEHIND_BODY = 0.1;
/** A definition asked for is worth so many times the best other line. */
const DEFINITION = 4;

/**
 * The lines of a file's windows.
 * @param file its lines, with their ends
 * @param windows the best first
 * @returns undefined where none of the lines is there any more
 */
export function linesOf(
  file: readonly string[],
  windows: readonly Stretch[],
  question: LineQuestion,
): FileLines | undefined {
  const entries = entriesOf(file, windows);
  const isNamed = question.names.some((name) => entries.some(({ text }) => text.includes(name)));
  if (isNamed) nameDefinitions(file, entries, question);
  const lines = valued(entries, question);
  if (lines.length === 0) return undefined;
  const most = lines.reduce((max, { value }) => Math.max(max, value), 0);
  const isFound = most > 0 || lines.some(({ isAsked }) => isAsked);
  if (!isFound) {
    // Found by meaning alone: the best window from its beginning.
    const from = windows[0]!.start;
    const first = lines.find(({ number, text }) => number >= from && text.trim() !== "") ?? lines[0]!;
    first.value = 1;
  }
  spread(lines);
  spreadDefinitions(lines, DEFINITION * (most + 1) ** 2);
  const best = lines.reduce((a, b) => (b.value > a.value || (b.value === a.value && b.near > a.near) ? b : a));
  const asked = best.isAsked ? best : lines.find(({ isAsked }) => isAsked);
  return { lines, best, symbol: asked ? asked.defines : symbolAt(lines, best, question) };
}

/** The last name that is defined at or above a line, in what of its neighbours is looked at. */
function symbolAt(lines: readonly Line[], best: Line, { definitionsIn }: LineQuestion): string | undefined {
  const run = runsOf(lines).find((some) => some.includes(best)) ?? [];
  const above = run.slice(0, run.indexOf(best) + 1).slice(-SYMBOL_LINES);
  return definitionsIn(above.map(({ text }) => text).join("\n")).at(-1)?.name;
}

/** A line of the windows, whole. */
interface Entry {
  number: number;
  text: string;
  isPiece: boolean;
  defines?: string | undefined;
  isAsked: boolean;
}

/** The distinct lines of the windows, ascending; pieces of one line each by itself. */
function entriesOf(file: readonly string[], windows: readonly Stretch[]): Entry[] {
  const known = new Set<number>();
  const entries: Entry[] = [];
  let left = FILE_UNITS_MAX;
  const add = (number: number, text: string, isPiece: boolean) => {
    // The file may have longer lines now than when its windows were cut.
    const line = withoutEnd(text).slice(0, left);
    entries.push({ number, text: line, isPiece, isAsked: false });
    left -= line.length + 1;
  };
  for (const { start, end, piece } of windows) {
    if (piece !== undefined) {
      const text = left > 0 ? chunkOf(file, start, end, piece) : undefined;
      if (text !== undefined) add(start, text, true);
      continue;
    }
    for (let number = Math.max(1, start); number <= Math.min(end, file.length) && left > 0; number++) {
      if (known.has(number)) continue;
      known.add(number);
      add(number, file[number - 1]!, false);
    }
  }
  return entries.sort((a, b) => a.number - b.number);
}

/** Finds what the lines define. */
function nameDefinitions(file: readonly string[], entries: Entry[], { names, definitionsIn }: LineQuestion): void {
  const asked = new Set(names);
  const defined = new Map<number, string>();
  const look = (text: string, before: number) => {
    for (const { name, line } of definitionsIn(text)) {
      if (asked.has(name) || !defined.has(before + line)) defined.set(before + line, name);
    }
  };
  // Whether a line is in a comment depends on all lines before it. All of a large file would take longer than the rest.
  if (unitsOf(file) <= WHOLE_UNITS_MAX) look(file.join(""), 0);
  else for (const run of runsOf(entries)) look(run.map(({ text }) => text).join("\n"), run[0]!.number - 1);
  for (const entry of entries) {
    const name = defined.get(entry.number);
    if (name === undefined || (entry.isPiece && !entry.text.includes(name))) continue;
    entry.defines = name;
    entry.isAsked = asked.has(name);
  }
}

function unitsOf(file: readonly string[]): number {
  return file.reduce((sum, { length }) => sum + length, 0);
}

/** The lines with their values: a long one is worth its best part, and of the pieces of one line the best is kept. */
function valued(entries: readonly Entry[], { valuesOf }: LineQuestion): Line[] {
  const segments = entries.map(({ text }) => (text.length > LINE_UNITS_MAX ? segmentsOf(text) : undefined));
  const parts = entries.flatMap(
    ({ text }, i) => segments[i]?.map(({ start, end }) => text.slice(start, end)) ?? [text],
  );
  const values = valuesOf(parts);
  const lines: Line[] = [];
  let at = 0;
  for (const [i, { number, text, defines, isAsked }] of entries.entries()) {
    const cut = segments[i];
    const first = at;
    const shown = cut ? bestPart(text, cut, (segment) => values[first + segment]!) : { text, value: values[at]! };
    at += cut?.length ?? 1;
    const line = { number, near: 0, defines, isAsked, ...shown };
    if (cut && isAsked) {
      const place = Math.max(0, text.indexOf(defines!));
      line.text = around(text, place, place + defines!.length);
    }
    const last = lines.at(-1);
    if (last?.number !== number) lines.push(line);
    else if (worth(line) > worth(last)) lines[lines.length - 1] = line;
  }
  return lines;
}

const worth = ({ value, isAsked }: Line) => (isAsked ? Number.POSITIVE_INFINITY : value);

/**
 * Adds to each line's `near` its own value and shares of those about it. Squares: of a question of many words, each
 * line with one of them would be shown beside the few that have several (a tenth more tokens).
 */
function spread(lines: Line[]): void {
  let share = 0;
  for (const [i, line] of lines.entries()) {
    share = line.value ** 2 + (i > 0 ? share * BELOW ** (line.number - lines[i - 1]!.number) : 0);
    line.near = share;
  }
  share = 0;
  for (let i = lines.length - 2; i >= 0; i--) {
    const below = lines[i + 1]!;
    share = (share + below.value ** 2) * ABOVE ** (below.number - lines[i]!.number);
    lines[i]!.near += share;
  }
}

/** Raises the definitions asked for, and the lines of their bodies: those that are indented deeper. */
function spreadDefinitions(lines: Line[], most: number): void {
  let share = 0;
  let indent = 0;
  for (const [i, line] of lines.entries()) {
    if (line.isAsked) {
      [share, indent] = [most, indentOf(line.text)];
      line.value += most;
      if (i > 0) lines[i - 1]!.near += most * BODY_ABOVE ** (line.number - lines[i - 1]!.number);
    } else if (share > 0) {
      share *= BODY_BELOW ** (line.number - lines[i - 1]!.number);
      // What closes a signature or a body stands as far left as the definition.
      if (/^\s*[\p{L}\p{N}_$@#/*"'`<]/u.test(line.text) && indentOf(line.text) <= indent) share *= BEHIND_BODY;
    }
    line.near += share;
  }
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}

function withoutEnd(line: string): string {
  return line.replace(/\r?\n$/, "");
}
