import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../../fixture.ts";
import { type EarlierSet, readEarlier } from "./earlier.ts";
import { differenceOf, meanOf, pairedTable, sinceOf } from "./paired.ts";
import { byRanking, type SetQuality } from "./table.ts";

/** A set of which only the fused ranking has other scores than zero. */
function setOf(name: string, ids: string[], fused: number[]): SetQuality {
  const none = ids.map(() => 0);
  const scores = {} as SetQuality["scores"];
  return {
    name,
    documents: 1,
    queries: ids.length,
    scores,
    ids,
    each: { ...byRanking(() => none), fused },
  };
}

test("the error is that of the differences, not of the scores", () => {
  expect(differenceOf([0.2, 0.9, 0.5], [0.1, 0.8, 0.4]).error).toBeCloseTo(0, 12);
  const { mean, error, queries } = differenceOf([1, 0, 1, 1], [0, 0, 1, 0]);
  expect(mean).toBe(0.5);
  expect(error).toBeCloseTo(Math.sqrt(1 / 3 / 4), 12);
  expect(queries).toBe(4);
  expect(differenceOf([1], [0])).toEqual({ mean: 1, error: Number.NaN, queries: 1 });
});

test("sets count alike in the mean, and its error shrinks with their number", () => {
  const sets = [
    { mean: 0.1, error: 0.03, queries: 10 },
    { mean: 0.3, error: 0.04, queries: 1000 },
  ];
  expect(meanOf(sets).mean).toBeCloseTo(0.2, 12);
  expect(meanOf(sets).error).toBeCloseTo(0.025, 12);
});

test("queries of two runs are paired by id, and those of one run only are left out", () => {
  const now = setOf("a", ["p", "q", "r"], [1, 0.5, 0]);
  const before: EarlierSet = setOf("a", ["r", "x", "p"], [0, 1, 0.5]);
  expect(sinceOf(now, [before], "fused")).toMatchObject({ mean: 0.25, queries: 2 });
  expect(sinceOf(now, [setOf("b", ["p"], [1])], "fused")).toBeUndefined();
  expect(sinceOf(now, [setOf("a", ["x"], [1])], "fused")).toBeUndefined();
});

test("a line a set, differences with their errors, dashes where there is nothing to compare with", () => {
  const sets = [setOf("a", ["p", "q"], [0.5, 1]), setOf("b", ["p", "q"], [1, 1])];
  const [head, a, b, mean] = pairedTable(sets, [setOf("a", ["p", "q"], [0.75, 1.25])]);
  expect(head!.split(/ {2,}/)).toEqual([
    "nDCG@10, paired",
    "fused - dense",
    "fused - lexical",
    "fused - without meaning",
    "fused - FTS5",
    "dense - earlier",
    "lexical - earlier",
    "fused - earlier",
  ]);
  expect(a!.split(/ {2,}/).slice(1, 2)).toEqual(["+0.7500 ± 0.2500"]);
  expect(a!.split(/ {2,}/).at(-1)).toBe("-0.2500 ± 0.0000");
  expect(b!.split(/ {2,}/).slice(-3)).toEqual(["-", "-", "-"]);
  expect(mean!.split(/ {2,}/).slice(1, 2)).toEqual(["+0.8750 ± 0.1250"]);
  expect(pairedTable(sets.slice(0, 1), undefined)).toHaveLength(2);
});

test("a run is compared with one that wrote the score of each query, or refused with a sentence", () => {
  const file = join(scratchDir(), "run.json");
  expect(() => readEarlier(file)).toThrow("there is no file");
  writeFileSync(file, "{");
  expect(() => readEarlier(file)).toThrow("is not JSON");
  for (const wrong of [{}, null, { sets: [{ name: "a" }] }, { sets: [{ ...setOf("a", ["p"], []) }] }]) {
    writeFileSync(file, JSON.stringify(wrong));
    expect(() => readEarlier(file)).toThrow("has no score of each query");
  }
  writeFileSync(file, JSON.stringify({ sets: [setOf("a", ["p"], [1])] }));
  expect(readEarlier(file)[0]!.each.fused).toEqual([1]);
});
