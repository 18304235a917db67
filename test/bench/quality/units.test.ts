import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../../fixture.ts";
import { anyWord } from "../fts5.ts";
import { askFts5 } from "./fts5.ts";
import { askHashing, NGRAMS, WORDS } from "./hashing.ts";
import { qualityOptions } from "./options.ts";
import { loadSet, setsIn } from "./sets.ts";
import { filesOf, unitsOf, windowsOf } from "./units.ts";

test("a file scores as its best window, whatever its path contains", () => {
  expect(filesOf(["a#b.ts#3", "c.ts#0", "a#b.ts#0", "c.ts#12", "d#0"])).toEqual(["a#b.ts", "c.ts", "d"]);
});

test("long files are cut as the repository's indexer cuts them, their path before each window", () => {
  const text = Array.from({ length: 100 }, (_, i) => `line ${i + 1}\n`).join("");
  const windows = windowsOf({ id: "src/a.ts", title: "src/a.ts", text });
  expect(windows.map(({ id }) => id)).toEqual(["src/a.ts#0", "src/a.ts#1", "src/a.ts#2"]);
  expect(windows[1]!.text).toStartWith("src/a.ts\nline 41\n");
});

test("only sets of files are cut; other documents have their title before the text", () => {
  const documents = [{ id: "1", title: "a title", text: "a text" }];
  const set = { documents, queries: [], relevant: new Map() };
  expect(unitsOf({ ...set, name: "abstracts" }).rows[0]!.text).toBe("a title\na text");
  expect(unitsOf({ ...set, name: "commits-go" }).rows[0]!.id).toBe("1#0");
});

test("floors rank documents that share words first, within the query's group", () => {
  const documents = [
    { id: "1", text: "The quick brown fox", group: "x" },
    { id: "2", text: "a lazy dog", group: "x" },
    { id: "3", text: "a quick brown fox", group: "y" },
  ];
  const units = unitsOf({ name: "", documents, queries: [], relevant: new Map() });
  const query = [{ id: "q", text: 'the "FOX" AND (quick', group: "x" }];
  expect(askFts5(units, query)).toEqual([["1"]]);
  for (const features of [WORDS, NGRAMS]) expect(askHashing(units, query, features)[0]![0]).toBe("1");
});

test("an FTS5 query holds nothing but words", () => {
  expect(anyWord('don\'t "NEAR(" x* -y')).toBe('"don" OR "t" OR "NEAR" OR "x" OR "y"');
  expect(anyWord("?!")).toBe("");
});

function setBelow(dir: string, name: string, grade: number): string {
  const path = join(dir, name);
  mkdirSync(path);
  writeFileSync(join(path, "qrels.tsv"), `q\td\t${grade}\n`);
  writeFileSync(join(path, "corpus.jsonl"), '{"id":"d","text":"a text"}\n');
  writeFileSync(join(path, "queries.jsonl.gz"), Bun.gzipSync('{"id":"q","text":"a query"}\n'));
  return path;
}

test("sets are read packed or not, alone or several in a folder", () => {
  const dir = scratchDir();
  const [a, b] = [setBelow(dir, "a", 1), setBelow(dir, "b", 0)];
  expect(setsIn(dir)).toEqual([a, b]);
  expect(setsIn(a)).toEqual([a]);
  expect(loadSet(a)).toMatchObject({ name: "a", documents: [{ id: "d" }], queries: [{ id: "q" }] });
  expect(() => loadSet(b)).toThrow("b: query q has no relevant document");
  const read = (name: string, value: string) => qualityOptions({ given: new Map([[name, value]]), isJson: false });
  expect(read("--sets", `${a},${dir}`).sets).toEqual([a, a, b]);
  expect(() => read("--sets", join(dir, "none"))).toThrow("none is not a set and holds none");
  expect(() => read("--repository", dir)).toThrow("is not a git directory");
});
