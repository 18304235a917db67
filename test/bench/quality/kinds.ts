/** Questions that are answered by the first document, by kind and half, for the sets of this folder. */
import { columns } from "../columns.ts";
import type { Line } from "../measure.ts";
import type { DataSet } from "./sets.ts";
import { byRanking, COMPARED, type Compared, type SetQuality } from "./table.ts";

/**
 * What a question shares with its note (tiny/README.md), and who said what is asked for (answers/README.md). Other sets
 * have kinds of their own.
 */
const KINDS = ["shared", "typo", "other", "language", "line", "answer"];

/** Parameters may be chosen by the one half; the other is only measured. */
export const HALVES = ["choose", "keep"] as const;
export type Half = (typeof HALVES)[number];

/** Questions of one kind in one half, and how many of them have a right document first, by ranking. */
export interface KindCount {
  kind: string;
  half: Half;
  questions: number;
  first: Record<Compared, number>;
}

/** Shares of the tiny memories that the fused ranking has to answer. */
const LEAST: Readonly<Record<string, number>> = { shared: 0.97, typo: 0.88, other: 0.5 };

/** Ids are numbers: those that are even are the half to choose by. */
export const halfOf = (id: string): Half => (Number(id) % 2 === 0 ? "choose" : "keep");

/** Counts a set's questions; undefined where they are of other kinds, or of none. */
export function countKinds(
  { queries, relevant }: Pick<DataSet, "queries" | "relevant">,
  rankings: Readonly<Record<Compared, readonly (readonly string[])[]>>,
): KindCount[] | undefined {
  if (!queries.every(({ kind }) => kind !== undefined && KINDS.includes(kind))) return undefined;
  const isFirst = (key: Compared, i: number) =>
    (relevant.get(queries[i]!.id)!.get(rankings[key][i]![0] ?? "") ?? 0) > 0;
  const present = KINDS.filter((kind) => queries.some((query) => query.kind === kind));
  return present.flatMap((kind) =>
    HALVES.map((half) => {
      const own = [...queries.keys()].filter((i) => queries[i]!.kind === kind && halfOf(queries[i]!.id) === half);
      const count = (key: Compared) => own.filter((i) => isFirst(key, i)).length;
      return { kind, half, questions: own.length, first: byRanking(count) };
    }),
  );
}

/** A line of text for each kind's halves and for both together, and one for nDCG@10 over all kinds. */
export function kindTable(
  { name, scores }: Pick<SetQuality, "name" | "scores">,
  kinds: readonly KindCount[],
): string[] {
  const row = (kind: string, half: string, own: readonly KindCount[]) => {
    const sum = (of: (count: KindCount) => number) => `${own.reduce((total, count) => total + of(count), 0)}`;
    return [`${kind}, ${half}`, sum(({ questions }) => questions), ...COMPARED.map((key) => sum((c) => c.first[key]))];
  };
  const groups = [...Map.groupBy(kinds, ({ kind }) => kind)];
  const rows = groups.flatMap(([kind, own]) => [
    ...own.map((count) => row(kind, count.half, [count])),
    row(kind, "both", own),
  ]);
  const questions = kinds.reduce((total, count) => total + count.questions, 0);
  const ndcg = ["all, nDCG@10", `${questions}`, ...COMPARED.map((key) => scores[key].ndcg.toFixed(3))];
  return columns([[`${name}: right row first`, "questions", ...COMPARED], ...rows, ndcg]);
}

/** The goals of the tiny memories, about both halves. */
export function kindGoals(name: string, kinds: readonly KindCount[]): Line[] {
  return Object.entries(LEAST).flatMap(([kind, least]) => {
    const own = kinds.filter((count) => count.kind === kind);
    const questions = own.reduce((total, count) => total + count.questions, 0);
    if (questions === 0) return [];
    const value = own.reduce((total, count) => total + count.first.fused, 0) / questions;
    const goal = `at least ${least.toFixed(2)}`;
    return [{ what: `${name}: ${kind}, fused`, value, unit: "right note first", goal, met: value >= least }];
  });
}
