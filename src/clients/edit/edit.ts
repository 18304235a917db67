/** What the three notations of configuration files have in common: edits that leave every other byte as it was. */
import { ValueError } from "../../errors.ts";

/** A piece of a text that becomes another one. `at` counts UTF-16 units of the text before the edit. */
export interface Splice {
  readonly at: number;
  readonly removed: string;
  readonly inserted: string;
}

/** A value of a configuration file: objects without a prototype, so that a key `__proto__` is a key. */
export type Plain = string | number | bigint | boolean | null | undefined | readonly Plain[] | PlainObject;
export interface PlainObject {
  readonly [key: string]: Plain;
}

/**
 * One notation. Texts are without a byte order mark. A path is the keys from the root to the object that holds the
 * entries; an entry is one key of it.
 *
 * Every function throws a ValueError with the rest of a sentence about the file, where possible with the line, for a
 * text that does not parse and for one that cannot be edited safely.
 */
export interface Notation {
  /** Whether a key without a value, which is null, is as good as an empty object. */
  readonly isNullEmpty: boolean;
  /** Whether an object is there only as long as something is in it. */
  readonly isImplicit: boolean;
  /** The document. An empty one, or one of comments only, is an empty object. */
  parse(text: string): PlainObject;
  /** Refuses what two readers would read differently: a key that stands twice on the way to an entry, or in it. */
  checkKeys(text: string, path: readonly string[], name: string): void;
  /** Inserts an entry that is absent, and the objects on the way to it that are. */
  add(text: string, path: readonly string[], name: string, value: PlainObject): Splice[];
  /** Sets fields of an entry that is there; its other fields and their comments stay. */
  update(text: string, path: readonly string[], name: string, fields: PlainObject): Splice[];
  /** Puts another value in an entry's place. */
  replace(text: string, path: readonly string[], name: string, value: PlainObject): Splice[];
  /**
   * Removes an entry, and then up to `containers` objects on the way to it that are left empty, the innermost first.
   */
  remove(text: string, path: readonly string[], name: string, containers: number): Splice[];
}

/** The text after splices, which may not overlap and are in any order. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let result = "";
  let from = 0;
  for (const { at, removed, inserted } of [...splices].sort((a, b) => a.at - b.at)) {
    result += text.slice(from, at) + inserted;
    from = at + removed.length;
  }
  return result + text.slice(from);
}

/** The splices that undo others: of the text after them, in order. */
export function inverse(splices: readonly Splice[]): Splice[] {
  let moved = 0;
  return [...splices]
    .sort((a, b) => a.at - b.at)
    .map(({ at, removed, inserted }) => {
      const back = { at: at + moved, removed: inserted, inserted: removed };
      moved += inserted.length - removed.length;
      return back;
    });
}

/** The line break that a text uses: that of its first line. */
export function lineBreak(text: string): "\n" | "\r\n" {
  const first = text.indexOf("\n");
  return first > 0 && text[first - 1] === "\r" ? "\r\n" : "\n";
}

/** Offset of the first unit of the line that an offset lies in. */
export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Offset after the line break that ends the line of an offset, or the text's end. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  return end < 0 ? text.length : end + 1;
}

/** Number of the line of an offset; the first is 1. */
function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** Offset of the line break that stands directly before an offset; the offset itself where none does. */
export function breakBefore(text: string, offset: number): number {
  return offset - /(?:\r?\n)?$/.exec(text.slice(Math.max(0, offset - 2), offset))![0].length;
}

/** The error about a line: that of an offset. */
export function atLine(text: string, offset: number, problem: string): ValueError {
  return new ValueError(`line ${lineOf(text, offset)}: ${problem}`);
}

/** White space that the line of an offset begins with. */
export function indentation(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))![0];
}
