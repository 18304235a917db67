/** The fusion of two rankings with a prior, and that it is the runtime's without one. */
import { expect, test } from "bun:test";
import { type Candidate, fused } from "../../../src/repo/rank/fuse.ts";

const NONE = Number.NaN;
const rows = (...scores: [vector: number, words: number, prior?: number][]): Candidate[] =>
  scores.map(([vector, words, prior = 1], chunk) => ({ path: "a", chunk, scores: { vector, words }, prior }));

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
