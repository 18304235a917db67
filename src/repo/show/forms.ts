/** What a hit shows of its file, by the form that is asked for. */
import { type FileLines, type Line, runsOf } from "./line.ts";

/**
 * `lines`: the best lines, in ranges; `files`: nothing; `grep`: the best lines, each by itself with path and number;
 * `windows`: whole windows.
 */
export const FORMS = ["lines", "files", "grep", "windows"] as const;
export type Form = (typeof FORMS)[number];

/** Lines that the first hits show at most, and all others. */
const LINES_SHOWN = [40, 12, 12, 12, 12];
const LINES_SHOWN_LATER = 2;
/** Lines of a hit in the form `grep`. */
const GREP_LINES = 3;
/** Lines worth less than this share of the best are not shown, however much room there is. */
const LEAST_SHARE = 0.3;
/** Stands between two ranges. */
export const GAP = "…";

/**
 * The lines that a hit shows, the most important first, so that the first ones of them are what a smaller answer shows.
 * @param rank of the hit, from 0
 */
export function shownLines({ lines, best }: FileLines, form: Form, rank: number): Line[] {
  if (form === "files") return [best];
  if (form === "grep") {
    const found = lines.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value || a.number - b.number);
    return found.slice(0, GREP_LINES);
  }
  const most = LINES_SHOWN[rank] ?? LINES_SHOWN_LATER;
  const least = best.near * LEAST_SHARE;
  const order = [...lines.keys()].sort((a, b) => lines[b]!.near - lines[a]!.near || a - b);
  const shown = new Set([lines.indexOf(best)]);
  for (const at of order) {
    if (shown.size >= most || lines[at]!.near < least) break;
    shown.add(at);
    // A line between two that are shown takes no more room than the mark of a gap.
    for (const side of [at - 2, at + 2]) {
      if (shown.size < most && shown.has(side)) shown.add((at + side) / 2);
    }
  }
  return [...shown].map((at) => lines[at]!);
}

/** The first and the last line number of the range with a line in it. */
export function rangeAbout(shown: readonly Line[], line: Line): { start: number; end: number } {
  const range = rangesOf(shown).find((lines) => lines.includes(line)) ?? [line];
  return { start: range[0]!.number, end: range.at(-1)!.number };
}

/** Ranges of lines, ascending, the first line of each after its number: `12:code`; a line `…` between ranges. */
export function asRanges(shown: readonly Line[]): string {
  return rangesOf(shown)
    .map((lines) => `${lines[0]!.number}:${lines.map(({ text }) => text).join("\n")}`)
    .join(`\n${GAP}\n`);
}

/** `path:line:text` a line, ascending, without indentation. */
export function asGrep(path: string, shown: readonly Line[]): string {
  const ascending = shown.filter(isFull).sort((a, b) => a.number - b.number);
  return ascending.map(({ number, text }) => `${path}:${number}:${text.trim()}`).join("\n");
}

/** Ascending runs of neighbours, without empty lines at their ends. */
function rangesOf(shown: readonly Line[]): Line[][] {
  return runsOf([...shown].sort((a, b) => a.number - b.number)).flatMap((lines) => {
    const first = lines.findIndex(isFull);
    return first < 0 ? [] : [lines.slice(first, lines.findLastIndex(isFull) + 1)];
  });
}

/** Whether a line has more than white space. */
const isFull = ({ text }: Line) => text.trim() !== "";
