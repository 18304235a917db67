/** Which collections rights allow. */
import { expect, test } from "bun:test";
import { allowanceOf, isLimited, readPatterns, rightsLine } from "../../../src/remote/tokens/rights.ts";

const allows = (collections: string[] | undefined, name: string) =>
  allowanceOf({ collections, readOnly: false }).allows(name);

test("a name allows itself, a beginning with a star what begins so", () => {
  expect(allows(["a", "team-*"], "a")).toBe(true);
  expect(allows(["a", "team-*"], "ab")).toBe(false);
  expect(allows(["a", "team-*"], "A")).toBe(false);
  expect(allows(["a", "team-*"], "team-")).toBe(true);
  expect(allows(["a", "team-*"], "team-x")).toBe(true);
  expect(allows(["a", "team-*"], "team")).toBe(false);
  expect(allows([], "a")).toBe(false);
  expect(allows(["*"], "a")).toBe(true);
  expect(allows(undefined, "a")).toBe(true);
  expect(isLimited({ collections: ["*"], readOnly: true })).toBe(false);
  expect(isLimited({ collections: ["a*"], readOnly: false })).toBe(true);
  expect(isLimited({ readOnly: false })).toBe(false);
});

test("patterns are names with commas between them", () => {
  expect(readPatterns("a, b* ,a,*")).toEqual(["a", "b*", "*"]);
  for (const wrong of [
    "",
    ",",
    "a,",
    "a*b",
    "**",
    "*a",
    ".a",
    "a/b",
    "a\u0000",
    "a\u001b*",
    "x".repeat(200),
    "e\u0301",
  ])
    expect(() => readPatterns(wrong)).toThrow();
});

test("a token that may only read refuses changes", () => {
  expect(allowanceOf({ readOnly: false }).refuseChanges()).toBeUndefined();
  expect(allowanceOf({ readOnly: true }).refuseChanges).toThrow("this token may only read");
});

test("rights are a line", () => {
  expect(rightsLine({ readOnly: false })).toBe("reads and writes all collections");
  expect(rightsLine({ collections: ["a", "b*"], readOnly: true, rowsMax: 5, bytesMax: 70 })).toBe(
    "reads a, b*; at most 5 rows; at most 70 bytes",
  );
});
