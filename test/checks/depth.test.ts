/** How deep JSON nests, from its bytes. */
import { expect, test } from "bun:test";
import { isTooDeep } from "../../src/checks/depth.ts";
import { random } from "../random.ts";

const CASES: [string, string, boolean][] = [
  ["arrays as deep as allowed", "[".repeat(128) + "]".repeat(128), false],
  ["arrays one deeper", "[".repeat(129) + "]".repeat(129), true],
  ["objects one deeper", `${'{"a":'.repeat(129)}1${"}".repeat(129)}`, true],
  ["ten thousand", "[".repeat(10_000), true],
  ["many side by side", `[${"[],".repeat(1000)}[]]`, false],
  ["brackets in a string", `["${"[".repeat(500)}"]`, false],
  ["brackets after an escaped quote", `["\\"${"[".repeat(500)}"]`, false],
  ["brackets after an escaped backslash", `["\\\\",${"[".repeat(128)}${"]".repeat(128)}]`, true],
  ["brackets after a string that ends in many backslashes", `["${"\\\\".repeat(50)}",${"[".repeat(128)}`, true],
  ["a string without an end", `"${"[".repeat(500)}`, false],
  ["letters of several bytes before", `["日本",${"[".repeat(128)}`, true],
];

test.each(CASES)("%s", (_, json, expected) => {
  expect(isTooDeep(Buffer.from(json))).toBe(expected);
});

/** The depth of a value, the slow way. */
function depthOf(value: unknown): number {
  if (value === null || typeof value !== "object") return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test("random JSON has the depth that a walk over it finds", () => {
  const seed = Date.now() >>> 0;
  const next = random(seed);
  const pick = <T>(all: readonly T[]) => all[Math.floor(next() * all.length)]!;
  const make = (left: number): unknown => {
    if (left === 0 || next() < 0.1) return pick([1, "]]]", '"', "\\", '\\"[', null, "[{", true]);
    const parts = Array.from({ length: 1 + Math.floor(next() * 2) }, () => make(left - 1));
    return next() < 0.5 ? parts : Object.fromEntries(parts.map((part, i) => [pick(["a", '"', "[", "\\"]) + i, part]));
  };
  for (let i = 0; i < 300; i++) {
    const value = make(Math.floor(next() * 9));
    const depth = depthOf(value);
    const json = Buffer.from(JSON.stringify(value));
    const seen = [depth - 1, depth, depth + 1].filter((max) => max >= 0).map((max) => isTooDeep(json, max));
    const expected = [true, false, false].slice(depth === 0 ? 1 : 0);
    // Shorter than it is deep cannot be.
    if (json.length > depth + 1 && JSON.stringify(seen) !== JSON.stringify(expected)) {
      throw new Error(`seed ${seed}: depth ${depth} of ${json}`);
    }
  }
});
