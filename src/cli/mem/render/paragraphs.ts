/** Stored texts in lines that fit the terminal, whole or their beginnings. */
import { inLines, visible } from "../../terminal/output.ts";
import { clipped } from "../../terminal/width.ts";

/** Columns from one tab stop to the next. */
const TAB = 8;
/** Columns of a beginning where stdout is not a terminal. */
const BEGINNING = 160;

/**
 * A whole text in lines, broken between words; a word that is longer than the line is broken too. Where a line is
 * broken it goes on as far in as it began, so that lists and code stay readable.
 * @param columns of the terminal; undefined where stdout is not one: no line is broken
 * @param indent stands before each line that is not empty
 * @param mark what is done with each line before it is broken, such as a style of some words
 */
export function textLines(
  text: string,
  columns: number | undefined,
  indent = "",
  mark = (line: string) => line,
): string[] {
  const lines = visible(text).split("\n");
  if (columns === undefined) return lines.map((line) => (indent + mark(line)).trimEnd());
  const room = Math.max(1, columns - indent.length);
  return lines.flatMap((line) => broken(withoutTabs(line), room, mark).map((part) => (indent + part).trimEnd()));
}

function broken(line: string, room: number, mark: (line: string) => string): string[] {
  if (Bun.stringWidth(line) <= room) return [mark(line)];
  const spaces = /^ */.exec(line)![0];
  // An indent that takes most of the line would leave no room for words.
  const begun = spaces.slice(0, Math.floor(room / 2));
  return inLines(mark(line.slice(spaces.length)), room - begun.length, true).map((part) => begun + part);
}

/** Tabs as the spaces that a terminal shows for them, which can be measured. */
function withoutTabs(line: string): string {
  if (!line.includes("\t")) return line;
  let shown = "";
  for (const [i, part] of line.split("\t").entries()) {
    if (i > 0) shown += " ".repeat(TAB - (Bun.stringWidth(shown) % TAB));
    shown += part;
  }
  return shown;
}

/**
 * The beginning of a text in a few lines, with white space of any kind as one space; an ellipsis says that it goes on.
 * @param isCut whether `text` is a beginning already
 */
export function beginning(text: string, isCut: boolean, columns: number | undefined, most: number): string[] {
  const line = visible(text.replace(/\s+/g, " ").trim());
  if (columns === undefined)
    return [isCut ? `${clipped(line, BEGINNING - 1).replace(/…$/, "")}…` : clipped(line, BEGINNING)];
  // More than fits, as lines that are broken between words have free columns at their ends.
  const lines = inLines(line.slice(0, columns * (most + 1)).toWellFormed(), columns, true);
  if (lines.length <= most && !isCut) return lines;
  const shown = lines.slice(0, most);
  const last = shown.at(-1) ?? "";
  return [...shown.slice(0, -1), Bun.stringWidth(last) < columns ? `${last}…` : clipped(`${last}…`, columns)];
}
