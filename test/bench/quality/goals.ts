/** Figures against the goals. */
import type { Line } from "../measure.ts";
import { betterBm25, PUBLISHED } from "./published.ts";
import type { Measured, SetQuality } from "./table.ts";

/** By how much a ranking may be worse that has to be as good as another one. */
const SLACK = 0.005;
/** Means over the sets that have a published dense column. */
const MEAN_DENSE = 0.68;
const MEAN_FUSED = 0.717;
/** Of locomo with its sessions: nDCG@10, and how much of the evidence is among the first ten. */
const CONVERSATIONS = { name: "locomo", ndcg: 0.53, recall: 0.69 };
/** The sets that these means are about. */
const WHOLE = Object.keys(PUBLISHED).filter((name) => PUBLISHED[name]!.at2048 !== undefined);

/** All goals, kind by kind. */
export function goals(sets: readonly SetQuality[]): Line[] {
  return [
    ...sets.flatMap((set) => {
      const theirs = PUBLISHED[set.name]?.at2048;
      return theirs === undefined ? [] : [published(set, "dense", theirs, "2,048 at 4 bits as published")];
    }),
    meanLine(sets, "dense", MEAN_DENSE),
    ...sets.flatMap((set) => {
      const theirs = PUBLISHED[set.name];
      if (!theirs) return [];
      return [published(set, "lexical", betterBm25(theirs) - SLACK, `the better BM25 as published less ${SLACK}`)];
    }),
    ...sets.map((set) => {
      const least = Math.max(set.scores.dense.ndcg, set.scores.lexical.ndcg) - SLACK;
      return line(set, "fused", least, `the better of our dense and lexical less ${SLACK}`);
    }),
    meanLine(sets, "fused", MEAN_FUSED),
    ...sets.filter(({ name }) => name === CONVERSATIONS.name).flatMap(conversations),
    ...sets.map((set) => {
      const { hashing, "n-grams": grams } = set.scores;
      return line(set, "dense", Math.max(hashing.ndcg, grams.ndcg), "the better plain hashing of this run");
    }),
  ];
}

/** Published figures have three digits, so ours are rounded to as many before they are compared. */
function published(set: SetQuality, key: Measured, least: number, what: string): Line {
  return { ...line(set, key, least, what), met: round(set.scores[key].ndcg) >= round(least) };
}

function line({ name, scores }: SetQuality, key: Measured, least: number, what: string): Line {
  const value = scores[key].ndcg;
  return {
    what: `${name}: ${key}`,
    value,
    unit: "nDCG@10",
    goal: `at least ${least.toFixed(3)}, ${what}`,
    met: value >= least,
  };
}

function conversations(set: SetQuality): Line[] {
  const { recall } = set.scores.fused;
  const least = CONVERSATIONS.recall;
  const found = {
    what: `${set.name}: fused`,
    value: recall,
    unit: "recall@10",
    goal: `at least ${least}`,
    met: recall >= least,
  };
  return [line(set, "fused", CONVERSATIONS.ndcg, "with sessions"), found];
}

/** A mean over fewer sets than the goal's is shown and not judged. */
function meanLine(sets: readonly SetQuality[], key: Measured, least: number): Line {
  const present = sets.filter(({ name }) => WHOLE.includes(name));
  const missing = WHOLE.filter((name) => !present.some((set) => set.name === name));
  const value = present.reduce((sum, { scores }) => sum + scores[key].ndcg, 0) / present.length;
  const what = `mean over ${present.length} sets: ${key}`;
  const goal = `at least ${least.toFixed(3)} over ${WHOLE.length} sets`;
  if (missing.length === 0) return { what, value, unit: "nDCG@10", goal, met: round(value) >= least };
  return { what, value: value || 0, unit: "nDCG@10", goal: `${goal}; ${missing.join(" and ")} is missing` };
}

const round = (value: number) => Number(value.toFixed(3));
