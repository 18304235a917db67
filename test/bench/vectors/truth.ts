/** Ground truth: our exact search's answers, after a plain scan in double precision has agreed with them. */
import type { Filter } from "./contender.ts";

/** Scores that differ by less than this count as equal: engines add in different orders. */
const TIE = 1e-5;

/** The data that answers are judged by. */
export interface Judged {
  data: Float32Array;
  queries: Float32Array;
  dim: number;
}

/** The inner product of a query with a row, in double precision. */
export function score({ data, queries, dim }: Judged, query: number, row: number): number {
  let sum = 0;
  for (let i = 0, q = query * dim, r = row * dim; i < dim; i++) sum += queries[q + i]! * data[r + i]!;
  return sum;
}

/** The best rows of a query among those that match, best first, by a plain scan. */
export function scanned(judged: Judged, query: number, top: number, matches: (row: number) => boolean): number[] {
  const rows = judged.data.length / judged.dim;
  const hits: { row: number; score: number }[] = [];
  for (let row = 0; row < rows; row++) {
    if (!matches(row)) continue;
    hits.push({ row, score: score(judged, query, row) });
  }
  return hits
    .sort((a, b) => b.score - a.score)
    .slice(0, top)
    .map((hit) => hit.row);
}

/** Rows that match a filter. */
export function matching(columns: Record<string, Uint8Array>, filter: Filter | undefined): (row: number) => boolean {
  return filter ? (row) => columns[filter.column]![row] === filter.value : () => true;
}

/**
 * Recall over all queries. A row that matches the filter and scores as well as the last row of the truth is right too.
 */
export function recall(
  judged: Judged,
  truth: readonly number[][],
  answers: readonly number[][],
  matches: (row: number) => boolean = () => true,
): number {
  let [right, wanted] = [0, 0];
  answers.forEach((rows, query) => {
    const expected = truth[query]!;
    const known = new Set(expected);
    const floor = expected.length > 0 ? score(judged, query, expected.at(-1)!) - TIE : 0;
    const isRight = (row: number) => known.has(row) || (matches(row) && score(judged, query, row) >= floor);
    wanted += expected.length;
    right += Math.min(expected.length, [...new Set(rows)].filter(isRight).length);
  });
  return wanted === 0 ? 1 : right / wanted;
}
