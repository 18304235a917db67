import { expect, test } from "bun:test";
import { Words } from "../../ffi/words.ts";

test("fields of argument structs are 64 bits wide, whatever they held before", () => {
  const words = new Words(3);
  const bytes = () => [...new BigUint64Array(words.u32.buffer)];
  for (const value of [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER, 5]) {
    words.none(1).integer(1, value);
    expect(words.number(1)).toBe(value);
    expect(bytes()).toEqual([0n, BigInt(value), 0n]);
  }
  words.none(0).double(2, -0.5);
  expect(bytes()[0]).toBe(2n ** 64n - 1n);
  expect([words.number(1), words.float(2)]).toEqual([5, -0.5]);
});
