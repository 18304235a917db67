import { expect, test } from "bun:test";
import { rateAt } from "./figures.ts";
import { vectorOptions } from "./options.ts";
import { SETS } from "./sets.ts";
import { recall, scanned } from "./truth.ts";

// Four rows at growing angles from the query, which is the first of them.
const judged = {
  dim: 2,
  data: Float32Array.of(1, 0, 0.8, 0.6, 0.6, 0.8, 0.8, 0.6),
  queries: Float32Array.of(1, 0),
};

test("a plain scan ranks by inner product among the rows that match", () => {
  expect(scanned(judged, 0, 2, () => true)).toEqual([0, 1]);
  expect(scanned(judged, 0, 2, (row) => row > 1)).toEqual([3, 2]);
});

test("recall counts a row that scores as the last right one, once, and none that the filter excludes", () => {
  expect(recall(judged, [[0, 1]], [[0, 3]])).toBe(1);
  expect(recall(judged, [[0, 1]], [[0, 0]])).toBe(0.5);
  expect(recall(judged, [[0, 1]], [[0, 2]])).toBe(0.5);
  expect(recall(judged, [[0, 1]], [[0, 3]], (row) => row < 3)).toBe(0.5);
  expect(recall(judged, [[]], [[]])).toBe(1);
});

test("the rate at a recall is interpolated between two points, and undefined where no point reaches it", () => {
  const point = (setting: number, share: number, cpu: number) => ({ setting, recall: share, cpu, wall: cpu });
  const curve = [point(1, 0.9, 100), point(2, 1, 400)];
  expect(rateAt(curve, 0.95)).toBeCloseTo(5000);
  expect(rateAt(curve, 0.9)).toBeCloseTo(10_000);
  expect(rateAt(curve.slice(0, 1), 0.95)).toBeUndefined();
});

test("options of vectors have defaults, and are checked", () => {
  const read = (...options: [string, string][]) => vectorOptions(new Map(options));
  expect(read()).toMatchObject({ peers: [], data: SETS, isNamed: false, rows: undefined, json: undefined });
  expect(read(["--peers", "usearch,zvec"], ["--rows", "2000"])).toMatchObject({
    peers: ["usearch", "zvec"],
    rows: 2000,
  });
  expect(read(["--data", "a.npy"], ["--json", "a.json"])).toMatchObject({
    data: ["a.npy"],
    isNamed: true,
    json: "a.json",
  });
  expect(() => read(["--rows", "20"])).toThrow("--rows is a whole number from 1000");
  expect(() => read(["--peers", "unknown"])).toThrow("no peer is called unknown; there are usearch,");
});
