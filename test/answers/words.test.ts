/** Where the words of a question stand in a text. */
import { describe, expect, test } from "bun:test";
import { fold, occurrences, stem, termsOf } from "../../src/answers/words.ts";

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
