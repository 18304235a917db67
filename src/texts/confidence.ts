/**
 * Which hits fit a query weakly. A search gives as many hits as were asked for, whether rows fit or not, and their scores
 * compare rows of one query only. What tells is how much of the query a text's words are.
 */
import type { Row } from "../store/collection.ts";

/**
 * A text that has less of a query than this is weak by itself. Of questions whose first hit is right it is so for 0.2 to
 * 3 % (locomo, xquad, scifact, chat logs) and 5 % of the tiny memories, many of which share no word; of questions without
 * an answer among 12, 50 and 220 notes for 95, 80 and 25 %, and for all but one of 40 about something else altogether.
 */
const COVERED_LEAST = 0.25;
/**
 * A further hit is weak where both its score and its part of the query are less than this, compared with the best. At .4
 * 0 to 4 % of the right further hits of those sets are, and 17 to 79 % of the wrong ones; at .5 2 to 9 %, and 30 to 83 %.
 */
const SHARE_LEAST = 0.4;

/**
 * Whether each hit is weak, best first. If the first is, all are that have as little of the query.
 * Turns of conversations are not: they rank by the turns beside them, whose words they need not have.
 * @param covered how much of the query each one's text is, 0 to 1: `Collection.passages`
 */
export function weakHits(rows: readonly Row[], covered: readonly number[]): boolean[] {
  const score = rows[0]?.score ?? 0;
  const most = Math.max(0, ...covered);
  return rows.map((row, i) => {
    if (row.metadata !== undefined && Object.hasOwn(row.metadata, "session")) return false;
    if (covered[0]! < COVERED_LEAST) return covered[i]! < COVERED_LEAST;
    return row.score < SHARE_LEAST * score && covered[i]! < SHARE_LEAST * most;
  });
}
