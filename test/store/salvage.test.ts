/** CRC-32C, the bit that explains a wrong one, and packed strings that are damaged. */
import { expect, test } from "bun:test";
import { crc32c, mendBit } from "../../src/store/crc32c.ts";
import { unpack } from "../../src/store/salvage/packed.ts";
import { random } from "../random.ts";

function bytesOf(length: number, seed: number): Uint8Array {
  const next = random(seed);
  return Uint8Array.from({ length }, () => Math.floor(next() * 256));
}

test("the checksums of RFC 3720, B.4", () => {
  const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43);
  expect(crc32c(ascending)).toBe(0x46dd794e);
});

test("any one changed bit is found and restored; other damage is left as it is", () => {
  for (const length of [1, 7, 8, 60, 1000, 65536]) {
    const right = bytesOf(length, length);
    const crc = crc32c(right);
    const bits = length > 100 ? [0, 7, 8, 4001, length * 8 - 1] : Array.from({ length: length * 8 }, (_, i) => i);
    for (const bit of bits) {
      const wrong = right.slice();
      wrong[bit >> 3]! ^= 1 << (bit & 7);
      expect(mendBit(wrong, crc)).toBe(bit >> 3);
      expect(Buffer.compare(wrong, right)).toBe(0);
    }
  }
  let mended = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const bytes = bytesOf(4096, seed);
    const crc = crc32c(bytes);
    bytes.fill(0, 100, 612);
    const damaged = bytes.slice();
    if (mendBit(bytes, crc) !== undefined) mended++;
    else expect(bytes).toEqual(damaged);
  }
  expect(mended).toBe(0);
  expect(mendBit(new Uint8Array(200_000), 1)).toBe(undefined);
});

test("a block of packed strings that is malformed gives what precedes the damage", () => {
  // "alpha"; then "alps": three of the row before, one here.
  const block = Uint8Array.from([5, 0, 5, ...Buffer.from("alpha"), 4, 3, 1, ...Buffer.from("s")]);
  const read = (bytes: Uint8Array, count = 2) => unpack(bytes, count).map((row) => Buffer.from(row).toString());
  expect(read(block)).toEqual(["alpha", "alps"]);
  expect(read(block, 5)).toEqual(["alpha", "alps"]);
  expect(read(block.subarray(0, 10))).toEqual(["alpha"]);
  const next = random(3);
  for (let i = 0; i < 5000; i++) {
    const bytes = block.slice();
    for (let n = 0; n < 3; n++) bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256);
    expect(read(bytes).length).toBeLessThanOrEqual(2);
  }
});
