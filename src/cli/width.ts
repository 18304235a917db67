/** How wide texts for people may be, and how they are made to fit: wrapped between words, or cut with an ellipsis. */
import { isTerminal } from "./output.ts";

/** Of a terminal that does not say how wide it is, and of pages where there is none. */
const COLUMNS = 80;
/** Running text is not wider: longer lines are hard to follow. */
const TEXT_COLUMNS_MAX = 120;
/** Narrower than this nothing can be arranged: lines then break where the terminal breaks them. */
const COLUMNS_MIN = 20;

/** The columns of stdout: COLUMNS where it is set, else the terminal's; undefined where stdout is neither. */
export function terminalColumns(): number | undefined {
  const set = process.env.COLUMNS ?? "";
  if (/^[1-9]\d{0,4}$/.test(set)) return Math.max(COLUMNS_MIN, Number(set));
  return isTerminal(1) ? Math.max(COLUMNS_MIN, process.stdout.columns || COLUMNS) : undefined;
}

/** The columns of running text, such as help. */
export function textColumns(): number {
  return Math.min(terminalColumns() ?? COLUMNS, TEXT_COLUMNS_MAX);
}

/**
 * A text in lines of at most so many columns, broken between words; a longer word has a line of its own.
 * @param indent stands before every line but the first, which begins behind as many columns
 */
export function wrapped(text: string, columns: number, indent = ""): string[] {
  const lines = Bun.wrapAnsi(text, Math.max(1, columns - Bun.stringWidth(indent)), { hard: false, trim: true });
  return lines.split("\n").map((line, i) => (i === 0 ? line : indent + line));
}

/** A text of one line in at most so many columns: what is left out is shown by an ellipsis. */
export function clipped(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text;
  if (columns < 1) return "";
  const head = Bun.sliceAnsi(text, 0, columns - 1);
  // A wide character at the end may stand out by a column.
  return `${Bun.stringWidth(head) < columns ? head : Bun.sliceAnsi(text, 0, columns - 2)}…`;
}
