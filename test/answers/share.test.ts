/** Texts of hits share what room there is. */
import { expect, test } from "bun:test";
import { excerptOf, type Showable, shareRoom } from "../../src/answers/share.ts";
import { jsonBytes } from "../../src/answers/sizes.ts";
import { termsOf } from "../../src/answers/words.ts";
import { random } from "../random.ts";
import { randomText } from "./texts.ts";

/** A text of lines, which is shortened by leaving out the last ones. */
function lined(lines: readonly string[], parts = lines.length): Showable {
  return {
    whole: lines.join("\n"),
    parts,
    within(fits) {
      for (let count = lines.length - 1; count > 0; count--) {
        const text = lines.slice(0, count).join("\n");
        if (fits(text)) return { text };
      }
      return undefined;
    },
  };
}

interface Hit {
  id: string;
  text?: string;
  truncated?: true;
}
const hitsOf = (count: number): Hit[] => Array.from({ length: count }, (_, i) => ({ id: `${i}` }));

test("whole where there is room, and where there is no bound", () => {
  for (const room of [undefined, 10_000]) {
    const hits = hitsOf(3);
    shareRoom(hits, [lined(["a", "b"]), undefined, lined(["c"])], room);
    expect(hits).toEqual([{ id: "0", text: "a\nb" }, { id: "1" }, { id: "2", text: "c" }]);
  }
});

test("a text has its part of the room, and what another leaves", () => {
  const lines = (count: number) => Array.from({ length: count }, () => "x".repeat(48));
  const hits = hitsOf(3);
  shareRoom(hits, [lined(lines(40)), lined(lines(12)), lined(["short"], 12)], 1300);
  const counts = hits.map(({ text }) => text!.split("\n").length);
  expect(counts).toEqual([19, 6, 1]);
});

test("never more than the room, whatever the texts are", () => {
  const next = random(5);
  for (let i = 0; i < 300; i++) {
    const count = 1 + Math.floor(next() * 8);
    const texts = Array.from({ length: count }, (): Showable | undefined => {
      if (next() < 0.1) return undefined;
      const text = randomText(next, 1 + next() * 200);
      if (next() < 0.5) return lined(text.split("\n").slice(0, 50));
      return { whole: text, parts: 1, within: excerptOf(text, () => termsOf("quokka")) };
    });
    const hits = hitsOf(count);
    const before = jsonBytes(hits);
    const room = Math.floor(next() * 4000);
    shareRoom(hits, texts, room);
    expect(jsonBytes(hits) - before).toBeLessThanOrEqual(room);
    for (const [at, { text, truncated }] of hits.entries()) {
      if (text === undefined) continue;
      expect(texts[at]!.whole.includes(text)).toBe(true);
      if (truncated) expect(text.length).toBeLessThan(texts[at]!.whole.length);
    }
  }
});
