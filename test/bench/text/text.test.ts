import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore, scratchDir } from "../../fixture.ts";
import { filesBelow, isEnglish, machinePassages, passagesOf, shuffled } from "./machine-text.ts";
import { textOptions } from "./options.ts";
import { KINDS, queriesAbout } from "./queries.ts";
import { bytesBelow, lexicalBytes } from "./sizes.ts";
import { textsOf, writeTexts } from "./stored.ts";

const LINE = "The words of a line that is read by people\n";

test("passages end at line ends, and numbers are not text", () => {
  const passages = passagesOf(LINE.repeat(100));
  expect(passages.length).toBe(3);
  expect(passages.every((passage) => passage.endsWith("people\n") && passage.length >= 1285)).toBe(true);
  expect(passagesOf("0123 4567 89\n".repeat(300))).toEqual([]);
  expect(passagesOf(`${"x".repeat(2000)}\n`.repeat(3))).toEqual([]);
  expect(passagesOf(LINE.repeat(3))).toEqual([]);
});

test("files are taken in an order that depends on a seed; binary ones, links and repeated passages are not", () => {
  const dir = scratchDir();
  mkdirSync(join(dir, "b"));
  const text = (word: string) => `${word} ${LINE}`.repeat(30);
  writeFileSync(join(dir, "b/one.txt"), text("one"));
  writeFileSync(join(dir, "a.txt"), text("two"));
  writeFileSync(join(dir, "same.txt"), text("two"));
  writeFileSync(join(dir, "c.bin"), `${text("three")}\0`);
  writeFileSync(join(dir, "d.txt"), Buffer.concat([Buffer.from(text("four")), Buffer.of(0xff, 0xfe)]));
  symlinkSync(join(dir, "b"), join(dir, "link"));
  expect(filesBelow(dir).map((path) => path.slice(dir.length + 1))).toEqual([
    "a.txt",
    "b/one.txt",
    "c.bin",
    "d.txt",
    "same.txt",
  ]);
  const passages = [...machinePassages(10, [dir])];
  expect(passages).toEqual([...machinePassages(10, [dir])]);
  expect(passages.map((passage) => passage.slice(0, 3)).sort()).toEqual(["one", "two"]);
  expect([...machinePassages(1, [dir])]).toHaveLength(1);
  expect(shuffled([1, 2, 3, 4, 5], 1)).not.toEqual(shuffled([1, 2, 3, 4, 5], 2));
});

test("English prose is recognised by its commonest words", () => {
  expect(isEnglish("It is the end of the story and of all that was in it.")).toBe(true);
  expect(isEnglish("Das Ende der Geschichte und von allem, was darin war.")).toBe(false);
});

test("texts come back from their file in batches", () => {
  const path = join(scratchDir(), "texts");
  expect(writeTexts(path, ["a", "größer", ""])).toEqual({ count: 3, bytes: 9 });
  expect([...textsOf(path, 2)]).toEqual([["a", "größer"], [""]]);
});

test("queries are runs of words, the same every time", () => {
  const passage = Array.from({ length: 40 }, (_, i) => `w${i}`).join(" ");
  const queries = queriesAbout([passage, "short one"], 5);
  expect(queries).toEqual(queriesAbout([passage, "short one"], 5));
  expect(KINDS.map((kind) => queries[kind].length)).toEqual([5, 5, 5, 5]);
  for (const query of queries["20 words"]) expect(passage).toContain(query);
  for (const query of queries["6 by frequency"]) expect(query.split(" ")).toHaveLength(6);
  expect(() => queriesAbout(["short one"], 1)).toThrow("fewer than 6 words");
});

test("the index is found in a collection's files", async () => {
  const dir = scratchDir();
  const store = await openStore(dir);
  const plain = store.create("plain", { dim: 2 });
  const collection = store.create("c", { dim: 2, lexical: true });
  const row = { vectors: Float32Array.of(1, 0), texts: ["two words"], metadata: [undefined] };
  await collection.add({ ids: ["a"], ...row });
  await collection.add({ ids: ["b"], ...row, dropText: true });
  await plain.add({ ids: ["a"], ...row });
  expect(lexicalBytes(join(dir, "plain"))).toBe(0);
  await collection.compact();
  const index = lexicalBytes(join(dir, "c"));
  expect(index).toBeGreaterThan(64);
  expect(bytesBelow(dir)).toBeGreaterThan(index);
  await store.close();
});

test("options of text have defaults, and are checked", () => {
  const read = (...options: [string, string][]) => textOptions({ given: new Map(options), isJson: false });
  expect(read()).toEqual({ peers: ["fts5", "lancedb"], passages: 100_000, isJson: false });
  expect(read(["--peers", "fts5"], ["--passages", "2000"])).toMatchObject({ peers: ["fts5"], passages: 2000 });
  expect(() => read(["--peers", "zvec"])).toThrow("no peer is called zvec; there are fts5, lancedb");
  expect(() => read(["--passages", "many"])).toThrow("--passages is a whole number from 1000");
});
