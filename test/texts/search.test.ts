/** A question in words: one call, with the answers of the two rankings, fused. */
import { beforeEach, describe, expect, test } from "bun:test";
import { ValueError } from "../../src/errors.ts";
import { TEXT_EMBED_BYTES_MAX } from "../../src/limits.ts";
import type { Collection } from "../../src/store/collection.ts";
import { Store } from "../../src/store/store.ts";
import type { Embedder } from "../../src/texts/embedder.ts";
import { BigramEmbedder, MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { searchTexts } from "../../src/texts/search.ts";
import { native, openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { composed, fuse } from "./reference.ts";

const WORDS =
  "tea water green black cup leaf steep warm cold milk sugar honey lemon ginger mint spoon pot kettle".split(" ");
const PATHS = ["src", "src/a.ts", "src/net/b.ts", "src/net", "srcs/c.ts", "README.md", "s", ""];

let store: Store;
let embedder: Embedder;

beforeEach(async () => {
  store = await openStore();
  embedder = new BigramEmbedder((await native()).kernel);
});

const asOf = (collection: Collection, rows: number, next: () => number) => {
  const pick = (list: string[]) => list[Math.floor(next() ** 2 * list.length)]!;
  const text = () => Array.from({ length: 1 + Math.floor(next() * 6) }, () => pick(WORDS)).join(" ");
  const some = (ids: string[]) => ({
    ids,
    texts: ids.map(text),
    metadata: ids.map(() => ({ scope: pick(["x", "y", "z"]), path: pick(PATHS) })),
  });
  const put = (mode: "add" | "upsert", ids: string[]) => putTexts(collection, embedder, mode, some(ids), {});
  return { text, pick, put, ids: Array.from({ length: rows }, (_, i) => `row ${i}`) };
};

/** Rows that came, were replaced and deleted, before and after the index was built. */
async function lived(collection: Collection, rows: number, next: () => number) {
  const life = asOf(collection, rows, next);
  const { ids, put } = life;
  const any = (share: number) => ids.filter(() => next() < share);
  await put("add", ids.slice(0, rows / 2));
  await collection.delete(any(0.1));
  await collection.buildLexical(1.2, 0.6);
  await put("upsert", ids.slice(rows / 2));
  await put("upsert", any(0.2));
  await collection.delete(any(0.2));
  return life;
}

const create = (name: string) => {
  const { profile } = embedder;
  return store.create(name, {
    dim: profile.dimension,
    filterColumns: ["path"],
    embedderProfile: profile,
    lexical: true,
  });
};

describe("fused", () => {
  test.each([
    [1, 30],
    [2, 250],
    [3, 600],
  ])("as the two rankings fused and the rows looked up (seed %d, %d rows)", async (seed, rows) => {
    const next = random(seed);
    const collection = create("c");
    const { text, pick } = await lived(collection, rows, next);
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 25; i++) {
        const [query, topK] = [i === 0 ? "zzyzx" : text(), [1, 5, 40, 1000][i % 4]!];
        const wheres = [
          undefined,
          { column: "scope", value: pick(["x", "y", "z", "none"]) },
          { column: "path", value: pick(PATHS) },
        ];
        const where = wheres[i % 3];
        const detail = { metadata: true, text: true, scores: true };
        const answer = await searchTexts(collection, embedder, query, { topK, where, ...detail });
        const expected = await composed(collection, embedder, query, { topK, where });
        expect(answer.fused).toBe(true);
        expect(answer.rows.map(({ scores, ...row }) => row)).toEqual(
          expected.map(({ row: { scores, ...row } }) => row),
        );
        const scores = expected.map(({ vector, words }) => ({
          vector: vector ?? Number.NaN,
          words: words ?? Number.NaN,
          meaning: Number.NaN,
        }));
        expect(answer.rows.map((row) => row.scores!)).toEqual(scores);
      }
      await collection.compact();
    }
  });

  test("with the shares of terms of each row, which sum to its score by words", async () => {
    const collection = create("c");
    await lived(collection, 200, random(7));
    const { rows } = await collection.ask(
      { by: "both", text: "green tea lemon", model: embedder.kernelModel, denseWeight: 0.3 },
      { topK: 150, explain: true, scores: true },
    );
    for (const { scores, terms } of rows) {
      const sum = (terms ?? []).reduce((all, { share }) => all + share, 0);
      if (!Number.isNaN(scores!.words)) expect(sum).toBe(scores!.words);
    }
    expect(rows.some(({ terms }) => terms?.length === 2)).toBe(true);
  });

  test("where both rankings are so large that they are made side by side", async () => {
    const [rows, dim] = [17_000, 1024];
    const collection = store.create("large", { dim, lexical: true });
    const ids = Array.from({ length: rows }, (_, i) => `${i}`);
    const words = Array.from({ length: 33 }, (_, i) => `w${String.fromCharCode(97 + (i % 26))}${i}x`);
    const texts = ids.map((_, i) => words.slice(i % 2).join(" "));
    const some = unitVectors(100, dim, random(3));
    const vectors = new Float32Array(rows * dim).map((_, i) => some[i % some.length]! + (i % dim === 0 ? i / 1e9 : 0));
    await collection.add({ ids, vectors, texts });
    await collection.buildLexical(1.2, 0.6);
    const [vector, text] = [some.subarray(0, dim), words.join(" ")];
    const answer = await collection.ask({ by: "both", vector, text, denseWeight: 0.3 }, { topK: 10 });
    const dense = (await collection.search(vector, { topK: 100 })).rows;
    const lexical = await collection.searchLexical(text, { topK: 100 });
    const told = (row: { id: string; score: number }) => [row.id, row.score];
    expect(answer.rows.map(told)).toEqual(fuse(dense, lexical, 10).map(told));
  }, 60_000);
});

test("a second condition keeps a path and what lies below it, in every ranking", async () => {
  const next = random(11);
  const collection = create("c");
  const { text } = await lived(collection, 400, next);
  const below = (path: unknown, of: string) => path === of || String(path).startsWith(`${of}/`);
  for (const path of [...PATHS.slice(0, -1), "src/n", "nowhere"]) {
    for (const where of [undefined, { column: "scope", value: "x" }, { column: "path", value: "src/a.ts" }]) {
      const query = text();
      const vector = await embedder.embedQueries([query]);
      const under = { column: "path", value: path };
      const among = { topK: 1000, where, metadata: true };
      const inside = (rows: { metadata: { path?: unknown } | undefined }[]) =>
        rows.filter(({ metadata }) => below(metadata?.path, path));
      const dense = inside((await collection.search(vector, { ...among, weighted: true })).rows);
      const lexical = inside(await collection.searchLexical(query, among));
      const asked = { topK: 7, where, under, metadata: true, weighted: true };
      expect((await collection.search(vector, asked)).rows).toEqual(dense.slice(0, 7) as never);
      expect(await collection.searchLexical(query, asked)).toEqual(lexical.slice(0, 7) as never);
      const fused = fuse(dense.slice(0, 100) as never, lexical.slice(0, 100) as never, 7);
      const { rows } = await searchTexts(collection, embedder, query, { topK: 7, where, under });
      expect(rows.map(({ id, score, birth }) => ({ id, score, birth }))).toEqual(fused);
    }
  }
  const elsewhere = { column: "nothing", value: "src" };
  await expect(searchTexts(collection, embedder, "tea", { topK: 1, under: elsewhere })).rejects.toThrow(/'nothing'/);
});

describe("the kernel embeds in the call", () => {
  // The cut falls into the four bytes of the cup.
  const long = `${"é".repeat(TEXT_EMBED_BYTES_MAX / 2 - 1)}a\u{1f375} tea`;
  test.each([
    ["words", "green tea"],
    ["nothing", ""],
    ["half a surrogate pair", "tea \ud83c"],
    ["more than is embedded", long],
  ])("as outside of it: %s", async (_, query) => {
    const ours = new MultigramEmbedder((await native()).kernel);
    const { profile } = ours;
    const collection = store.create("c", { dim: profile.dimension, embedderProfile: profile });
    const texts = ["green tea at 70 degrees", "éé a cup", "\u{1f375}", "tea \ufffd"];
    await putTexts(collection, ours, "add", { ids: texts.map((_, i) => `${i}`), texts }, {});
    const question = { by: "both", model: ours.kernelModel, text: query } as const;
    const vector = await ours.embedQueries([query]);
    const outside = await collection.search(vector, { topK: 4, weighted: true });
    expect(await collection.ask({ ...question, by: "vector" }, { topK: 4, weighted: true })).toEqual(outside);
    const fused = await collection.ask(question, { topK: 4, weighted: true });
    expect(fused).toEqual(await collection.ask({ by: "both", text: query, vector }, { topK: 4, weighted: true }));
  });

  test("for a collection of its dimension only", async () => {
    const collection = store.create("c", { dim: 8 });
    const ask = (model?: 0 | 1) => collection.ask({ by: "vector", text: "tea", model }, { topK: 1 });
    await expect(ask(0)).rejects.toThrow(/^a text is embedded into \d+ numbers; the collection has dim 8$/);
    await expect(ask()).rejects.toThrow(ValueError);
  });
});

describe("one saved state", () => {
  test("is looked for twice a question", async () => {
    const { env } = await native();
    const collection = create("c");
    await lived(collection, 50, random(5));
    await searchTexts(collection, embedder, "tea", { topK: 5 });
    env.testFail(0, 0, false);
    await searchTexts(collection, embedder, "tea", { topK: 5, metadata: true, text: true });
    // System calls since: the manifest's stat, for its note about superseded rows and for the answer.
    expect(env.testFail(0, 0, false)).toBe(2);
  });

  test("answers a question while another process replaces every row", async () => {
    const dir = scratchDir();
    const here = new Store(dir, (await native()).env, "0.0.0-test", 1); // every question on a worker
    const there = await openStore(dir);
    const schema = { dim: embedder.profile.dimension, embedderProfile: embedder.profile, lexical: true };
    const writer = there.create("c", schema);
    const ids = (state: number) => Array.from({ length: 120 }, (_, i) => `${state} ${i}`);
    const texts = ids(0).map((_, i) => `green tea ${WORDS[i % WORDS.length]}`);
    await putTexts(writer, embedder, "add", { ids: ids(0), texts }, {});
    await writer.buildLexical(1.2, 0.6);
    let writing = true;
    const vectors = await embedder.embedDocuments(texts);
    const write = async () => {
      for (let state = 1; writing; state++) {
        await writer.change(async (t) => {
          await t.delete(ids(state - 1));
          const metadata = texts.map(() => ({ scope: "default" }));
          await t.put(0, { ids: ids(state), vectors, texts, metadata });
        });
      }
    };
    const written = write();
    const reader = here.open("c");
    for (let i = 0; i < 150; i++) {
      const { rows } = await searchTexts(reader, embedder, "green tea mint", { topK: 20, text: true });
      expect(rows.length).toBe(20);
      expect(new Set(rows.map(({ id }) => id.split(" ")[0])).size).toBe(1);
    }
    writing = false;
    await written;
    await Promise.all([here.close(), there.close()]);
  });
});

test("partitions are counted by their live rows", async () => {
  const collection = create("c");
  const { ids } = await lived(collection, 300, random(9));
  const check = () => {
    const live = new Map<unknown, number>();
    for (const { found, metadata } of collection.get(ids)) {
      if (found) live.set(metadata!.scope, (live.get(metadata!.scope) ?? 0) + 1);
    }
    expect(new Map(collection.partitions().map(({ key, rows }) => [key as unknown, rows]))).toEqual(live);
  };
  check();
  await collection.delete(collection.ids({ where: { column: "scope", value: "y" } }));
  check();
  await collection.buildIvf(50, 0.9);
  check();
  expect(collection.partitions().every(({ rows, nlist }) => nlist > 0 === rows >= 50)).toBe(true);
});
