/**
 * The two rankings of a repository's windows as one, with a prior on the scores by words. Scores become deviations from
 * the mean, as in the runtime's fusion (ffi/ty_runtime/calls/fuse.h has the reasons), before the prior: it changes no
 * scale. Every sum is in a fixed order, so that scores are the same on every platform.
 */
import { byPlace, type Place } from "./order.ts";

/** A window. */
export interface Candidate extends Place {
  /** NaN where a ranking does not list it. */
  scores: { vector: number; words: number };
  /** What its score by words is multiplied with, 0 to 1. */
  prior: number;
}

/** The mean and the deviation are of so many candidates of a ranking at most: TY_FUSE_HEAD. */
const HEAD = 100;

/** How the scores of a ranking become deviations. */
interface Scale {
  mean: number;
  deviation: number;
  /** The score of candidates that the ranking does not list. */
  lowest: number;
}

/**
 * The fused score of each candidate.
 * @param denseWeight weight of the ranking by vector, 0 to 1; the one by words has the rest
 */
export function fused(candidates: readonly Candidate[], denseWeight: number): number[] {
  const byVector = listed(candidates, (c) => c.scores.vector);
  const byWords = listed(candidates, (c) => c.scores.words);
  // A ranking by words shorter than the head is complete: windows that it lacks score 0 there.
  const isComplete = byWords.length < HEAD;
  const absent = isComplete ? byVector.slice(0, HEAD).filter((c) => Number.isNaN(c.scores.words)).length : 0;
  const vector = scaleOf(byVector.map((c) => c.scores.vector));
  const words = scaleOf(
    byWords.map((c) => c.scores.words),
    isComplete ? 0 : undefined,
    absent,
  );
  return candidates.map(({ scores, prior }) => {
    const dense = (orLowest(scores.vector, vector) - vector.mean) / vector.deviation;
    const lexical = (orLowest(scores.words, words) * prior - words.mean) / words.deviation;
    return denseWeight * dense + (1 - denseWeight) * lexical;
  });
}

/** The candidates of a ranking, best first. */
function listed(candidates: readonly Candidate[], score: (c: Candidate) => number): Candidate[] {
  const found = candidates.filter((c) => !Number.isNaN(score(c)));
  return found.sort((a, b) => score(b) - score(a) || byPlace(a, b));
}

/** Of scores, best first; `absent` further ones are `lowest`, which is the last score where it is absent. */
function scaleOf(scores: readonly number[], lowest = scores.at(-1) ?? 0, absent = 0): Scale {
  const head = [...scores.slice(0, HEAD), ...new Array<number>(absent).fill(lowest)];
  if (head.length === 0) return { mean: 0, deviation: 1, lowest };
  let sum = 0;
  for (const score of head) sum += score;
  const mean = sum / head.length;
  let squares = 0;
  for (const score of head) squares += (score - mean) * (score - mean);
  return { mean, deviation: Math.sqrt(squares / head.length) || 1, lowest };
}

function orLowest(score: number, { lowest }: Scale): number {
  return Number.isNaN(score) ? lowest : score;
}
