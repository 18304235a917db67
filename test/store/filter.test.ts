import { describe, expect, test } from "bun:test";
import { ValueError } from "../../src/errors.ts";
import { decodeKey, encodeKey, toFilter } from "../../src/store/filter.ts";

const same = (a: unknown, b: unknown) => Buffer.from(encodeKey(a)).equals(Buffer.from(encodeKey(b)));

describe("equality is typed", () => {
  const rows: [unknown, unknown, boolean][] = [
    [1, 1.0, true],
    [1, "1", false],
    [1, true, false],
    [0, -0, true],
    [0, false, false],
    ["", null, false],
    [null, undefined, true],
    ["null", null, false],
    ["a", "a", true],
    ["a", "A", false],
    ["\u00e9", "e\u0301", false],
    [true, "t", false],
  ];
  test.each(rows)("%p and %p: %p", (a, b, expected) => expect(same(a, b)).toBe(expected));
});

test("an array or object is the key that never matches", () => {
  expect(encodeKey([1]).byteLength).toBe(0);
  expect(encodeKey({ a: 1 }).byteLength).toBe(0);
});

test.each([null, true, false, "", "text", 1, -2.5, 1e300])("a key says its value again: %p", (value) => {
  expect(decodeKey(encodeKey(value))).toBe(value as never);
});

test("another column is refused with those that there are", () => {
  expect(toFilter({ column: "kind", value: 1 }, ["scope", "kind"])).toEqual({ column: 1, key: encodeKey(1) });
  expect(toFilter(undefined, ["scope"])).toBeUndefined();
  expect(() => toFilter({ column: "other", value: 1 }, ["scope", "kind"])).toThrow(
    new ValueError("column 'other' is not a filter column of this collection; it has 'scope', 'kind'"),
  );
});
