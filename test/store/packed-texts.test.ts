/** Texts packed in memory that is used again are what `packStrings` makes of them. */
import { expect, test } from "bun:test";
import { packStrings, packTexts, releaseTexts } from "../../ffi/packing.ts";
import { random } from "../random.ts";

test("texts are packed as strings are, in memory that was used before or is too small", () => {
  const next = random(11);
  const letters = ["a", "é", "語", "🙂"];
  for (let round = 0; round < 200; round++) {
    const kinds = 1 + Math.floor(next() * letters.length);
    const texts = Array.from({ length: Math.floor(next() * 20) }, () =>
      Array.from({ length: Math.floor(next() * 200) }, () => letters[Math.floor(next() * kinds)]).join(""),
    );
    const packed = packTexts(texts);
    const other = packTexts(["another call's text"]);
    expect(packed).toEqual(packStrings(texts));
    expect(packed.bytes.length).toBe(Number(packed.ends.at(-1) ?? 0n));
    if (round % 3 > 0) releaseTexts(packed);
    if (round % 2 > 0) releaseTexts(other);
  }
});

test("memory is used again, and more than some megabytes are not kept", () => {
  const first = packTexts(["x".repeat(100_000)]);
  releaseTexts(first);
  const second = packTexts(["y".repeat(90_000)]);
  expect(second.bytes.buffer).toBe(first.bytes.buffer);
  releaseTexts(packTexts(["z".repeat(8_000_000)]));
  expect(packTexts(["x"]).bytes.buffer.byteLength).toBeLessThan(1000);
});
