/** Text queries are weighted by the collection's contents where the embedder says so; other queries are not changed. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { CallableEmbedder } from "../../src/texts/callable.ts";
import type { Embedder } from "../../src/texts/embedder.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { searchTexts } from "../../src/texts/search.ts";
import { native, notes, openStore } from "../fixture.ts";

const QUERY = "how hot should the water be for green tea";
let store: Store;
let ours: Embedder;

beforeEach(async () => {
  store = await openStore();
  ours = new MultigramEmbedder((await native()).kernel);
});

async function filled(embedder: Embedder, texts: string[]): Promise<Collection> {
  const { dimension } = embedder.profile;
  const collection = store.create("notes", { dim: dimension, embedderProfile: embedder.profile, lexical: true });
  if (texts.length > 0) await putTexts(collection, embedder, "add", { texts, ids: texts.map((_, i) => `t${i}`) }, {});
  return collection;
}

/** The ranking by vector within a fused one. */
const ask = async (collection: Collection, embedder: Embedder, query: string) => {
  const { rows, fused } = await searchTexts(collection, embedder, query, { topK: 100, scores: true });
  expect(fused).toBe(true);
  const dense = rows.map(({ id, scores }) => ({ id, score: scores!.vector }));
  return dense.toSorted((a, b) => b.score - a.score).slice(0, 5);
};

const plain = async (collection: Collection, embedder: Embedder, weighted?: boolean) => {
  const answer = await collection.search(await embedder.embedQueries([QUERY]), { topK: 5, weighted });
  return answer.rows.map(({ id, score }) => ({ id, score }));
};

describe("a text query", () => {
  test("is weighted with the embedder of ours", async () => {
    const collection = await filled(
      ours,
      notes().map((row) => row.text),
    );
    const rows = await ask(collection, ours, QUERY);
    expect(rows).toEqual(await plain(collection, ours, true));
    expect(rows).not.toEqual(await plain(collection, ours, false));
    expect(rows.every(({ score }) => Number.isFinite(score))).toBe(true);
  });

  test("is not weighted with a custom embedder", async () => {
    const theirs = new CallableEmbedder((texts) => ours.embedDocuments(texts), {
      modelId: "theirs",
      dimension: ours.profile.dimension,
    });
    const collection = await filled(
      theirs,
      notes().map((row) => row.text),
    );
    expect(await ask(collection, theirs, QUERY)).toEqual(await plain(collection, theirs));
  });

  test("finds nothing in nothing, the only row, and zeros for no words", async () => {
    const collection = await filled(ours, []);
    expect(await ask(collection, ours, QUERY)).toEqual([]);
    await putTexts(collection, ours, "add", { texts: ["green tea at 70 degrees"], ids: ["tea"] }, {});
    const [only] = await ask(collection, ours, QUERY);
    expect(only!.id).toBe("tea");
    expect(only!.score).toBeGreaterThan(0);
    expect(only!.score).toBeLessThanOrEqual(1);
    expect(await ask(collection, ours, "")).toEqual([{ id: "tea", score: 0 }]);
    await collection.delete(["tea"]);
    expect(await ask(collection, ours, QUERY)).toEqual([]);
  });
});
