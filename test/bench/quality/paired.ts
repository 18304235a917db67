/**
 * Whether one ranking is better than another on the same queries. Queries differ far more among each other than rankings
 * do on one query: the error of the mean of the differences is a third to a tenth of that of either mean.
 */
import { columns } from "../columns.ts";
import type { EarlierSet } from "./earlier.ts";
import type { Compared, SetQuality } from "./table.ts";

/** A mean of differences and its standard error, over `queries` of them. */
export interface Difference {
  mean: number;
  error: number;
  queries: number;
}

/** Of the first list's scores to the second's, query by query. The error of fewer than two is NaN. */
export function differenceOf(scores: readonly number[], others: readonly number[]): Difference {
  const differences = scores.map((score, i) => score - others[i]!);
  const queries = differences.length;
  const mean = differences.reduce((sum, difference) => sum + difference, 0) / queries;
  const squares = differences.reduce((sum, difference) => sum + (difference - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / (queries - 1) / queries), queries };
}

/** The mean over sets, which are independent of each other. */
export function meanOf(differences: readonly Difference[]): Difference {
  const sets = differences.length;
  return {
    mean: differences.reduce((sum, { mean }) => sum + mean, 0) / sets,
    error: Math.sqrt(differences.reduce((sum, { error }) => sum + error ** 2, 0)) / sets,
    queries: differences.reduce((sum, { queries }) => sum + queries, 0),
  };
}

/** A ranking of this run to that of an earlier one, over the queries that both have; undefined without any. */
export function sinceOf(set: SetQuality, earlier: readonly EarlierSet[], key: Compared): Difference | undefined {
  const before = earlier.find(({ name }) => name === set.name);
  const places = new Map(before?.ids.map((id, i) => [id, i]));
  const shared = [...set.ids.keys()].filter((i) => places.has(set.ids[i]!));
  if (!before || shared.length === 0) return undefined;
  return differenceOf(
    shared.map((i) => set.each[key][i]!),
    shared.map((i) => before.each[key][places.get(set.ids[i]!)!]!),
  );
}

/** Rankings whose change since an earlier run is shown. */
const SINCE = ["dense", "lexical", "fused"] as const;

/** A line of text a set, and one for the means over several. `earlier` adds what has changed since. */
export function pairedTable(sets: readonly SetQuality[], earlier: readonly EarlierSet[] | undefined): string[] {
  const own = (set: SetQuality, other: Compared) => differenceOf(set.each.fused, set.each[other]);
  const rows = sets.map((set) => ({
    name: set.name,
    cells: [
      own(set, "dense"),
      own(set, "lexical"),
      own(set, "without meaning"),
      own(set, "FTS5"),
      ...(earlier ? SINCE.map((key) => sinceOf(set, earlier, key)) : []),
    ],
  }));
  const head = [
    "nDCG@10, paired",
    "fused - dense",
    "fused - lexical",
    "fused - without meaning",
    "fused - FTS5",
    ...(earlier ? SINCE.map((key) => `${key} - earlier`) : []),
  ];
  const means = head.slice(1).map((_, i) => {
    const present = rows.map(({ cells }) => cells[i]).filter((cell) => cell !== undefined);
    return present.length > 0 ? meanOf(present) : undefined;
  });
  const lines = [...rows, ...(rows.length > 1 ? [{ name: "mean", cells: means }] : [])].map(({ name, cells }) => [
    name,
    ...cells.map(shownDifference),
  ]);
  return columns([head, ...lines]);
}

/** A difference and its error as a cell. */
export function shownDifference(difference: Difference | undefined): string {
  if (difference === undefined) return "-";
  const { mean, error } = difference;
  const sign = mean < 0 ? "-" : "+";
  return `${sign}${Math.abs(mean).toFixed(4)} ± ${Number.isNaN(error) ? "-" : error.toFixed(4)}`;
}
