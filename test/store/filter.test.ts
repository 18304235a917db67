import { describe, expect, test } from "bun:test";
import { ArgumentTypeError, ValueError } from "../../src/errors.ts";
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

describe("a where is refused", () => {
  const refused: [Record<string, unknown>, RegExp][] = [
    [{ scope: 1, kind: 2 }, /2 keys \('scope', 'kind'\)/],
    [{ other: 1 }, /'other' is not a filter column.*'scope', 'kind'/],
    [{ scope: [1] }, /array or an object/],
    [{ scope: {} }, /array or an object/],
    [{ scope: Number.POSITIVE_INFINITY }, /Infinity/],
  ];
  test.each(refused)("%p", (where, message) => {
    expect(() => toFilter(where, ["scope", "kind"])).toThrow(ValueError);
    expect(() => toFilter(where, ["scope", "kind"])).toThrow(message);
  });
});

test.each([undefined, null, {}, Object.create(null)])("%p is no filter", (where) => {
  expect(toFilter(where, ["scope"])).toBeUndefined();
});

test.each([[[]], [""], ["scope"], [7], [true]])("%p is no where", (where) => {
  expect(() => toFilter(where as never, ["scope"])).toThrow(ArgumentTypeError);
});
