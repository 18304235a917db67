/** How good a ranking is. */
import type { DataSet } from "./sets.ts";

/** Documents of a ranking that count. */
export const TOP = 10;

/** Means over the queries of a set. */
export interface Score {
  ndcg: number;
  recall: number;
}

/** Normalised discounted cumulative gain at 10 (Järvelin and Kekäläinen, 2002), gains 2^grade - 1. */
export function ndcg(ranked: readonly string[], grades: ReadonlyMap<string, number>): number {
  const sum = (list: number[]) => list.reduce((total, grade, i) => total + (2 ** grade - 1) / Math.log2(i + 2), 0);
  const ideal = sum([...grades.values()].sort((a, b) => b - a).slice(0, TOP));
  return sum(ranked.slice(0, TOP).map((id) => grades.get(id) ?? 0)) / ideal;
}

/** Which share of the relevant documents is among the first ten. */
export function recall(ranked: readonly string[], grades: ReadonlyMap<string, number>): number {
  const isRelevant = (grade: number | undefined) => (grade ?? 0) > 0;
  const found = ranked.slice(0, TOP).filter((id) => isRelevant(grades.get(id))).length;
  return found / [...grades.values()].filter(isRelevant).length;
}

/** Scores rankings of documents, one a query in the set's order. */
export function scoreOf(set: DataSet, rankings: readonly (readonly string[])[]): Score {
  const mean = (measure: typeof ndcg) =>
    eachOf(set, rankings, measure).reduce((sum, score) => sum + score, 0) / set.queries.length;
  return { ndcg: mean(ndcg), recall: mean(recall) };
}

/** The score of each query, in the set's order. */
export function eachOf(
  { queries, relevant }: Pick<DataSet, "queries" | "relevant">,
  rankings: readonly (readonly string[])[],
  measure = ndcg,
): number[] {
  return queries.map(({ id }, i) => measure(rankings[i]!, relevant.get(id)!));
}
