/** Windows as files. */
import { expect, test } from "bun:test";
import { folded } from "../../../src/repo/rank/fold.ts";

const NOTHING = { tier: 2, bonus: 0 };
const windows = (...all: [path: string, chunk: number, score: number][]) =>
  all.map(([path, chunk, score]) => ({ path, chunk, score }));
const order = (given: ReturnType<typeof windows>, ofFile = (_: string) => NOTHING, share = 0) =>
  folded(given, ofFile, share).map(({ path, windows }) => `${path} ${windows.map(({ chunk }) => chunk).join(",")}`);

test("a file is as good as its best window, and has its windows best first", () => {
  const given = windows(["a", 1, 0.5], ["b", 2, 0.9], ["a", 3, 1.5], ["b", 4, 0.8], ["c", 5, -1], ["a", 6, 1]);
  expect(order(given)).toEqual(["a 3,6,1", "b 2,4", "c 5"]);
  expect(order([...given].reverse())).toEqual(order(given));
  expect(order([])).toEqual([]);
});

test("equal scores are in the bytewise order of paths, within a file in that of its lines", () => {
  const given = windows(["z", 4, 1], ["a", 9, 1], ["\u{1f600}", 1, 1], ["a", 3, 1], ["M", 2, 1], ["\uf8ff", 0, 1]);
  expect(order(given)).toEqual(["M 2", "a 3,9", "z 4", "\uf8ff 0", "\u{1f600} 1"]);
  expect(order([...given].reverse())).toEqual(order(given));
});

test("a bonus is added to the best window, a tier comes before any score", () => {
  const given = windows(["a", 1, 3], ["b", 2, 1], ["c", 3, 2], ["d", 4, -5]);
  expect(order(given, (path) => (path === "b" ? { tier: 2, bonus: 1.5 } : NOTHING))).toEqual([
    "a 1",
    "b 2",
    "c 3",
    "d 4",
  ]);
  const tiers: Record<string, number> = { d: 0, c: 1 };
  expect(order(given, (path) => ({ tier: tiers[path] ?? 2, bonus: 0 }))).toEqual(["d 4", "c 3", "a 1", "b 2"]);
});

test("further windows of a file add shares: half, a quarter and an eighth of what is above -1", () => {
  const one = windows(["a", 1, 3], ["a", 2, 1], ["a", 3, 1], ["a", 4, 3], ["a", 5, 3]);
  // 3 + (3 + 1) / 2 + (3 + 1) / 4 + (1 + 1) / 8 = 6.25
  expect(order([...one, ...windows(["b", 1, 6.2])], undefined, 0.5)).toEqual(["a 1,4,5,2,3", "b 1"]);
  expect(order([...one, ...windows(["b", 1, 6.3])], undefined, 0.5)).toEqual(["b 1", "a 1,4,5,2,3"]);
  expect(order(windows(["a", 1, 1], ["a", 2, -5], ["b", 1, 1.1]), undefined, 0.5)).toEqual(["b 1", "a 1,2"]);
});
