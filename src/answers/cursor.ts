/**
 * Where an answer ended that had no room for all hits, as `next` tells it and `after` brings it back. Nothing is kept
 * between calls: the question is asked again, and the answer goes on after the last hit given, wherever that is now.
 *
 * A count alone would pass over hits as soon as given ones are deleted, which is what an agent does that cleans up.
 * So a cursor names the last hit, and those 2, 4, 8 … before the end: after the first of them that is still there, no
 * hit is lost, and at most some are given twice. Hashes, not ids, which may have 512 bytes: a cursor takes room that
 * hits could have.
 */
import { shown } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";

/** A place in a ranking. */
export interface Cursor {
  /** How many hits were given, on all pages so far. */
  given: number;
  /** Hashes of the last hit given, and of those 2, 4, 8 … before the end. */
  marks: string[];
}

const MARKS_MAX = 8;
/** Base-36 digits of a mark: 31 bits. */
const MARK_DIGITS = 6;
/** Bytes of the longest cursor. */
export const CURSOR_BYTES_MAX = 80;
const FORM = /^c1-([0-9a-z]{1,8})-([0-9a-z]{1,13})-((?:[0-9a-z]{6}){1,8})$/;

/** Arguments that change nothing of which hits there are, in which order. */
const UNRELATED = new Set(["after", "max_bytes", "max_seconds", "top_k", "limit", "explain", "offset", "form"]);

/** Identifies a question: the verb, and the arguments that make the ranking. */
export function scopeOf(verb: string, args: object): string {
  const given = Object.entries(args).filter(([name]) => !UNRELATED.has(name) && !name.startsWith("with_"));
  return hash(`${verb} ${JSON.stringify(given.sort(([a], [b]) => (a < b ? -1 : 1)))}`);
}

/** The cursor after the first `given` of the ranked ids, at least one. */
export function toCursor(scope: string, ids: readonly string[], given: number): string {
  let marks = "";
  for (let back = 1, n = 0; back <= given && n < MARKS_MAX; back *= 2, n++) marks += markOf(ids[given - back]!);
  return `c1-${given.toString(36)}-${scope}-${marks}`;
}

/** Whether a text has a cursor's form. An id may have it too. */
export function isCursor(text: string): boolean {
  return FORM.test(text);
}

/** Whether it is a cursor of this question. */
export function isCursorOf(text: string, scope: string): boolean {
  return FORM.exec(text)?.[2] === scope;
}

/** @throws ValueError for what is not a cursor, or one of another question */
export function readCursor(after: string, scope: string): Cursor {
  const [, given, ofScope, marks] = FORM.exec(after) ?? [];
  if (given === undefined || marks === undefined) {
    throw new ValueError(
      `after ${shown(after)} is not a cursor: pass the 'next' of the answer before, or leave it out`,
    );
  }
  if (ofScope !== scope) {
    throw new ValueError(
      `after ${shown(after)} belongs to another question: pass it with the arguments of the answer that gave it, ` +
        "or leave it out",
    );
  }
  return { given: Number.parseInt(given, 36), marks: marks.match(/.{6}/g) ?? [] };
}

/** Where a ranking of ids goes on: after the first mark that is still in it, from its beginning where none is. */
export function positionAfter(ids: readonly string[], { given, marks }: Cursor): number {
  const there = ids[given - 1];
  if (there !== undefined && markOf(there) === marks[0]) return given;
  const now = ids.map(markOf);
  return now.indexOf(marks.find((mark) => now.includes(mark)) ?? "") + 1;
}

function markOf(id: string): string {
  return hash(id).slice(-MARK_DIGITS).padStart(MARK_DIGITS, "0");
}

/** 64 bits in at most 13 digits. */
function hash(text: string): string {
  return Bun.hash(text).toString(36);
}
