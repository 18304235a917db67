/** What fused answers are compared with: the same fusion in TypeScript, and a fused search out of its parts. */

import type { Condition } from "../../src/checks/where.ts";
import type { Collection, Row } from "../../src/store/collection.ts";
import type { Embedder } from "../../src/texts/embedder.ts";
import { DENSE_WEIGHT } from "../../src/texts/ranking.ts";

/** A candidate of one ranking, best first. */
export interface Ranked {
  id: string;
  score: number;
  /** Order of insertion. */
  birth: number;
}

const HEAD = 100;

/** How many candidates of each ranking are looked at for `topK` fused hits. */
function candidateDepth(topK: number): number {
  return Math.max(HEAD, topK * 3);
}

/** `ty_fuse` (ffi/ty_runtime/calls/fuse.h), which says why. */
export function fuse(
  dense: readonly Ranked[],
  lexical: readonly Ranked[],
  topK: number,
  denseWeight = DENSE_WEIGHT,
): Ranked[] {
  const births = new Map([...lexical, ...dense].map(({ id, birth }) => [id, birth]));
  const isAll = lexical.length < HEAD;
  const absent = isAll ? new Set([...dense.slice(0, HEAD), ...lexical].map(({ id }) => id)).size - lexical.length : 0;
  const byMeaning = standardise(dense, 0, dense.at(-1)?.score);
  const byWord = standardise(lexical, absent, isAll ? 0 : lexical.at(-1)?.score);
  return [...births]
    .map(([id, birth]) => ({ id, birth, score: denseWeight * byMeaning(id) + (1 - denseWeight) * byWord(id) }))
    .sort((a, b) => b.score - a.score || a.birth - b.birth)
    .slice(0, topK);
}

/** A candidate's score in deviations from the mean of a ranking and of `absent` others with the score `lowest`. */
function standardise(list: readonly Ranked[], absent: number, lowest = 0): (id: string) => number {
  const scores = [...list.slice(0, HEAD).map(({ score }) => score), ...new Array<number>(absent).fill(lowest)];
  if (scores.length === 0) return () => 0;
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
  const deviation = Math.sqrt(variance) || 1;
  const known = new Map(list.map(({ id, score }) => [id, score]));
  return (id) => ((known.get(id) ?? lowest) - mean) / deviation;
}

/** A fused row: its score, and what each ranking said. */
export interface FusedRow {
  row: Row;
  vector: number | undefined;
  words: number | undefined;
}

/** What `searchTexts` answers, out of the two rankings and a look at the rows. Needs a built index for the second. */
export async function composed(
  collection: Collection,
  embedder: Embedder,
  query: string,
  options: { topK: number; where?: Condition | undefined },
): Promise<FusedRow[]> {
  const topK = candidateDepth(options.topK);
  const vector = await embedder.embedQueries([query]);
  const asked = { topK, where: options.where };
  const dense = (await collection.search(vector, { ...asked, weighted: embedder.weightedQueries })).rows;
  const lexical = await collection.searchLexical(query, asked);
  const fused = fuse(dense, lexical, options.topK);
  const rows = collection.get(fused.map(({ id }) => id));
  const scoreIn = (ranking: Row[], id: string) => ranking.find((row) => row.id === id)?.score;
  return rows.map((row, i) => ({
    row: { ...row, score: fused[i]!.score },
    vector: scoreIn(dense, row.id),
    words: scoreIn(lexical, row.id),
  }));
}
