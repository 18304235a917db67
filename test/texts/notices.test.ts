import { expect, test } from "bun:test";
import type { Damage } from "../../ffi/records.ts";
import { Trouble } from "../../ffi/ty_reader.ts";
import { joinNotices, troubleNotice, wordsNotice } from "../../src/texts/notices.ts";

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

test("where only other rows have the words, four of them are named", () => {
  const rows = "the rows of 'notes' with scope 'x'";
  const notice = (words: string[], similar = false) =>
    wordsNotice("notes", answer([], 0, 0), similar, { rows, others: { rows: "rows with another scope", words } });
  const none = `none of the query's words is in ${rows}; rows with another scope have`;
  expect(notice(["a"])).toBe(`${none} 'a'`);
  expect(notice(["a"], true)).toBe(`${none} 'a'`);
  expect(notice(["a", "b"])).toBe(`${none} 'a' and 'b'`);
  expect(notice(["a", "b", "c", "d", "e", "f"])).toBe(`${none} 'a', 'b', 'c', 'd' and 2 more`);
  expect(notice([])).toBe(`${none} some of them`);
  expect(notice(["po\u202est"])).toBe(`${none} 'post'`);
});

test("several notices are one", () => {
  expect(joinNotices("; ", [undefined, undefined])).toBeUndefined();
  expect(joinNotices("; ", [undefined, "one"])).toBe("one");
  expect(joinNotices("; ", ["one", undefined, "two"])).toBe("one; two");
  expect(joinNotices(". ", ["One", "two"])).toBe("One. two");
});

test("what is damaged is said with its file, what it means and what mends it", () => {
  const place = { section: 1, offset: 64, bytes: 9, first: 0, rows: 0, what: "" };
  const damages: Damage[] = [
    { ...place, part: "words", file: "lexical-1.slab" },
    { ...place, part: "words", file: "lexical-1.slab", offset: 128 },
    { ...place, part: "ivf", file: "ivf-1.slab" },
  ];
  const notes = { name: "notes", damages: () => damages };
  expect(troubleNotice(notes, 0, "both")).toBeUndefined();
  const words = "the word index of 'notes' is damaged (lexical-1.slab)";
  const remedy = "'svc mem check notes --repair' mends it";
  expect(troubleNotice(notes, Trouble.WORDS, "both")).toBe(`${words}: the answer is by vectors alone; ${remedy}`);
  expect(troubleNotice(notes, Trouble.WORDS, "words")).toBe(
    `${words}: the answer is made from the texts, and takes longer; ${remedy}`,
  );
  expect(troubleNotice(notes, Trouble.WORDS | Trouble.IVF, "both")).toBe(
    `${words}: the answer is by vectors alone; ` +
      `the approximate index of 'notes' is damaged (ivf-1.slab): the answer is exact, and takes longer; ${remedy}`,
  );
  for (const trouble of Object.values(Trouble)) expect(troubleNotice(notes, trouble, "both")).toContain(": the ");
  expect(troubleNotice(notes, Trouble.ROWS, "vector")).toBe(
    `vectors of rows of 'notes' are damaged: the ranking by vectors leaves these rows out; ${remedy}`,
  );
});
