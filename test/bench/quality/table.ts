/** The figures of all sets side by side, and as lines. */
import { columns } from "../columns.ts";
import type { Line } from "../measure.ts";
import type { KindCount } from "./kinds.ts";
import { betterBm25, PUBLISHED } from "./published.ts";
import type { Score } from "./score.ts";

/** All rankings that are measured, by the names of their columns. */
export const MEASURED = [
  "dense",
  "lexical",
  "without meaning",
  "fused",
  "bigram",
  "FTS5",
  "hashing",
  "n-grams",
] as const;
export type Measured = (typeof MEASURED)[number];

/** The rankings that are counted by kind and compared query by query. */
export const COMPARED = ["dense", "lexical", "without meaning", "fused", "FTS5"] as const;
export type Compared = (typeof COMPARED)[number];

/** What `of` gives for each of them. */
export function byRanking<T>(of: (key: Compared) => T): Record<Compared, T> {
  return Object.fromEntries(COMPARED.map((key) => [key, of(key)])) as Record<Compared, T>;
}

/** Figures of one set. */
export interface SetQuality {
  name: string;
  documents: number;
  queries: number;
  scores: Record<Measured, Score>;
  /** Ids of the queries, and the nDCG@10 of each in their order. */
  ids: string[];
  each: Record<Compared, number[]>;
  /** How many questions are answered by the first document, by kind: see kinds.ts. */
  kinds?: KindCount[] | undefined;
}

/** Of our own rankings recall is shown beside nDCG@10. */
const OWN = new Set<Measured>(["dense", "lexical", "fused"]);

/** A line of text a set, means at the end. */
export function table(sets: readonly SetQuality[]): string[] {
  const measured = MEASURED.flatMap((key) => (OWN.has(key) ? [key, "recall"] : [key]));
  const head = ["nDCG@10 and recall@10", ...measured, "better BM25*", "2,048 at 4 bits*", "fused*"];
  const mean = (key: Measured, measure: keyof Score) =>
    sets.reduce((sum, { scores }) => sum + scores[key][measure], 0) / sets.length;
  const cells = (value: (key: Measured, measure: keyof Score) => number) =>
    MEASURED.flatMap((key) =>
      (OWN.has(key) ? (["ndcg", "recall"] as const) : (["ndcg"] as const)).map((m) => value(key, m)),
    );
  const rows = sets.map(({ name, scores }) => {
    const published = PUBLISHED[name];
    const theirs = [published && betterBm25(published), published?.at2048, published?.fused];
    return [name, ...[...cells((key, measure) => scores[key][measure]), ...theirs].map(digits)];
  });
  const means = ["mean", ...[...cells(mean), undefined, undefined, undefined].map(digits)];
  return [...columns([head, ...rows, means]), "* as published, not measured here"];
}

/** Every figure as a line of its own. */
export function figureLines(sets: readonly SetQuality[]): Line[] {
  return sets.flatMap(({ name, scores }) =>
    MEASURED.flatMap((key) => [
      { what: `${name}: ${key}`, value: scores[key].ndcg, unit: "nDCG@10" },
      { what: `${name}: ${key}`, value: scores[key].recall, unit: "recall@10" },
    ]),
  );
}

function digits(value: number | undefined): string {
  return value === undefined ? "-" : value.toFixed(3);
}
