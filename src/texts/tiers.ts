/**
 * Which candidates of a search come first: rows of the caller's project, then those of scope `default`, then others, and
 * last the rows that others replaced. No candidate is left out.
 *
 * A candidate is strong if its score, or the part of the question that its text has, is at least STRONG_LEAST of the
 * best. Strong ones come first, in the order of their tiers and then of their ranks; the others follow in that of their
 * ranks.
 */
import { DEFAULT_PARTITION_KEY, REPO_KEY, SUPERSEDED_BY } from "../checks/names.ts";
import type { Metadata } from "../checks/values.ts";
import type { Row, SearchAnswer } from "../store/collection.ts";
import { DEFAULT_PARTITION, SUPERSEDED_NOTE } from "../store/schema.ts";
import { Collections } from "./collections.ts";
import { normalised } from "./recency.ts";
import type { Searched } from "./searched.ts";

/**
 * docs/ranking.md, "Rows of the project", has the figures. From .6 to .75 they hardly change. By the score alone, a
 * second row among three is never strong: scores say how far rows are from the mean of all.
 */
const STRONG_LEAST = 0.7;
/** Candidates whose texts are read, best first. Others are strong by their scores only. */
const JUDGED_MAX = 32;
/** A longer text is not looked at: UTF-16 units. */
const JUDGED_UNITS = 16 * 1024;

/** Which tiers an answer has. */
export interface Tiers {
  /** The scope whose rows come first; absent: the tiers are not by scope. */
  project?: string | undefined;
  /** Rows may be superseded. */
  hasSuperseded: boolean;
}

/**
 * The tiers of an answer; undefined for an order by rank alone.
 * @param project the scope whose rows are preferred, where the partition key of the collection is `scope`
 */
export function tiersOf(target: Searched, project: string | undefined): Tiers | undefined {
  const all = target instanceof Collections ? target.all : [target];
  const isByScope = project !== undefined && all.some(({ schema }) => schema.keyName === DEFAULT_PARTITION_KEY);
  const hasSuperseded = all.some((one) => one.schema.keyName !== REPO_KEY && one.note(SUPERSEDED_NOTE) !== undefined);
  return isByScope || hasSuperseded ? { project: isByScope ? project : undefined, hasSuperseded } : undefined;
}

/** Whether another row replaced the one with this metadata. */
export function isSuperseded(metadata: Metadata | null | undefined): boolean {
  const by = metadata?.[SUPERSEDED_BY];
  return typeof by === "string" && by !== "";
}

/** A candidate with the score by which it ranks. */
interface Candidate {
  row: Row;
  score: number;
}

/**
 * Candidates in the order of their tiers.
 * @param question what the texts are compared with
 * @param ranked with their metadata, best first
 */
export function inTiers<C extends Candidate>(
  collection: Pick<Searched, "get" | "passages">,
  question: string,
  answer: Pick<SearchAnswer, "fused" | "words">,
  ranked: readonly C[],
  { project, hasSuperseded }: Tiers,
): C[] {
  const isLast = ({ row }: C) => hasSuperseded && isSuperseded(row.metadata);
  const current = ranked.filter((candidate) => !isLast(candidate));
  const first = project === undefined ? current : projectFirst(collection, question, answer, current, project);
  return [...first, ...ranked.filter(isLast)];
}

function projectFirst<C extends Candidate>(
  collection: Pick<Searched, "get" | "passages">,
  question: string,
  answer: Pick<SearchAnswer, "fused" | "words">,
  ranked: readonly C[],
  project: string,
): readonly C[] {
  const tiers = ranked.map(({ row }) => tierOf(row, project));
  if (tiers.every((tier, i) => i === 0 || tiers[i - 1]! <= tier)) return ranked;
  const scores = ranked.map(({ score }) => score);
  // An inner product has no zero that says "nothing in common".
  const isByScore = fromBest(answer.fused || answer.words > 0 ? scores : normalised(scores));
  const isByText = fromBest(questionShares(collection, question, ranked.slice(0, JUDGED_MAX)));
  const strong: C[][] = [[], [], []];
  const others: C[] = [];
  for (const [i, candidate] of ranked.entries()) {
    const isStrong = isByScore[i] || isByText[i];
    (isStrong ? strong[tiers[i]!]! : others).push(candidate);
  }
  return [...strong.flat(), ...others];
}

/** 0 for the project, 1 for the default scope, which rows without one have, 2 for others. */
function tierOf({ metadata }: Row, project: string): number {
  const isNamed = metadata !== undefined && Object.hasOwn(metadata, DEFAULT_PARTITION_KEY);
  const scope = isNamed ? metadata[DEFAULT_PARTITION_KEY] : DEFAULT_PARTITION;
  if (scope === project) return 0;
  return scope === DEFAULT_PARTITION ? 1 : 2;
}

/** Whether each number is at least STRONG_LEAST of the largest. */
function fromBest(numbers: readonly number[]): boolean[] {
  const best = numbers.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return numbers.map((number) => best > 0 && number >= STRONG_LEAST * best);
}

/** The part of the question that each text has, 0 to 1. */
function questionShares(
  collection: Pick<Searched, "get" | "passages">,
  question: string,
  ranked: readonly Candidate[],
): number[] {
  const rows = collection.get(
    ranked.map(({ row }) => row.id),
    { text: true },
  );
  const texts = rows.map(({ text = "" }) => (text.length > JUDGED_UNITS ? "" : text));
  return collection.passages(question, undefined, texts).map(({ questionShare }) => questionShare);
}
