import { expect, test } from "bun:test";
import { fuse } from "../../src/texts/fusion.ts";

/** Born in the order in which ids are first named in a test. */
const births = new Map<string, number>();
const birthOf = (id: string) => {
  if (!births.has(id)) births.set(id, births.size);
  return births.get(id)!;
};
const ranked = (...scores: [string, number][]) => scores.map(([id, score]) => ({ id, score, birth: birthOf(id) }));

test("a candidate that both rankings like wins over one that only one of them likes", () => {
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
