/** Terms in paths, and paths as questions. */
import { expect, test } from "bun:test";
import { PathIndexes } from "../../../src/repo/rank/paths.ts";
import { asPath } from "../../../src/repo/rank/question.ts";

/** A word is its own hash here. */
const hash = (word: string) => Number(Bun.hash.crc32(word));
const termsOf = (texts: readonly string[]) =>
  texts.map((text) => Uint32Array.from(text.toLowerCase().match(/[a-z]+/g) ?? [], hash));
const indexOf = (...paths: string[]) => new PathIndexes(1).of("r", paths, termsOf);
const weighed = (weights: Record<string, number>) =>
  Object.entries(weights).map(([word, weight]) => ({ hash: hash(word), weight }));

test("a test has the name of what it tests", () => {
  const tests = [
    "a/JsonReaderTest.java",
    "TestJsonReader.kt",
    "jsonreader_test.go",
    "jsonreader.spec.ts",
    "test_jsonreader.py",
  ];
  const fit = indexOf(...tests, "latestjsonreader.ts", "JsonReaderTester.java").fit(weighed({ jsonreader: 1 }));
  for (const path of tests) expect([path, fit.share(path)]).toEqual([path, 1]);
  for (const path of ["latestjsonreader.ts", "JsonReaderTester.java"]) expect(fit.share(path)).toBe(0);
});

test("a term in the base name counts all of its weight, in the folders half, in both once", () => {
  const fit = indexOf("src/retry.ts", "src/retry/index.ts", "retry/retry.go", "src/other.ts").fit(
    weighed({ retry: 3, backoff: 1 }),
  );
  expect(fit.share("src/retry.ts")).toBe(3 / 4);
  expect(fit.share("src/retry/index.ts")).toBe(3 / 8);
  expect(fit.share("retry/retry.go")).toBe(3 / 4);
  expect(fit.share("src/other.ts")).toBe(0);
  expect(fit.share("unknown")).toBe(0);
  expect(indexOf("a").fit([]).share("a")).toBe(0);
});

test("the share of a base name's terms that the question has", () => {
  const fit = indexOf("src/retry.ts", "src/retry-after-error.ts", "retry/other.ts").fit(weighed({ retry: 3, wait: 9 }));
  expect(fit.nameShare("src/retry.ts")).toBe(1 / 2);
  expect(fit.nameShare("src/retry-after-error.ts")).toBe(1 / 4);
  expect(fit.nameShare("retry/other.ts")).toBe(0);
  expect(fit.nameShare("unknown")).toBe(0);
});

test("a file declares what another implements: headers with a source of their name, and types alone", () => {
  const headers = ["include/a.h", "src/b.hpp", "src/only.h", "types.d.ts", "mod.pyi", "src/c.ts", "src/a.h.in"];
  const index = indexOf(...headers, "src/a.c", "lib/b.cc", "other.c");
  const declarations = ["include/a.h", "src/b.hpp", "types.d.ts", "mod.pyi"];
  expect(headers.filter((path) => index.isDeclaration(path))).toEqual(declarations);
});

test("the best paths: by share, then by path, above 0, allowed, no more than asked for", () => {
  const fit = indexOf("b/retry.ts", "retry/a.ts", "a/retry.ts", "c/retry.ts", "z.ts").fit(weighed({ retry: 1 }));
  expect(fit.best(10, () => true)).toEqual(["a/retry.ts", "b/retry.ts", "c/retry.ts", "retry/a.ts"]);
  expect(fit.best(2, () => true)).toEqual(["a/retry.ts", "b/retry.ts"]);
  expect(fit.best(2, (path) => path !== "a/retry.ts")).toEqual(["b/retry.ts", "c/retry.ts"]);
  expect(fit.best(0, () => true)).toEqual([]);
});

test("a path or its end names files: the shortest first, in its own case before any", () => {
  const index = indexOf(
    "src/node/config.ts",
    "src/config.ts",
    "src/Config.ts",
    "config.tsx",
    "reconfig.ts",
    "a b/c d.txt",
  );
  expect(index.namedBy("config.ts")).toEqual(["src/config.ts", "src/node/config.ts"]);
  expect(index.namedBy("node/config.ts")).toEqual(["src/node/config.ts"]);
  expect(index.namedBy("ode/config.ts")).toEqual([]);
  expect(index.namedBy("CONFIG.ts")).toEqual(["src/Config.ts", "src/config.ts", "src/node/config.ts"]);
  expect(index.namedBy("c d.txt")).toEqual(["a b/c d.txt"]);
  expect(indexOf("LICENSE", "a/Makefile").namedBy("LICENSE")).toEqual(["LICENSE"]);
  expect(indexOf("LICENSE", "a/Makefile").namedBy("license")).toEqual([]);
  expect(index.namedBy("")).toEqual([]);
  expect(index.namedBy("src")).toEqual([]);
});

test.each([
  ["./src/x.ts:12", "src/x.ts"],
  ["src/x.ts:12:7", "src/x.ts"],
  ["`src/x.ts`", "src/x.ts"],
  ["src\\x.ts", "src/x.ts"],
  ["../../src/x.ts", "src/x.ts"],
  ["/src/x.ts", "src/x.ts"],
  ["src/x.ts#L3-L9", "src/x.ts"],
  [" src/x.ts? ", "src/x.ts"],
  [".github/ci.yml", ".github/ci.yml"],
  ["(app)/[id]/page.tsx", "(app)/[id]/page.tsx"],
])("%p is the path %p", (text, path) => {
  expect(asPath(text)).toBe(path);
});

test("only new paths are tokenised, and only so many repositories are kept", () => {
  const indexes = new PathIndexes(2);
  const asked: string[] = [];
  const count = (texts: readonly string[]) => {
    asked.push(...texts.filter((text) => !text.endsWith("/")));
    return termsOf(texts);
  };
  const first = indexes.of("a", ["x/one.ts", "x/two.ts"], count);
  expect(indexes.of("a", ["x/one.ts", "x/two.ts"], count)).toBe(first);
  const second = indexes.of("a", ["x/two.ts", "x/three.ts"], count);
  expect(second.fit(weighed({ three: 1 })).best(9, () => true)).toEqual(["x/three.ts"]);
  expect(second.fit(weighed({ one: 1 })).best(9, () => true)).toEqual([]);
  expect(asked).toEqual(["one.ts", "two.ts", "three.ts"]);
  // The one that was asked longest ago is forgotten.
  indexes.of("b", ["x/b.ts"], count);
  indexes.of("a", ["x/two.ts", "x/three.ts"], count);
  indexes.of("c", ["x/c.ts"], count);
  asked.length = 0;
  indexes.of("a", ["x/two.ts", "x/three.ts"], count);
  expect(asked).toEqual([]);
  indexes.of("b", ["x/b.ts"], count);
  expect(asked).toEqual(["b.ts"]);
});

test("an index of nothing", () => {
  const index = indexOf();
  expect(index.fit(weighed({ a: 1 })).best(5, () => true)).toEqual([]);
  expect(index.namedBy("a")).toEqual([]);
});
