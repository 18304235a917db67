import { expect, test } from "bun:test";
import { goals } from "./goals.ts";
import { PUBLISHED } from "./published.ts";
import { byRanking, figureLines, MEASURED, type Measured, type SetQuality, table } from "./table.ts";

/** A set on which every ranking scores alike, but for those that are named. */
function quality(name: string, all: number, others: Partial<Record<Measured, number>> = {}): SetQuality {
  const scores = Object.fromEntries(
    MEASURED.map((key) => [key, { ndcg: others[key] ?? all, recall: others[key] ?? all }]),
  ) as SetQuality["scores"];
  const each = byRanking(() => [all]);
  return { name, documents: 1, queries: 1, scores, ids: ["q"], each };
}

const verdicts = (sets: SetQuality[]) => goals(sets).map(({ what, met }) => [what, met]);

test("a set has a row of figures, the last row has means, and what was not published is a dash", () => {
  const [head, known, own, means] = table([quality("cranfield", 0.5), quality("mine", 0.25)]);
  expect(new Set([head, known, own, means].map((line) => line!.length)).size).toBe(1);
  expect(known!.split(/ +/).slice(-3)).toEqual(["0.511", "0.486", "0.523"]);
  expect(own!.split(/ +/)).toEqual(["mine", ...Array(11).fill("0.250"), "-", "-", "-"]);
  expect(means!.split(/ +/)[1]).toBe("0.375");
  expect(figureLines([quality("mine", 0.25)])).toHaveLength(MEASURED.length * 2);
});

test("a custom set is judged by figures of the same run", () => {
  expect(verdicts([quality("mine", 0.5, { fused: 0.496, hashing: 0.6 })])).toEqual([
    ["mean over 0 sets: dense", undefined],
    ["mine: fused", true],
    ["mean over 0 sets: fused", undefined],
    ["mine: dense", false],
  ]);
});

test("published figures have three digits, and ours are rounded to as many", () => {
  const [dense] = goals([quality("cranfield", 0.4856)]);
  expect(dense).toMatchObject({ what: "cranfield: dense", met: true });
  expect(goals([quality("cranfield", 0.4854)])[0]!.met).toBe(false);
});

test("of a set without a dense column the lexical ranking is judged, and means wait for all eight sets", () => {
  expect(verdicts([quality("codenn-python", 0.2184)])).toContainEqual(["codenn-python: lexical", true]);
  const eight = Object.keys(PUBLISHED).filter((name) => name !== "codenn-python");
  expect(verdicts(eight.map((name) => quality(name, 0.7)))).toContainEqual(["mean over 8 sets: fused", false]);
  expect(verdicts(eight.map((name) => quality(name, 0.717)))).toContainEqual(["mean over 8 sets: fused", true]);
});
