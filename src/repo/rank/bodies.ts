/** How long definitions are: a stub, a declaration or what only forwards has the same name as what does the work. */
import { definitionsIn } from "../chunks/definitions.ts";

/** Lines of a file from 1, both included. */
export interface LanguageRange {
  start: number;
  end: number;
  /** As `languageOf` names it. */
  language: string;
}

/** Longer bodies are all alike. */
const BODY_MAX = 64;
/** A line that may begin something else: not what closes a body, a directive of a preprocessor, or a label. */
const BEGINS = /^\s*(?!\w+:\s*$)[\p{L}\p{N}_$@/*"'`<]/u;

/**
 * Lines of the longest definition of one of these names in ranges of a file, without its first; undefined where none of
 * them is defined there.
 * @param file its lines, with their ends; undefined where it is gone
 */
export function longestBody(
  file: readonly string[] | undefined,
  ranges: readonly LanguageRange[],
  names: readonly string[],
): number | undefined {
  let longest: number | undefined;
  for (const { start, end, language } of file ? ranges : []) {
    const text = file!.slice(start - 1, end).join("");
    if (!names.some((name) => text.includes(name))) continue;
    for (const { name, line } of definitionsIn(text, language))
      if (names.includes(name)) longest = Math.max(longest ?? 0, bodyAfter(file!, start - 1 + line));
  }
  return longest;
}

/** Where a question is about more than names, a file with a shorter body than this hardly does the work. */
const WORK_LINES = 8;
/** Of bodies of few lines a line more says little. */
const LINES_ADDED = 4;
/** A body is a full stub if it is 2^HALVINGS times shorter than the longest. */
const HALVINGS = 3;

/**
 * How far the definitions in files are stubs, 0 to 1, by the longest of their bodies.
 * @param bodies lines by file
 * @param isOfNames the question is about names alone: the only definition of a name does the work
 */
export function stubParts(bodies: ReadonlyMap<string, number>, isOfNames: boolean): Map<string, number> {
  const longest = Math.max(isOfNames ? 0 : WORK_LINES, ...bodies.values());
  const partOf = (body: number) => Math.min(1, Math.log2((longest + LINES_ADDED) / (body + LINES_ADDED)) / HALVINGS);
  return new Map([...bodies].map(([file, body]) => [file, partOf(body)]));
}

/** How many lines after the first `before` ones are of the body of what the last of these defines. */
function bodyAfter(file: readonly string[], before: number): number {
  const indent = indentOf(file[before - 1]!);
  let last = before;
  for (let at = before; at < file.length && at - before < BODY_MAX; at++) {
    const line = file[at]!;
    if (line.trim() === "") continue;
    if (indentOf(line) <= indent && BEGINS.test(line)) break;
    last = at + 1;
  }
  return last - before;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
