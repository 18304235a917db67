/** Timing for benchmarks: medians of interleaved runs, since machines are shared and their speed drifts. */

/** The q-quantile of samples, by nearest rank. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** The middle of samples. */
export const median = (samples: readonly number[]) => quantile(samples, 0.5);

/** Milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** One line of the result table. */
export interface Line {
  what: string;
  value: number;
  unit: string;
  /** The baseline, measured in the same run. */
  against?: string;
  /** `value` divided by the other's, or the other way round where more is better. */
  ratio?: number;
  /** The goal as a sentence; left out where there is none. */
  goal?: string;
  /** Left out where there is no goal, or no peer to compare with. */
  met?: boolean;
}

/** A line with its goal: so much, or less. */
export function atMost(line: Line, most: number): Line {
  return { ...line, goal: `at most ${most} ${line.unit}`, met: line.value <= most };
}

/** A line with its goal: so much, or more. */
export function atLeast(line: Line, least: number): Line {
  return { ...line, goal: `at least ${least} ${line.unit}`, met: line.value >= least };
}

/** A count that has to be 0. */
export function noneOf(unit: string, what: string, value: number): Line {
  return { what, value, unit, goal: "none", met: value === 0 };
}

/** The first of some messages in brackets, for the end of a line's name. */
export const first = ([message]: readonly (string | undefined)[]) => (message ? ` (${message})` : "");

/** Prints lines as a table and, with `--json`, as JSON. */
export function report(lines: readonly Line[], json: boolean): void {
  if (json) {
    console.log(JSON.stringify(lines, null, 2));
    return;
  }
  for (const line of lines) {
    const digits = line.value < 1 ? 4 : line.value < 10 ? 2 : 0;
    const value = `${line.value.toFixed(digits)} ${line.unit}`.padStart(16);
    const ratio = line.ratio === undefined ? "" : `, ${line.ratio.toFixed(3)} of ${line.against}`;
    const verdict = line.met === undefined ? "      " : line.met ? "met   " : "MISSED";
    console.log(`${verdict} ${value}  ${line.what}${ratio}${line.goal ? `  (goal: ${line.goal})` : ""}`);
  }
}
