/** Lines of a file that an answer may show. */

/** A line that may be shown. */
export interface Line {
  number: number;
  /** Without its line end; of one longer than 200 UTF-16 units the best part. */
  text: string;
  /** What it is worth by itself: above all where it defines a name asked for. */
  value: number;
  /** The same together with the lines about it. */
  near: number;
  /** The first name that it defines, or the one that is asked for; looked for where that may be in the file. */
  defines?: string | undefined;
  /** Whether that is asked for. */
  isAsked: boolean;
}

/** The lines of some stretches of a file. */
export interface FileLines {
  /** Ascending; at least one. */
  lines: Line[];
  /** The one to open the file at. */
  best: Line;
  /** The name asked for that is defined there, else the last name defined at or above the best line. */
  symbol: string | undefined;
}

/** Ascending lines in runs of neighbours. */
export function runsOf<L extends { number: number }>(lines: readonly L[]): L[][] {
  const runs: L[][] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last && line.number === last.at(-1)!.number + 1) last.push(line);
    else runs.push([line]);
  }
  return runs;
}
