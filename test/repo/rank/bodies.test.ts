/** Bodies of definitions. */
import { expect, test } from "bun:test";
import { splitLines } from "../../../src/repo/chunks/chunk.ts";
import { longestBody, stubParts } from "../../../src/repo/rank/bodies.ts";

const C = `#define quiet(x)
static int
run(int a)
{
#ifdef A
  if (a)
    goto out;
#endif
out:
  return a;
}

/* Forwards. */
int run_all(int a) { return run(a); }
`;
const bodyOf = (text: string, language: string, names: string[], end = 1000, start = 1) =>
  longestBody(splitLines(text), [{ start, end, language }], names);

test("a body is the lines up to what begins beside or left of the definition", () => {
  expect(bodyOf(C, "c", ["run"])).toBe(8);
  expect(bodyOf(C, "c", ["run_all"])).toBe(0);
  expect(bodyOf(C, "c", ["quiet"])).toBe(0);
  expect(bodyOf(C, "c", ["quiet", "run"])).toBe(8);
  expect(
    bodyOf("class A:\n  def run(self):\n    a = 1\n\n    return a\n  def b(self): pass\n", "python", ["run"]),
  ).toBe(3);
  expect(bodyOf(`export function run() {\n${"  a();\n".repeat(500)}}\n`, "typescript", ["run"])).toBe(64);
});

test("there is none where no name is defined in the ranges, or the file is gone", () => {
  expect(bodyOf(C, "c", ["a"])).toBeUndefined();
  expect(bodyOf(C, "c", ["run"], 2)).toBeUndefined();
  expect(bodyOf(C, "text", ["run"])).toBeUndefined();
  expect(bodyOf(C, "c", ["run"], 2000, 1000)).toBeUndefined();
  expect(bodyOf("", "c", ["run"])).toBeUndefined();
  expect(longestBody(undefined, [{ start: 1, end: 9, language: "c" }], ["run"])).toBeUndefined();
});

test("a stub is much shorter than the longest body", () => {
  const parts = (isOfNames: boolean, ...bodies: number[]) =>
    [...stubParts(new Map(bodies.map((body, i) => [`${i}`, body])), isOfNames).values()].map(
      (part) => +part.toFixed(2),
    );
  expect(parts(true, 0)).toEqual([0]);
  expect(parts(true, 40, 0, 36)).toEqual([0, 1, 0.05]);
  expect(parts(true, 1, 0)).toEqual([0, 0.11]);
  expect(parts(false, 0)).toEqual([0.53]);
  expect(parts(false, 40, 12)).toEqual([0, 0.49]);
  expect(parts(false)).toEqual([]);
});
