/** How wide texts for people may be, and how they are made to fit: wrapped between words, or cut with an ellipsis. */
import { COLUMNS, COLUMNS_MIN, inLines, isTerminal, setColumns } from "./output.ts";

/** Running text is not wider: longer lines are hard to follow. */
const TEXT_COLUMNS_MAX = 120;

/**
 * The columns of the terminal that stdout is, or what COLUMNS says; undefined if it is not one: what another program
 * reads is neither broken nor cut.
 */
export function terminalColumns(): number | undefined {
  if (!isTerminal(1)) return undefined;
  return setColumns() ?? Math.max(COLUMNS_MIN, process.stdout.columns || COLUMNS);
}

/** The columns of running text, such as help, on a terminal or not. */
export function textColumns(): number {
  return Math.min(setColumns() ?? terminalColumns() ?? COLUMNS, TEXT_COLUMNS_MAX);
}

/**
 * A text in lines of at most so many columns, broken between words; a longer word has a line of its own.
 * @param indent stands before every line but the first, which begins after as many columns
 */
export function wrapped(text: string, columns: number, indent = ""): string[] {
  const room = Math.max(1, columns - Bun.stringWidth(indent));
  if (Bun.stringWidth(text) <= room) return [text];
  return inLines(text, room).map((line, i) => (i === 0 ? line : indent + line));
}

/**
 * A result that is a sentence, in lines that fit the terminal where stdout is one.
 * @param indent how far in they go on, in columns
 */
export function fit(sentence: string, indent = 2): string {
  const columns = terminalColumns();
  if (columns === undefined || Bun.stringWidth(sentence) <= columns) return sentence;
  // What stands before the indent is a label, with spaces that stay.
  const label = sentence.slice(0, indent);
  return label + wrapped(sentence.slice(indent), columns - indent).join(`\n${" ".repeat(indent)}`);
}

/** A text of one line in at most so many columns: what is left out is shown by an ellipsis. */
export function clipped(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text;
  if (columns < 1) return "";
  // A wide character that would be cut in two is kept by the slice.
  const kept = Bun.sliceAnsi(text, 0, columns - 1);
  return `${Bun.stringWidth(kept) < columns ? kept : Bun.sliceAnsi(text, 0, columns - 2)}…`;
}
