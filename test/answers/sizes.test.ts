/** Lengths of text as JSON, against JSON.stringify. */
import { expect, test } from "bun:test";
import { cut, jsonBytes, measure, measureBack, positionOf } from "../../src/answers/sizes.ts";
import { random } from "../random.ts";
import { brokenText, randomText } from "./texts.ts";

const inside = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2;
const splitsPair = (text: string, at: number) =>
  /[\ud800-\udbff]/.test(text[at - 1] ?? "") && /[\udc00-\udfff]/.test(text[at] ?? "");

test("every character takes what JSON.stringify writes for it, halves of pairs too", () => {
  for (let unit = 0; unit < 0x10000; unit++) {
    const text = String.fromCharCode(unit);
    expect(measure(text, 0, 100)).toEqual({ end: 1, bytes: inside(text) });
  }
  for (const text of ["😀", "\ud83d\ud83d\ude00", "\ude00\ud83d", "\ud83dx"]) {
    expect(measure(text, 0, 100)).toEqual({ end: text.length, bytes: inside(text) });
  }
});

test.each(Array.from({ length: 40 }, (_, seed) => seed))("the longest piece that fits, random text %d", (seed) => {
  const next = random(seed);
  for (let round = 0; round < 50; round++) {
    const text = next() < 0.3 ? brokenText(next, 12) : randomText(next, 12);
    const bytes = Math.floor(next() * (inside(text) + 10));
    let start = Math.floor(next() * (text.length + 1));
    if (splitsPair(text, start)) start--;

    const { end, bytes: taken } = measure(text, start, bytes);
    const piece = text.slice(start, end);
    expect(inside(piece)).toBe(taken);
    expect(taken).toBeLessThanOrEqual(bytes);
    expect(splitsPair(text, end)).toBe(false);
    const one = end + (splitsPair(text, end + 1) ? 2 : 1);
    if (end < text.length) expect(inside(text.slice(start, one))).toBeGreaterThan(bytes);

    const back = measureBack(text, start, bytes);
    expect(inside(text.slice(back, start))).toBeLessThanOrEqual(bytes);
    expect(splitsPair(text, back)).toBe(false);
    const before = back - (splitsPair(text, back - 1) ? 2 : 1);
    if (back > 0) expect(inside(text.slice(before, start))).toBeGreaterThan(bytes);

    expect(cut(text, bytes)).toBe(text.slice(0, measure(text, 0, bytes).end));
  }
});

test("a byte offset is the start of its character, and the end beyond the text", () => {
  const text = "aé漢😀z";
  const starts = [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11];
  for (const [offset, start] of starts.entries()) {
    const { at, bytes } = positionOf(text, offset);
    expect([offset, bytes]).toEqual([offset, start]);
    expect(Buffer.byteLength(text.slice(0, at))).toBe(start);
  }
  expect(positionOf(text, Number.MAX_SAFE_INTEGER)).toEqual({ at: text.length, bytes: 11 });
  expect(positionOf("", 5)).toEqual({ at: 0, bytes: 0 });
});

test("values", () => {
  expect([jsonBytes({ a: "é", b: undefined }), jsonBytes(undefined), jsonBytes("\n")]).toEqual([10, 0, 4]);
});
