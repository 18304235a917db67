/** Rows by day as columns of a plot: of days, weeks, months or years, so that there are not too many. */
import type { Bar } from "./plots.ts";

const DAY_MS = 86_400_000;
/** Columns of a plot. */
const COLUMNS_MAX = 62;

type Unit = "day" | "week" | "month" | "year";

export interface OverTime {
  readonly unit: Unit;
  readonly bars: readonly Bar[];
}

/** @param first the first day, counted from 1970-01-01 @param rows of that day and each one after it */
export function overTime(first: number, rows: readonly number[]): OverTime {
  for (const unit of ["day", "week", "month"] as const) {
    const bars = gathered(first, rows, unit);
    if (bars.length <= COLUMNS_MAX) return { unit, bars };
  }
  return { unit: "year", bars: gathered(first, rows, "year").slice(-COLUMNS_MAX) };
}

function gathered(first: number, rows: readonly number[], unit: Unit): Bar[] {
  const sums: { label: string; value: number }[] = [];
  for (const [at, count] of rows.entries()) {
    const label = labelOf(first + at, unit);
    const last = sums.at(-1);
    if (last?.label === label) last.value += count;
    else sums.push({ label, value: count });
  }
  return sums.map((one) => ({ ...one, shown: one.value.toLocaleString("en") }));
}

/** The day, the Monday of its week, the month or the year, by ISO 8601. */
function labelOf(day: number, unit: Unit): string {
  // 1970-01-01 was a Thursday.
  const start = unit === "week" ? day - ((day + 3) % 7) : day;
  const written = new Date(start * DAY_MS).toISOString().replace(/T.*/, "");
  return unit === "year" ? written.slice(0, -6) : unit === "month" ? written.slice(0, -3) : written;
}
