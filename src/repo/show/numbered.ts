/** The lines of an answer in the form `lines`, each with its number: the reverse of `asRanges`. */
import { GAP } from "./forms.ts";

/** A line of a file; without a number where it is not known, or where lines are left out. */
export interface NumberedLine {
  number?: number;
  text: string;
}

/** The lines of ranges, of which the first has its number before it. */
export function numberedLines(text: string): NumberedLine[] {
  const lines = text.split("\n");
  let next = 0;
  const isGap = (i: number) => i === 0 || lines[i - 1] === GAP;
  return lines.map((line, i) => {
    const [, number, rest] = (isGap(i) && /^(\d+):(.*)$/s.exec(line)) || [];
    if (number === undefined && line === GAP && /^\d+:/.test(lines[i + 1] ?? "")) return { text: line };
    next = number === undefined ? next + 1 : Number(number);
    return { number: next, text: rest ?? line };
  });
}
