/**
 * Which hits fit a query weakly. A search gives as many hits as were asked for, whether rows fit or not, and their scores
 * compare rows of one query only. What tells is how much of the query a text's words are.
 */
import type { Row } from "../store/collection.ts";

/**
 * A first hit whose text has less of the query than this is weak. docs/ranking.md, "Weak hits", has the figures for both
 * limits. Of 40 questions about something else altogether, the first hit is weak for all but one.
 */
const QUESTION_SHARE_LEAST = 0.25;
/**
 * If the first hit is not weak, a further one is weak where both its score and its part of the query are less than this,
 * compared with the best.
 */
const SHARE_LEAST = 0.4;
/**
 * A hit whose text means this much of what the query means, by the cosine of their vectors, is not weak. Of right first hits
 * with few words of the query two thirds have it, of hits for questions that nothing answers a tenth.
 */
const MEANING_LEAST = 0.5;

/**
 * Whether each hit is weak, best first. If the first text is below QUESTION_SHARE_LEAST, every hit
 * below it is weak. Two kinds of hits are never weak: those found by meaning, and turns of conversations, which rank by
 * the turns beside them and need not have their words.
 * @param rows with their scores
 * @param questionShares the share of the query that each one's text has, 0 to 1: `Collection.passages`
 */
export function weakHits(rows: readonly Row[], questionShares: readonly number[]): boolean[] {
  // Where tiers order the rows, another one than the first may have the best score.
  const best = rows.reduce((at, { score }, i) => (score > rows[at]!.score ? i : at), 0);
  const score = rows[best]?.score ?? 0;
  const most = Math.max(0, ...questionShares);
  const isMeant = (row: Row | undefined) => (row?.scores?.meaning ?? 0) >= MEANING_LEAST;
  const isUnanswered = questionShares[best]! < QUESTION_SHARE_LEAST && !isMeant(rows[best]);
  return rows.map((row, i) => {
    if (row.metadata !== undefined && Object.hasOwn(row.metadata, "session")) return false;
    if (isMeant(row)) return false;
    if (isUnanswered) return questionShares[i]! < QUESTION_SHARE_LEAST;
    return row.score < SHARE_LEAST * score && questionShares[i]! < SHARE_LEAST * most;
  });
}
