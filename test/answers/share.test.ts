/** Texts of hits share what room there is. */
import { expect, test } from "bun:test";
import {
  CUT_FIELDS_BYTES,
  excerptOf,
  type Sharing,
  shareRoom,
  TEXT_FIELD_BYTES,
  textBytes,
} from "../../src/answers/share.ts";
import { jsonBytes } from "../../src/answers/sizes.ts";
import { random } from "../random.ts";
import { randomText } from "./texts.ts";

interface Hit {
  id: string;
  text?: string;
  truncated?: true;
}
const hitsOf = (count: number): Hit[] => Array.from({ length: count }, (_, i) => ({ id: `${i}` }));

/** A text of lines, which is shortened by leaving out the last ones. */
function lined(hit: Hit, lines: readonly string[], parts = lines.length): Sharing {
  const text = lines.join("\n");
  const shorten = (share: number) => {
    for (let count = lines.length - 1; count > 0; count--) {
      const less = lines.slice(0, count).join("\n");
      if (textBytes(less) > share) continue;
      hit.text = less;
      return textBytes(less);
    }
    return 0;
  };
  return { hit, text, bytes: textBytes(text), parts, shorten };
}

/** Where the question's word stands. */
function passageOf(text: string) {
  const at = Buffer.byteLength(text.slice(0, Math.max(0, text.indexOf("quokka"))));
  return { from: at, best: at, word: at, to: text.includes("quokka") ? at + 6 : 0 };
}

/** A text that is shortened to an excerpt. */
function excerpted(hit: Hit, text: string): Sharing {
  const shorten = (share: number) => {
    const bytes = share - TEXT_FIELD_BYTES - CUT_FIELDS_BYTES;
    if (bytes < 0) return 0;
    Object.assign(hit, excerptOf(text, passageOf(text), bytes));
    return share;
  };
  return { hit, text, bytes: textBytes(text), parts: 1, shorten };
}

test("whole where there is room, and where there is no bound", () => {
  for (const room of [Number.POSITIVE_INFINITY, 10_000]) {
    const hits = hitsOf(3);
    shareRoom([lined(hits[0]!, ["a", "b"]), lined(hits[2]!, ["c"])], room);
    expect(hits).toEqual([{ id: "0", text: "a\nb" }, { id: "1" }, { id: "2", text: "c" }]);
  }
});

test("a text has its part of the room, and what another leaves", () => {
  const lines = (count: number) => Array.from({ length: count }, () => "x".repeat(48));
  const hits = hitsOf(3);
  shareRoom([lined(hits[0]!, lines(40)), lined(hits[1]!, lines(12)), lined(hits[2]!, ["short"], 12)], 1300);
  const counts = hits.map(({ text }) => text!.split("\n").length);
  expect(counts).toEqual([19, 6, 1]);
});

test("never more than the room, whatever the texts are", () => {
  const next = random(5);
  for (let i = 0; i < 300; i++) {
    const hits = hitsOf(1 + Math.floor(next() * 8));
    const texts = hits.map((hit) => {
      const text = randomText(next, 1 + next() * 200);
      return next() < 0.5 ? lined(hit, text.split("\n").slice(0, 50)) : excerpted(hit, text);
    });
    const before = jsonBytes(hits);
    const room = Math.floor(next() * 4000);
    shareRoom(texts, room);
    expect(jsonBytes(hits) - before).toBeLessThanOrEqual(room);
    for (const [at, { text, truncated }] of hits.entries()) {
      if (text === undefined) continue;
      expect(texts[at]!.text.includes(text)).toBe(true);
      if (truncated) expect(text.length).toBeLessThan(texts[at]!.text.length);
    }
  }
});
