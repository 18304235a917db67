/** Right answers: our exact search's, after a plain scan in double precision has agreed with it. */
import type { Filter } from "./contender.ts";

/** Scores that differ by less than this count as equal: engines add in different orders. */
const TIE = 1e-5;

/** The data that answers are judged by. */
export interface Judged {
  data: Float32Array;
  queries: Float32Array;
  dim: number;
}

/** The inner product of a question with a row, in double precision. */
export function score({ data, queries, dim }: Judged, question: number, row: number): number {
  let sum = 0;
  for (let i = 0, q = question * dim, r = row * dim; i < dim; i++) sum += queries[q + i]! * data[r + i]!;
  return sum;
}

/** The best rows of a question among those that match, best first, by a plain scan. */
export function scanned(judged: Judged, question: number, top: number, matches: (row: number) => boolean): number[] {
  const rows = judged.data.length / judged.dim;
  const hits: { row: number; score: number }[] = [];
  for (let row = 0; row < rows; row++) {
    if (!matches(row)) continue;
    hits.push({ row, score: score(judged, question, row) });
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
 * The share of right rows among the answers, over all questions. A row that scores as well as the last right one is right too, where it
 * matches.
 */
export function recall(
  judged: Judged,
  truth: readonly number[][],
  answers: readonly number[][],
  matches: (row: number) => boolean = () => true,
): number {
  let [right, wanted] = [0, 0];
  answers.forEach((rows, question) => {
    const expected = truth[question]!;
    const known = new Set(expected);
    const floor = expected.length > 0 ? score(judged, question, expected.at(-1)!) - TIE : 0;
    const isRight = (row: number) => known.has(row) || (matches(row) && score(judged, question, row) >= floor);
    wanted += expected.length;
    right += Math.min(expected.length, [...new Set(rows)].filter(isRight).length);
  });
  return wanted === 0 ? 1 : right / wanted;
}
