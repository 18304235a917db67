/** A collection of texts is searched by words as well from its first row on, with nothing to set or to build. */
import { beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalStore } from "../../src/api/local-store.ts";
import { CallableEmbedder } from "../../src/texts/callable.ts";
import { BM25 } from "../../src/texts/ranking.ts";
import { freshStore, localStore } from "../api/fixture.ts";
import { notes, scratchDir } from "../fixture.ts";

const QUERIES = ["cat on a mat", "green tea", "sourdough bread", "invoices", "zzyzx", ""];
const texts = notes().map(({ text }) => text);
const ids = notes().map(({ id }) => id);

let dir: string;
let store: LocalStore;
beforeEach(async () => {
  ({ dir, store } = await freshStore());
});

const lexicalFiles = (name: string) => readdirSync(join(dir, name)).filter((file) => file.startsWith("lexical-"));

/** Answers to all queries, which must be fused. */
async function asked(from: LocalStore, name: string): Promise<unknown[]> {
  const collection = await from.openCollection(name);
  const answers = await Promise.all(QUERIES.map((query) => collection.searchText(query, { topK: 7, explain: true })));
  for (const { explain, notice } of answers) {
    expect(explain!.mode).toBe("fused");
    expect(notice ?? "").not.toContain("damaged");
  }
  return answers.map(({ ids, scores, explain }) => [ids, scores, explain!.dense_scores, explain!.lexical_scores]);
}

test("in memory, after a save, in another process and after a compaction, as with a built index", async () => {
  const built = await store.createCollection("built", { embedder: "multigram", lexical: true });
  await built.addTexts(texts, { ids });
  await built.buildLexical();
  const expected = await asked(store, "built");

  const plain = await store.createCollection("plain", { embedder: "multigram" });
  await plain.addTexts(texts, { ids });
  expect(await asked(store, "plain")).toEqual(expected);
  await plain.save();
  expect(await asked(store, "plain")).toEqual(expected);
  await using other = await localStore(dir);
  expect(await asked(other, "plain")).toEqual(expected);

  const half = Math.floor(texts.length / 2);
  await plain.delete(ids.slice(half));
  await plain.addTexts(texts.slice(half), { ids: ids.slice(half) });
  expect(await asked(store, "plain")).toEqual(expected);
  await plain.save();
  expect(await asked(other, "plain")).toEqual(expected);
  await plain.compact();
  expect(await asked(store, "plain")).toEqual(expected);
  expect(await asked(other, "plain")).toEqual(expected);
});

test("with an embedder that is a function", async () => {
  const vowels = (list: readonly string[]) =>
    list.map((text) => [..."aeiou"].map((vowel) => text.split(vowel).length - 1));
  const embedder = new CallableEmbedder(vowels, { modelId: "vowels", dimension: 5 });
  const c = await store.createCollection("c", { embedder });
  await c.addTexts(["banana", "kiwi", "plum"], { ids: ["a", "i", "u"] });
  expect((await c.searchText("papaya plum")).ids[0]).toBe("u");
  await c.save();
  expect((await c.searchText("papaya plum", { explain: true })).explain).toMatchObject({ mode: "fused" });
  expect(lexicalFiles("c").length).toBe(1);
});

test("by words alone once it is built, which a compaction, another process and a copy keep", async () => {
  const c = await store.createCollection("c", { embedder: "multigram", lexical: true });
  await c.addTexts(texts, { ids });
  for (const step of ["staged", "saved", "compacted"]) {
    if (step === "saved") await c.save();
    if (step === "compacted") await c.compact();
    await expect(c.searchLexical("cat")).rejects.toThrow(
      /was not built yet: build it with svc_build_lexical or 'svc mem build-lexical \w+'$/,
    );
    expect(await c.stats()).toMatchObject({ lexical_index: null, lexical_terms: 0 });
  }
  await c.buildLexical({ k1: 0.9, b: 0.4 });
  const expected = await c.searchLexical("green tea", { explain: true });
  const kept = async (from: LocalStore) => {
    const now = await from.openCollection("c");
    expect((await now.stats()).lexical_index).toMatchObject({ k1: 0.9, b: 0.4 });
    expect(await now.searchLexical("green tea", { explain: true })).toEqual(expected);
  };
  await c.delete([ids[0]!]);
  await c.addTexts([texts[0]!], { ids: [ids[0]!] });
  await c.compact();
  await kept(store);
  await using other = await localStore(dir);
  await kept(other);
  const target = scratchDir();
  await c.snapshot(target);
  await using copy = await localStore(target);
  await kept(copy);
  expect(await asked(copy, "c")).toEqual(await asked(store, "c"));
});

test("but not where rows are vectors without texts: there is no file, and no index", async () => {
  for (const metric of ["inner_product", "cosine", "l2"]) {
    const c = await store.createCollection(metric, { dim: 2, metric });
    await c.add([[1, 0]], { ids: ["a"] });
    await c.compact();
    expect(lexicalFiles(metric)).toEqual([]);
    expect((await c.search([1, 0])).ids).toEqual(["a"]);
  }
});

test("the runtime's parameters are those of a build without any", () => {
  const header = readFileSync(join(import.meta.dir, "../../ffi/ty_runtime/ty_runtime.h"), "utf8");
  const [k1, b] = ["K1", "B"].map((name) => Number(new RegExp(`#define TY_LEXICAL_${name} +(\\S+)`).exec(header)![1]));
  expect({ k1, b }).toEqual(BM25);
});
