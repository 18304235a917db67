/**
 * One ranking out of two. Scores of different kinds cannot be added as they are: each list is brought to mean 0 and deviation 1 first
 * (z-scores). Reciprocal ranks (k = 60) on the same candidates lost on each of eight development sets, in the mean .638 against .650: they
 * give a weak ranking's order the weight of a strong one's.
 */

import { DENSE_WEIGHT } from "./ranking.ts";

/** A candidate of one ranking, best first. */
export interface Ranked {
  id: string;
  score: number;
  /** Order of insertion. */
  birth: number;
}

/** Mean and deviation are those of so many candidates of a ranking, so that an answer's first hits hardly depend on how many were asked for. */
const HEAD = 100;

/** How many candidates of each ranking are looked at for `topK` fused hits. */
export function candidateDepth(topK: number): number {
  return Math.max(HEAD, topK * 3);
}

/**
 * The rows of both rankings, best fused score first, ties in order of insertion, which compaction keeps. A candidate that one ranking does
 * not hold gets that ranking's lowest score: it is at most as good as the last one listed. A lexical ranking shorter than `HEAD` is all there
 * is: what it does not hold scores 0 there. (Without that the only row with a rare word had the mean score of its own list, and of 322 such
 * rows 126 were not first.)
 */
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

/** A candidate's score in deviations from the mean of a ranking, best first, and of `absent` others with the score `lowest`. */
function standardise(list: readonly Ranked[], absent: number, lowest = 0): (id: string) => number {
  const scores = [...list.slice(0, HEAD).map(({ score }) => score), ...new Array<number>(absent).fill(lowest)];
  if (scores.length === 0) return () => 0;
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
  const deviation = Math.sqrt(variance) || 1;
  const known = new Map(list.map(({ id, score }) => [id, score]));
  return (id) => ((known.get(id) ?? lowest) - mean) / deviation;
}
