/** The fusion of two rankings: `Collection.fuse`, and that the scores of a search are the same. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { DENSE_WEIGHT } from "../../src/texts/ranking.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { type Ranked, fuse as reference } from "./reference.ts";

const NONE = Number.NaN;
let store: Store;
let notes: Collection;

beforeAll(async () => {
  store = await openStore();
  notes = store.create("notes", { dim: 4, lexical: true });
});
afterAll(() => store.close());

/** The fused rows of two rankings, best first; equal scores by birth. */
function fuse(dense: readonly Ranked[], lexical: readonly Ranked[], topK: number, weight = DENSE_WEIGHT): Ranked[] {
  const rows = new Map<number, { id: string; birth: number; scores: { vector: number; words: number } }>();
  for (const [ranking, list] of Object.entries({ vector: dense, words: lexical })) {
    for (const { id, birth, score } of list) {
      const scores = rows.get(birth)?.scores ?? { vector: NONE, words: NONE };
      rows.set(birth, { id, birth, scores: { ...scores, [ranking]: score } });
    }
  }
  const inOrder = [...rows.values()].sort((a, b) => a.birth - b.birth);
  const scores = notes.fuse(inOrder, () => 1, weight);
  return inOrder
    .map(({ id, birth }, i) => ({ id, birth, score: scores[i]! }))
    .sort((a, b) => b.score - a.score || a.birth - b.birth)
    .slice(0, topK);
}

/** Born in the order in which ids are first named in a test. */
const births = new Map<string, number>();
const birthOf = (id: string) => {
  if (!births.has(id)) births.set(id, births.size);
  return births.get(id)!;
};
const ranked = (...scores: [string, number][]) => scores.map(([id, score]) => ({ id, score, birth: birthOf(id) }));

describe("fused", () => {
  test("a candidate that is high in both rankings beats one that is high in only one", () => {
    const dense = ranked(["both", 0.8], ["dense", 0.81], ["x", 0.1], ["y", 0.1]);
    const lexical = ranked(["lexical", 9], ["both", 8.9], ["z", 1]);
    expect(fuse(dense, lexical, 3)[0]?.id).toBe("both");
  });

  test("one empty ranking leaves the other's order", () => {
    const list = ranked(["a", 3], ["b", 2], ["c", 1]);
    expect(fuse(list, [], 10).map((hit) => hit.id)).toEqual(["a", "b", "c"]);
    expect(fuse([], list, 2).map((hit) => hit.id)).toEqual(["a", "b"]);
    expect(fuse([], [], 5)).toEqual([]);
  });

  test("equal scores are ordered by insertion, whatever their ids and the order of the rankings", () => {
    const list = [3, 1, 2].map((birth) => ({ id: `${9 - birth}`, score: 1, birth }));
    for (const fused of [fuse(list, [], 3), fuse([], list, 3), fuse(list, list, 3)]) {
      expect(fused.map((hit) => hit.birth)).toEqual([1, 2, 3]);
    }
  });

  test("the only row that holds a word is first, whatever the other ranking says", () => {
    const dense = Array.from({ length: 100 }, (_, i): [string, number] => [`row ${i}`, 1 - i / 100]);
    expect(fuse(ranked(...dense), ranked(["row 70", 9]), 5)[0]?.id).toBe("row 70");
    expect(fuse(ranked(...dense), ranked(["elsewhere", 9]), 5)[0]?.id).toBe("elsewhere");
    const three = fuse(ranked(...dense), ranked(["row 60", 9], ["row 70", 9], ["row 80", 9]), 3);
    expect(three.map((hit) => hit.id).sort()).toEqual(["row 60", "row 70", "row 80"]);
  });

  test("the first hits do not depend on how many were asked for", () => {
    const list = (step: number) =>
      ranked(...Array.from({ length: 300 }, (_, i): [string, number] => [`${(i * step) % 307}`, 1 / (i + 1)]));
    const first = (depth: number) => fuse(list(7).slice(0, depth), list(11).slice(0, depth), 5).map((hit) => hit.id);
    expect(first(100)).toEqual(first(300));
    const few = (depth: number) => fuse(list(7).slice(0, depth), list(11).slice(0, 10), 8).map((hit) => hit.id);
    expect(few(300)).toEqual(few(100));
    expect(few(150)).toEqual(few(100));
  });
});

/** A ranking of distinct rows, best first, of scores that are far apart, near, or equal. */
function randomRanking(next: () => number, most: number): Ranked[] {
  const length = Math.floor(next() ** 2 * (most + 1));
  const scale = 10 ** Math.floor(next() * 40 - 20);
  const steps = [1, 4, 1e9][Math.floor(next() * 3)]!;
  const rows = new Set(Array.from({ length }, () => Math.floor(next() * most * 1.5)));
  return [...rows]
    .map((birth) => ({ id: `${birth}`, birth, score: (Math.floor((next() - 0.3) * steps) / steps) * scale }))
    .sort((a, b) => b.score - a.score || a.birth - b.birth);
}

test.each([1, 2, 3])("as the fusion in TypeScript, to the bit (seed %d)", (seed) => {
  const next = random(seed);
  for (let i = 0; i < 1000; i++) {
    const most = [3, 30, 99, 101, 300][Math.floor(next() * 5)]!;
    const weight = [DENSE_WEIGHT, 0, 1, next()][Math.floor(next() * 4)]!;
    const [dense, lexical] = [randomRanking(next, most), randomRanking(next, most)];
    const all = Number.POSITIVE_INFINITY;
    expect(fuse(dense, lexical, all, weight)).toEqual(reference(dense, lexical, all, weight));
  }
});

interface Candidate {
  scores: { vector: number; words: number };
  prior: number;
}
const rows = (...scores: [vector: number, words: number, prior?: number][]): Candidate[] =>
  scores.map(([vector, words, prior = 1]) => ({ scores: { vector, words }, prior }));
const fused = (candidates: readonly Candidate[], denseWeight: number) => [
  ...notes.fuse(candidates, ({ prior }) => prior, denseWeight),
];

test("scores are weighted deviations from the mean", () => {
  const found = fused(rows([0.9, 10], [0.7, 20], [0.5, 30]), 0.3);
  const z = Math.sqrt(3 / 2);
  expect(found[0]).toBeCloseTo(0.3 * z - 0.7 * z, 12);
  expect(found[1]).toBeCloseTo(0, 12);
  expect(found[2]).toBeCloseTo(-0.3 * z + 0.7 * z, 12);
});

test("a window that a ranking lacks: the lowest score by vector, 0 by words where fewer than a hundred have any", () => {
  const found = fused(rows([0.9, 8], [0.7, NONE], [NONE, 4]), 0.5);
  // By vector of .9 and .7; by words of 8, 4 and a 0 for the one that lacks.
  const words = (score: number) => (score - 4) / Math.sqrt(32 / 3);
  expect(found[0]).toBeCloseTo(0.5 * 1 + 0.5 * words(8), 12);
  expect(found[1]).toBeCloseTo(0.5 * -1 + 0.5 * words(0), 12);
  expect(found[2]).toBeCloseTo(0.5 * -1 + 0.5 * words(4), 12);
});

test("a long ranking by words: its last score for a window that it lacks", () => {
  const many = Array.from({ length: 120 }, (_, i): [number, number] => [NONE, 200 - i]);
  const found = fused(rows(...many, [0.5, NONE]), 0.3);
  const scale = (score: number) => (score - 150.5) / Math.sqrt((100 * 100 - 1) / 12);
  expect(found[120]).toBeCloseTo(0.7 * scale(81), 12);
  expect(found[0]).toBeCloseTo(0.7 * scale(200), 12);
});

test("a prior lowers the score by words only, and no other window's", () => {
  const [plain, lowered] = [1, 0.8].map((prior) => fused(rows([0.7, 30, prior], [0.7, 27], [0.5, 3]), 0.3));
  expect(plain![0]).toBeGreaterThan(plain![1]!);
  expect(lowered![0]).toBeLessThan(lowered![1]!);
  expect(lowered!.slice(1)).toEqual(plain!.slice(1));
});

test("equal scores are equal, none is NaN, and the order of rows changes nothing", () => {
  expect(fused(rows([0.5, 3], [0.5, 3]), 0.3)).toEqual([0, 0]);
  expect(fused(rows([NONE, NONE]), 0.3)).toEqual([0]);
  expect(fused([], 0.3)).toEqual([]);
  const all = rows([0.913, 17.3], [0.377, NONE], [NONE, 3.1], [0.377, 9.7], [0.111, 9.7]);
  const reversed = fused([...all].reverse(), 0.3).reverse();
  expect(reversed).toEqual(fused(all, 0.3));
});

test("without a prior the scores are those of the search, to the bit", async () => {
  const next = random(11);
  const words = ["keel", "mast", "oak", "anchor", "sail"];
  const ids = Array.from({ length: 300 }, (_, i) => String(i));
  const texts = ids.map(() => Array.from({ length: 6 }, () => words[Math.floor(next() ** 2 * 5)]).join(" "));
  await notes.add({ ids, texts, metadata: undefined, vectors: unitVectors(ids.length, 4, next) });
  await notes.buildLexical(1.2, 0.6);
  for (const text of ["sail", "sail anchor", "keel", "no such word"]) {
    const vector = unitVectors(1, 4, next);
    const options = { topK: 5, scores: true, candidates: true };
    const found = (await notes.ask({ by: "both", vector, text, denseWeight: 0.3 }, options)).rows;
    expect(found.length).toBeGreaterThan(5);
    expect([...notes.fuse(found, () => 1, 0.3)]).toEqual(found.map(({ score }) => score));
  }
});

test("a weight outside of 0 to 1 is refused", () => {
  for (const weight of [-0.1, 1.1, NONE]) expect(() => fused([], weight)).toThrow("dense_weight");
});
