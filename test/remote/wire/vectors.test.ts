/** Vectors as they travel, in both forms, and everything that is not one. */
import { expect, test } from "bun:test";
import { readMatrix, readVector } from "../../../src/remote/wire/vectors.ts";
import { random } from "../../random.ts";

const base64 = (...numbers: number[]) => Buffer.from(new Float32Array(numbers).buffer).toString("base64");
const packed = (...numbers: number[]) => ({ f32: base64(...numbers) });

test("both forms give the same numbers", () => {
  const numbers = [0, -0, 1.5, -2.25, 3.4028234663852886e38, 1e-45, 0.1];
  const floats = new Float32Array(numbers);
  expect(readVector(numbers, "v")).toEqual(floats);
  expect(readVector(packed(...numbers), "v")).toEqual(floats);
});

test("base64 of any length that is whole floats comes back bit by bit", () => {
  const next = random(5);
  for (let length = 0; length < 70; length++) {
    const numbers = Array.from({ length }, () => Math.fround(next() * 4 - 2));
    expect([...readVector(packed(...numbers), "v")]).toEqual(numbers);
    const matrix = { ...packed(...numbers), shape: [1, numbers.length] };
    for (const one of [[numbers], matrix, [matrix]]) expect([...readVector(one, "v")]).toEqual(numbers);
  }
});

const MATRICES: [string, unknown, number[]][] = [
  ["no row as a list", [], []],
  [
    "rows as lists",
    [
      [1, 2],
      [3, 4],
    ],
    [1, 2, 3, 4],
  ],
  ["rows in base64", [packed(1, 2), packed(3, 4)], [1, 2, 3, 4]],
  ["rows of both forms", [packed(1, 2), [3, 4]], [1, 2, 3, 4]],
  ["one matrix with its shape", { f32: base64(1, 2, 3, 4), shape: [2, 2] }, [1, 2, 3, 4]],
  ["one matrix without", { f32: base64(1, 2, 3, 4) }, [1, 2, 3, 4]],
  ["one matrix, its shape null", { f32: base64(1, 2, 3, 4), shape: null }, [1, 2, 3, 4]],
  ["no row in base64", { f32: "" }, []],
  ["no row with a shape", { f32: "", shape: [0, 2] }, []],
  ["no row with a shape that knows no dimension", { f32: "", shape: [0, 0] }, []],
];

test.each(MATRICES)("%s", (_, value, numbers) => {
  expect([...readMatrix(value, 2, "vectors").floats]).toEqual(numbers);
});

const WRONG_MATRICES: [string, unknown, string, RegExp][] = [
  ["a row that is too short", [[1, 2], [3]], "ValueError", /vectors\[1\] has 1 numbers.*2/],
  ["a row that is too long", [[1, 2, 3]], "ValueError", /vectors\[0\] has 3/],
  ["an empty row", [[]], "ValueError", /vectors\[0\] has 0/],
  ["a row in base64 that is too long", [packed(1, 2, 3)], "ValueError", /vectors\[0\] has 3/],
  ["a number for a row", [1, 2], "TypeError", /vectors\[0\].*array of numbers, got 1/],
  ["null for a row", [null], "TypeError", /vectors\[0\].*null/],
  ["a text for a row", ["AAAAAAAAAAA="], "TypeError", /vectors\[0\].*the string/],
  ["a text in a row", [[1, "2"]], "TypeError", /vectors\[0\]\[1\].*the string '2'/],
  ["null in a row", [[null, 1]], "TypeError", /vectors\[0\]\[0\].*null/],
  ["a list in a row", [[[1], 2]], "TypeError", /vectors\[0\]\[0\].*an array/],
  ["true in a row", [[true, 2]], "TypeError", /vectors\[0\]\[0\].*true/],
  ["null for all", null, "TypeError", /null/],
  ["nothing", undefined, "TypeError", /vectors/],
  ["a number for all", 3, "TypeError", /array of vectors, got 3/],
  ["a text for all", "AAAA", "TypeError", /the string 'AAAA'/],
  ["an object without f32", {}, "TypeError", /vectors\.f32.*nothing/],
  ["f32 of numbers", { f32: [1, 2] }, "TypeError", /vectors\.f32.*an array/],
  [
    "a shape of another dimension",
    { f32: base64(1, 2, 3, 4), shape: [1, 4] },
    "ValueError",
    /vectors\[0\] has 4 numbers; the dimension is 2/,
  ],
  ["a shape of more rows", { f32: base64(1, 2), shape: [2, 2] }, "ValueError", /2 numbers.*2 x 2/],
  ["a shape of fewer rows", { f32: base64(1, 2, 3, 4), shape: [1, 2] }, "ValueError", /4 numbers.*1 x 2/],
  ["a shape of no rows beside numbers", { f32: base64(1, 2), shape: [0, 2] }, "ValueError", /0 x 2/],
  ["a shape of huge rows", { f32: base64(1, 2), shape: [2 ** 40, 2] }, "ValueError", /shape/],
  ["a shape that is negative", { f32: base64(1, 2), shape: [-1, -2] }, "TypeError", /shape/],
  ["a shape of halves", { f32: base64(1, 2), shape: [0.5, 4] }, "TypeError", /shape/],
  ["a shape of three", { f32: base64(1, 2), shape: [1, 1, 2] }, "TypeError", /shape/],
  ["a shape of texts", { f32: base64(1, 2), shape: ["1", "2"] }, "TypeError", /shape/],
  ["a shape that is not a list", { f32: base64(1, 2), shape: { 0: 1, 1: 2 } }, "TypeError", /shape/],
  ["half a row without a shape", { f32: base64(1, 2, 3) }, "ValueError", /3 numbers.*multiple.*2/],
];

test.each(WRONG_MATRICES)("%s is refused", (_, value, type, message) => {
  const caught = caughtFrom(() => readMatrix(value, 2, "vectors"));
  expect(caught).toMatchObject({ type });
  expect(caught.message).toMatch(message);
});

/** All but the first entries are eight bytes, two floats, in a form that RFC 4648 section 4 does not allow. */
const NOT_BASE64: [string, string][] = [
  ["no padding", "AAAAAAAAAAA"],
  ["padding that stands twice", "AAAAAAAAAAA=="],
  ["padding alone", "===="],
  ["too much padding", "AAAAAAAA===="],
  ["padding in the middle", "AAA=AAAAAAA="],
  ["a line break", "AAAAAAAA\nAAA="],
  ["a line break in a multiple of four", "AAAA\r\n\r\nAAAAAAA="],
  ["blanks", "AAAA    AAAAAAA="],
  ["the URL's minus", "AAAAAAAA-AA="],
  ["the URL's underscore", "AAAAAAAA_AA="],
  ["a strange character", "AAAA*AAAAAA="],
  ["a letter that is not ASCII", "AAAAéAAAAAA="],
  ["a NUL", "AAAA\0AAAAAA="],
];

test.each(NOT_BASE64)("base64 with %s is refused", (_, f32) => {
  expect(caughtFrom(() => readVector({ f32 }, "vector"))).toMatchObject({ type: "ValueError" });
});

test.each([1, 2, 3, 5, 6, 7])("base64 of %i bytes is not a vector", (bytes) => {
  const f32 = Buffer.alloc(bytes).toString("base64");
  const caught = caughtFrom(() => readVector({ f32 }, "vector"));
  expect(caught).toMatchObject({ type: "ValueError" });
  expect(caught.message).toContain(`${bytes} bytes`);
});

test("many short rows for a large dimension are refused before the matrix is made", () => {
  // A frame of 60 KB would otherwise allocate 8 GB.
  const rows = Array.from({ length: 30_000 }, () => [] as number[]);
  const before = process.memoryUsage().arrayBuffers;
  const caught = caughtFrom(() => readMatrix(rows, 65_536, "vectors"));
  expect(caught).toMatchObject({ type: "ValueError" });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 2 ** 20);
});

function caughtFrom(call: () => unknown): Error & { type?: string } {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error("it was accepted");
}
