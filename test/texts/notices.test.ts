import { expect, test } from "bun:test";
import { joined, wordsNotice } from "../../src/texts/notices.ts";

const answer = (replaced: [string, ...string[]][], known = 1, rows = 1) => ({
  words: 5,
  known,
  replaced: replaced.map(([word, ...partners]) => ({ word, partners })),
  rows: new Array<never>(rows),
});
const said = (...replaced: [string, ...string[]][]) => wordsNotice("notes", answer(replaced), true);

test("words that were searched as others are named, four of them", () => {
  expect(said()).toBeUndefined();
  expect(said(["postgress", "postgres"])).toBe("'postgress' was searched as 'postgres'");
  expect(said(["cart", "card", "care"])).toBe("'cart' was searched as 'card' or 'care'");
  expect(said(["cart", "card", "care", "carp"])).toBe("'cart' was searched as 'card', 'care' or 'carp'");
  const [a, b, c, d, e, f] = "abcdef".split("").map((x): [string, string] => [x, x.toUpperCase()]);
  expect(said(a!, b!)).toBe("'a' was searched as 'A', 'b' as 'B'");
  expect(said(a!, b!, c!, d!)).toBe("'a' was searched as 'A', 'b' as 'B', 'c' as 'C', 'd' as 'D'");
  expect(said(a!, b!, c!, d!, e!, f!)).toBe("'a' was searched as 'A', 'b' as 'B', 'c' as 'C', 'd' as 'D', and 2 more");
});

test("characters that direct how others are shown are left out", () => {
  expect(said(["po\u202est", "po\u200dst"])).toBe("'post' was searched as 'post'");
});

test("that no word is known is said, unless nothing was found to say it of", () => {
  const none = "none of the query's words is in 'notes'";
  expect(wordsNotice("notes", answer([], 0), true)).toBe(`${none}: the answer is by similarity alone`);
  expect(wordsNotice("notes", answer([], 0, 0), true)).toBeUndefined();
  expect(wordsNotice("notes", answer([], 0, 0), false)).toBe(none);
  expect(wordsNotice("notes", { ...answer([], 0), words: 0 }, false)).toBeUndefined();
});

test("several notices are one", () => {
  expect(joined(undefined, undefined)).toBeUndefined();
  expect(joined(undefined, "one")).toBe("one");
  expect(joined("one", undefined, "two")).toBe("one; two");
});
