import { expect, test } from "bun:test";
import { QUERY_BYTES_MAX } from "../../src/limits.ts";
import { questionOf } from "../../src/texts/question.ts";

const MAX = QUERY_BYTES_MAX;
const cut = (text: string) => {
  const { text: left, notice } = questionOf(text);
  expect(notice).toContain(`longer than ${MAX} bytes`);
  expect(text.startsWith(left)).toBe(true);
  expect(left.isWellFormed()).toBe(true);
  return left;
};

test.each([
  ["nothing", ""],
  ["words", "green tea"],
  ["as many bytes as are searched for", "a".repeat(MAX)],
  ["the same in characters of three bytes", `${"茶".repeat(MAX / 3 - 1)}tea!`.slice(0, MAX)],
  ["half a surrogate pair", "tea \ud83c"],
])("%s: as it is", (_, text) => {
  expect(questionOf(text)).toEqual({ text, notice: undefined });
});

test("no character is split, however many bytes it has", () => {
  expect(cut("a".repeat(MAX + 1))).toHaveLength(MAX);
  for (const character of ["é", "茶", "\u{1f375}", "\u{20000}"]) {
    for (let before = 0; before < 4; before++) {
      const text = "a".repeat(before) + character.repeat(MAX);
      const bytes = Buffer.byteLength(cut(text));
      expect(bytes).toBeLessThanOrEqual(MAX);
      expect(bytes).toBeGreaterThan(MAX - Buffer.byteLength(character));
    }
  }
});

test("a word that begins near the end is left out whole", () => {
  const words = "tea ".repeat(MAX / 4 - 2);
  expect(cut(`${words}kettleful`)).toBe(words);
  expect(cut(`${words}kettles cup`)).toBe(`${words}kettles `);
  expect(cut(`${words}kettless cup`)).toBe(`${words}kettless`);
  expect(cut(`${words}käññe\u0301s`)).toBe(words);
  expect(cut(`${words}kettle\u{1f375}\u{1f375}`)).toBe(`${words}kettle`);
});
