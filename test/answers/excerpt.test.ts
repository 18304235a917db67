/** Which piece of a text is shown for a question. */
import { describe, expect, test } from "bun:test";
import { excerpt } from "../../src/answers/excerpt.ts";
import { fold, occurrences, stem, termsOf } from "../../src/answers/words.ts";
import { random } from "../random.ts";
import { brokenText, randomText } from "./texts.ts";

const ALL = Number.MAX_SAFE_INTEGER;
const shown = (text: string, query: string, bytes = 300, searched = ALL) => {
  const { start, end } = excerpt(text, termsOf(query), bytes, { start: 0, end: Math.min(text.length, searched) });
  return text.slice(start, end);
};
const filler = (lines: number) =>
  Array.from({ length: lines }, (_, i) => `line ${i} of an old log that says nothing new about the system`).join("\n");

describe("words", () => {
  const same: [string, string][] = [
    ["connect", "connections"],
    ["connection", "connected"],
    ["cache", "caching"],
    ["retry", "retried"],
    ["retries", "retrying"],
    ["policy", "policies"],
    ["run", "running"],
    ["deploy", "deployment"],
    ["configure", "configuration"],
    ["store", "stores"],
    ["подключение", "подключения"],
    ["Größe", "GRÖSSE".replace("SS", "ß")],
    ["cafe", "Cafés"],
  ];
  test.each(same)("%s is %s", (a, b) => expect(stem(fold(a))).toBe(stem(fold(b))));

  const other: [string, string][] = [
    ["class", "clash"],
    ["bus", "bust"],
    ["status", "stat"],
    ["v12", "v123"],
    ["404", "4040"],
  ];
  test.each(other)("%s is not %s", (a, b) => expect(stem(fold(a))).not.toBe(stem(fold(b))));

  test("a stem is a beginning of its word", () => {
    for (const word of "dies flies skies bees agreed eye tying dying sees ions er ly ation abled mended".split(" ")) {
      expect([word, word.startsWith(stem(word))]).toEqual([word, true]);
    }
  });

  test("folding keeps every position", () => {
    const text = "İstanbul ÀÉÎ ẞ ﬁ Ǆ 𝒳 İ Ấ \ufeffx ŉ";
    expect(fold(text).length).toBe(text.length);
    expect(fold("\ufeffCafÉ")).toBe("\ufeffcafe");
  });

  test("an occurrence is a whole word, but in scripts that part none", () => {
    const places = (text: string, query: string) => termsOf(query).map((term) => occurrences(fold(text), term));
    expect(places("a cat, concatenate, Cats! cat", "cat")).toEqual([[2, 20, 26]]);
    expect(places("我们的数据库连接超时", "数据库")).toEqual([[3], [4]]);
    expect(places("xyz", "")).toEqual([]);
  });
});

describe("the piece", () => {
  test("is the one with the question's words, wherever it is", () => {
    for (const [before, after] of [
      [0, 400],
      [200, 200],
      [400, 0],
    ] as const) {
      const text = `${filler(before)}\nThe writer's lock times out after thirty seconds.\n${filler(after)}`;
      expect(shown(text, "how long is the timeout of a writer lock")).toContain("lock times out after thirty seconds");
    }
  });

  test("counts a rare word more than common ones", () => {
    const text = `${filler(100)}\nwe use sodium for old systems\n${filler(100)}`;
    expect(shown(text, "an old log about the system sodium")).toContain("sodium");
  });

  test("prefers the line that has most of the words", () => {
    const text = `error in module a\n${filler(60)}\ntimeout here\n${filler(60)}\nan error: timeout of module b\n${filler(60)}`;
    expect(shown(text, "timeout error")).toContain("an error: timeout of module b");
  });

  test("of one line without any break is near its words too", () => {
    const text = `${"lorem ipsum dolor sit amet ".repeat(4000)}the quokka sleeps ${"consectetur elit sed ".repeat(4000)}`;
    expect(shown(text, "quokka")).toContain("the quokka sleeps");
    expect(shown("x".repeat(50_000) + " quokka " + "y".repeat(50_000), "quokka")).toContain("quokka");
    expect(shown(`${"话".repeat(9000)}数据库连接${"话".repeat(9000)}`, "数据库")).toContain("数据库连接");
    expect(shown(`${"话".repeat(9000)}\n${"话".repeat(220)}数据库连接`, "数据库")).toContain("数据库连接");
  });

  test("begins at the beginning where no word is found, or none in the part that is searched", () => {
    const text = filler(100);
    expect(text.startsWith(shown(text, "zebra"))).toBe(true);
    const late = `${filler(300)}\nquokka`;
    expect(late.startsWith(shown(late, "quokka", 300, 5000))).toBe(true);
  });

  test("begins and ends between lines where these are short, else between words", () => {
    const text = `${filler(100)}\nthe quokka sleeps\n${filler(100)}`;
    const lines = text.split("\n").map((line) => `${line}\n`);
    for (const line of shown(text, "quokka", 900).split(/(?<=\n)/)) expect(lines).toContain(line);
  });

  test("uses the room at the text's end", () => {
    const text = `${filler(100)}\nthe quokka sleeps`;
    expect(shown(text, "quokka", 1000).length).toBeGreaterThan(800);
  });
});

test.each(Array.from({ length: 30 }, (_, seed) => seed))("random text %d: in the text, within the bytes", (seed) => {
  const next = random(seed);
  for (let round = 0; round < 40; round++) {
    const text = next() < 0.3 ? brokenText(next, 60) : randomText(next, 60);
    const bytes = Math.floor(next() * 700);
    const { start, end } = excerpt(text, termsOf(randomText(next, 4)), bytes, {
      start: 0,
      end: next() < 0.5 ? text.length : Math.min(text.length, 500),
    });
    expect(start).toBeGreaterThanOrEqual(0);
    expect(end).toBeGreaterThanOrEqual(start);
    const piece = text.slice(start, end);
    expect(Buffer.byteLength(JSON.stringify(piece)) - 2).toBeLessThanOrEqual(bytes);
    if (text.isWellFormed()) expect(piece.isWellFormed()).toBe(true);
  }
});

test("what costs most ends soon: a text of 8 MB with every word of the question everywhere", () => {
  const query = Array.from({ length: 48 }, (_, i) => `word${i}x`).join(" ");
  const text = `${query} `.repeat(Math.ceil((8 << 20) / (query.length + 1)));
  expect(shown(text, query, 1000).length).toBeGreaterThan(500);
});
