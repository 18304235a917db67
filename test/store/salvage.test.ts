/** CRC-32C, and the bit that explains a wrong one. */
import { expect, test } from "bun:test";
import { crc32c } from "../format/seal.ts";
import { openBuiltNative } from "../native.ts";
import { random } from "../random.ts";

function bytesOf(length: number, seed: number): Uint8Array {
  const next = random(seed);
  return Uint8Array.from({ length }, () => Math.floor(next() * 256));
}

test("the checksums of RFC 3720, B.4", async () => {
  const { env } = await openBuiltNative();
  const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
  expect(env.restoreBit(new Uint8Array(32), 0x8a9136aa)).toBe(0);
  expect(env.restoreBit(new Uint8Array(32).fill(255), 0x62a8ab43)).toBe(0);
  expect(env.restoreBit(ascending, 0x46dd794e)).toBe(0);
});

test("any one changed bit is found and restored; other damage is left as it is", async () => {
  const { env } = await openBuiltNative();
  for (const length of [1, 7, 8, 60, 1000, 65536]) {
    const right = bytesOf(length, length);
    const crc = crc32c(right);
    expect(env.restoreBit(right, crc)).toBe(0);
    const bits = length > 100 ? [0, 7, 8, 4001, length * 8 - 1] : Array.from({ length: length * 8 }, (_, i) => i);
    for (const bit of bits) {
      const wrong = right.slice();
      wrong[bit >> 3]! ^= 1 << (bit & 7);
      expect(env.restoreBit(wrong, crc)).toBe(1);
      expect(Buffer.compare(wrong, right)).toBe(0);
    }
  }
  let mended = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const bytes = bytesOf(4096, seed);
    const crc = crc32c(bytes);
    bytes.fill(0, 100, 612);
    const damaged = bytes.slice();
    if (env.restoreBit(bytes, crc) < 2) mended++;
    else expect(bytes).toEqual(damaged);
  }
  expect(mended).toBe(0);
  expect(env.restoreBit(new Uint8Array(200_000), 1)).toBe(2);
});
