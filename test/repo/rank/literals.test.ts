/** Literals of a question, and files that have them. */
import { expect, test } from "bun:test";
import { Literal, literalShares, literalsIn } from "../../../src/repo/rank/literals.ts";
import { random } from "../../random.ts";

test.each([
  ["where is `**` matched", ["**"]],
  ["how does ** match folders?", ["**"]],
  ["how is HEAD~3 parsed", ["HEAD~3"]],
  ["how are codes like :smile: replaced", [":smile:"]],
  ["where is --dry-run read, and --force?", ["--dry-run", "--force"]],
  ["the byte 0x7f", ["0x7f"]],
  ['who logs "not found"', ["not found"]],
  ["a cookie called '__Host-'", ["__Host-"]],
  ["the variable %{http_code} (see .netrc)", ["%{http_code}", ".netrc"]],
  ["paths with ../ in them", ["../"]],
  ["`a && b` calls `run()`", ["a && b"]],
  ["what does `retry` do in Foo::bar and a->next", []],
  ["don't touch the user's file 'x'", []],
  ["moves a -> b, c => d -- see #12, 100% by a@b.c at https://a.b/?c=d", []],
  ["a well-known e.g. read/write thing; [core] and (maybe)!", []],
  ["", []],
])("%p has %p", (question, literals) => {
  expect(literalsIn(question)).toEqual(literals);
});

test("no more than 8, none of more than 100 units, in time that is linear in the question", () => {
  expect(literalsIn(Array.from({ length: 50 }, (_, i) => `--flag-${i}`).join(" "))).toHaveLength(8);
  expect(literalsIn(`\`${"*".repeat(101)}\` ${"*".repeat(101)}`)).toEqual([]);
  for (const piece of ["`", '"', "'", "*", "(", ")", " '", ":a", "<a=", "a.", "[(", "--a"])
    expect(literalsIn(piece.repeat(65_536 / piece.length)).length).toBeLessThanOrEqual(8);
});

const isIn = (literal: string, text: string) => {
  const found = new Literal(literal).isIn(Buffer.from(text));
  expect(new Literal(literal).placesIn(text, 1)).toHaveLength(found ? 1 : 0);
  return found;
};

test("a text has a literal as it is, not as a part of a longer word", () => {
  expect(isIn("HEAD~3", "git show HEAD~3:x")).toBe(true);
  expect(isIn("HEAD~3", "git show HEAD~30 or AHEAD~3")).toBe(false);
  expect(isIn("HEAD~3", "HEAD~30 HEAD~3")).toBe(true);
  expect(isIn("**", "a/**/b")).toBe(true);
  expect(isIn("not found", "not founder")).toBe(false);
  expect(isIn("größe=", "die größe=3")).toBe(true);
  expect(isIn("x", "")).toBe(false);
});

test("a flag also as a quoted word, a hexadecimal number in either case", () => {
  expect(isIn("--dry-run", "--dry-run")).toBe(true);
  expect(isIn("--dry-run", "option('dry-run')")).toBe(true);
  expect(isIn("--dry-run", 'flags.Bool("dry-run", false)')).toBe(true);
  expect(isIn("--dry", "--dry-run dry")).toBe(false);
  expect(isIn("0x7f", "c & 0x7F")).toBe(true);
  expect(isIn("0x7f", "0x7fff")).toBe(false);
});

test("its places, each spelling by itself, so many of them", () => {
  expect(new Literal("0x7f").placesIn("0x7F 0x7f 0x7ff 0x7f", 9)).toEqual([5, 16, 0]);
  expect(new Literal("0x7f").placesIn("0x7F 0x7f 0x7ff 0x7f", 1)).toEqual([5]);
  expect(new Literal("**").placesIn("***", 9)).toEqual([0, 1]);
});

test("any bytes are read like text", () => {
  const next = random(3);
  const literal = new Literal("a~b");
  for (let i = 0; i < 2000; i++) {
    const bytes = Uint8Array.from(
      { length: Math.floor(next() * 12) },
      () => [97, 98, 126, 0, 195, 255][Math.floor(next() * 6)]!,
    );
    const text = Buffer.from(bytes).toString("latin1");
    expect(literal.isIn(bytes)).toBe(/(?<!\w)a~b(?!\w)/.test(text));
  }
});

test("a file's share: rare literals count more, those that no file has do not", () => {
  const texts: Record<string, string> = { a: "** --x", b: "**", c: "**", d: "" };
  const readEach = (paths: readonly string[], see: (path: string, bytes: Uint8Array) => void) => {
    for (const path of paths) if (texts[path] !== undefined) see(path, Buffer.from(texts[path]));
  };
  const shares = (...literals: string[]) => literalShares(literals, ["a", "b", "c", "d", "gone"], readEach);
  expect([...shares("--x")]).toEqual([["a", 1]]);
  expect([...shares("--x", "--none")]).toEqual([["a", 1]]);
  expect([...shares("--none")]).toEqual([]);
  const both = shares("--x", "**");
  expect(both.get("a")).toBeGreaterThan(both.get("b")!);
  expect(both.get("b")).toBe(both.get("c")!);
  expect(both.get("b")).toBeGreaterThan(0);
  expect(both.has("d")).toBe(false);
});
