import { expect, test } from "bun:test";
import { readAnswer, showsLine } from "./answer.ts";

const hit = (path: string, more: object = {}) => ({ id: `${path}#0`, metadata: { path, start_line: 1 }, ...more });
const answer = (...hits: object[]) => readAnswer(JSON.stringify({ query: "q", hits }));

test("paths are in the answer's order, and text of any shape counts for its file only", () => {
  const read = answer(hit("a.ts", { text: "function one() {" }), hit("b.ts", { lines: [{ at: 3, text: "two();" }] }));
  expect(read.paths).toEqual(["a.ts", "b.ts"]);
  expect(showsLine(read, "a.ts", "  function one() {", "one")).toBe(true);
  expect(showsLine(read, "b.ts", "two();", "two")).toBe(true);
  expect(showsLine(read, "b.ts", "function one() {", "one")).toBe(false);
  expect(showsLine(read, "c.ts", "function one() {", "one")).toBe(false);
});

test("several hits of a file count together", () => {
  const read = answer(hit("a.ts", { text: "first" }), hit("a.ts", { text: "second" }));
  expect(read.paths).toEqual(["a.ts", "a.ts"]);
  expect(showsLine(read, "a.ts", "first", "first")).toBe(true);
  expect(showsLine(read, "a.ts", "second", "second")).toBe(true);
});

test("of a long line the part around the name is enough", () => {
  const line = `${"x = 1; ".repeat(40)}function wanted(argument) { return argument * argument * argument; }`;
  const at = line.indexOf("wanted");
  expect(showsLine(answer(hit("a.ts", { text: line.slice(at - 20, at + 80) })), "a.ts", line, "wanted")).toBe(true);
  expect(showsLine(answer(hit("a.ts", { text: line.slice(0, 200) })), "a.ts", line, "wanted")).toBe(false);
});
