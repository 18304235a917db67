/** The first rows of a repository's two rankings. Equal rows are cut in the order of paths, not in that of insertion. */
import type { Metadata } from "../../checks/values.ts";
import type { Row } from "../../store/collection.ts";
import { byPosition, type WindowPosition } from "./order.ts";

type Ranking = Exclude<keyof NonNullable<Row["scores"]>, "meaning">;

/** The file that a row is a window of. */
export function pathOf(row: Row): string {
  return String((row.metadata as Metadata | undefined)?.path);
}

/** Which window of it. */
export function positionOf(row: Row): WindowPosition {
  return { path: pathOf(row), chunk: Number((row.metadata as Metadata | undefined)?.chunk) };
}

/** The rows that a ranking lists. */
export function listedIn(rows: readonly Row[], ranking: Ranking): Row[] {
  return rows.filter(({ scores }) => scores !== undefined && !Number.isNaN(scores[ranking]));
}

/** The rows that the ranking by words lists, as if there were no other ranking. */
export function byWordsAlone(rows: readonly Row[]): Row[] {
  return listedIn(rows, "words").map((row) => ({ ...row, scores: { ...row.scores!, vector: Number.NaN } }));
}

/**
 * The first `depth` rows of each ranking.
 * @param read how many rows each ranking was asked for, more than `depth`
 * @returns undefined where further rows may be equal to the last one: more have to be read
 */
export function firstOf(rows: readonly Row[], depth: number, read: number): Row[] | undefined {
  const behind: Record<Ranking, Set<Row>> = { vector: new Set(), words: new Set() };
  for (const ranking of ["vector", "words"] as const) {
    const listed = listedIn(rows, ranking);
    if (listed.length <= depth) continue;
    const score = (row: Row) => row.scores![ranking];
    const scores = Float64Array.from(listed, score).sort().reverse();
    const last = scores[depth - 1]!;
    if (listed.length >= read && last === scores.at(-1)) return undefined;
    const above = scores.indexOf(last);
    const equal = listed.filter((row) => score(row) === last);
    if (above + equal.length > depth) equal.sort((a, b) => byPosition(positionOf(a), positionOf(b)));
    behind[ranking] = new Set([...listed.filter((row) => score(row) < last), ...equal.slice(depth - above)]);
  }
  return rows.flatMap((row) => {
    const [isVector, isWords] = [behind.vector.has(row), behind.words.has(row)];
    if (!isVector && !isWords) return [row];
    const { vector, words } = row.scores!;
    const scores = {
      ...row.scores!,
      vector: isVector ? Number.NaN : vector,
      words: isWords ? Number.NaN : words,
    };
    return Number.isNaN(scores.vector) && Number.isNaN(scores.words) ? [] : [{ ...row, scores }];
  });
}
