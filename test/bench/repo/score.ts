/** How good the files of an answer are, as `trees.py score` counts it. */
import { ndcg, TOP } from "../quality/score.ts";

/** Marks of one answer; all but the first are 0 or 1, or a reciprocal rank. */
export interface Marks {
  ndcg: number;
  /** Whether a file of the question's highest grade is among the first one, five or ten. */
  at1: number;
  at5: number;
  at10: number;
  /** Whether one of any grade is among the first ten. */
  any10: number;
  /** One by the rank of the first file of the highest grade; 0 after the tenth. */
  mrr: number;
}

export const MARKS: readonly (keyof Marks)[] = ["ndcg", "at1", "at5", "at10", "any10", "mrr"];

/** Kinds of questions that are counted together. */
export const GROUPS = {
  message: ["commit", "subject"],
  identifier: ["name", "where"],
  path: ["file", "part"],
  test: ["test"],
} as const satisfies Record<string, readonly string[]>;
export type Group = keyof typeof GROUPS;

/** @param paths files best first; one that is there again counts at its first place */
export function marksOf(paths: readonly string[], grades: ReadonlyMap<string, number>): Marks {
  const files = [...new Set(paths)].slice(0, TOP);
  const highest = Math.max(...grades.values());
  const isTop = (path: string) => grades.get(path) === highest;
  const first = files.findIndex(isTop);
  const among = (count: number) => (first >= 0 && first < count ? 1 : 0);
  return {
    ndcg: ndcg(files, grades),
    at1: among(1),
    at5: among(5),
    at10: among(TOP),
    any10: files.some((path) => grades.has(path)) ? 1 : 0,
    mrr: first < 0 ? 0 : 1 / (first + 1),
  };
}

/** Places in `kinds` of the questions of a group, or of one kind. */
export function placesOf(kinds: readonly string[], wanted: readonly string[]): number[] {
  return [...kinds.keys()].filter((i) => wanted.includes(kinds[i]!));
}

/** The mean of a list at some places; NaN for none. */
export function meanAt(list: readonly number[], places: readonly number[]): number {
  return places.reduce((sum, i) => sum + list[i]!, 0) / places.length;
}
