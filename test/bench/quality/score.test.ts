import { expect, test } from "bun:test";
import { ndcg, recall, scoreOf } from "./score.ts";

const grades = new Map([
  ["a", 2],
  ["b", 1],
  ["c", 0],
]);

test("gains grow with the grade and shrink with the rank", () => {
  const ideal = 3 + 1 / Math.log2(3);
  expect(ndcg(["a", "b"], grades)).toBe(1);
  expect(ndcg(["b", "a", "c"], grades)).toBeCloseTo((1 + 3 / Math.log2(3)) / ideal, 12);
  expect(ndcg(["c", "x", "b"], grades)).toBeCloseTo(0.5 / ideal, 12);
  expect(ndcg([], grades)).toBe(0);
});

test("only ten answers count, and the ideal is of ten too", () => {
  const many = new Map(Array.from({ length: 20 }, (_, i) => [`d${i}`, 1]));
  const others = Array.from({ length: 10 }, (_, i) => `x${i}`);
  expect(ndcg([...many.keys()], many)).toBe(1);
  expect(ndcg([...others, "d0"], many)).toBe(0);
  expect(recall([...many.keys()], many)).toBe(0.5);
});

test("recall counts relevant documents, not those of grade 0", () => {
  expect(recall(["c", "b"], grades)).toBe(0.5);
  expect(recall(["x", "b", "a"], grades)).toBe(1);
});

test("a set's score is the mean over its queries", () => {
  const queries = [
    { id: "p", text: "" },
    { id: "q", text: "" },
  ];
  const set = { name: "", documents: [], queries, relevant: new Map(queries.map(({ id }) => [id, grades])) };
  expect(scoreOf(set, [["a", "b"], []])).toEqual({ ndcg: 0.5, recall: 0.5 });
});
