/** This project's rankings of a set, its texts put and asked as `svc_add` and `svc_search` do it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Collection, Row } from "../../../src/store/collection.ts";
import { Store } from "../../../src/store/store.ts";
import type { Embedder } from "../../../src/texts/embedder.ts";
import { putTexts } from "../../../src/texts/put.ts";
import { BM25 } from "../../../src/texts/ranking.ts";
import { searchTexts } from "../../../src/texts/search.ts";
import { openBuiltNative } from "../../native.ts";
import type { Item } from "./sets.ts";
import type { Units } from "./units.ts";

/** Documents best first, one list a question. */
export type Rankings = string[][];

const KEY = "scope";
/** Texts of a call. */
const CALL = 1000;

/** The dense ranking of a collection without a lexical index, then the lexical and the fused one with it. */
export function askThree(units: Units, questions: readonly Item[], embedder: Embedder) {
  return withCollection(units, embedder, true, async (collection) => {
    const texts = (question: Item) => fromTexts(collection, embedder, question, units.depth);
    const dense = await askEach(units, questions, texts);
    await collection.buildLexical(BM25.k1, BM25.b);
    const lexical = await askEach(units, questions, (question) =>
      collection.searchLexical(question.text, { topK: units.depth, where: within(question) }),
    );
    return { dense, lexical, fused: await askEach(units, questions, texts) };
  });
}

/** The dense ranking alone. */
export function askDense(units: Units, questions: readonly Item[], embedder: Embedder): Promise<Rankings> {
  return withCollection(units, embedder, false, (collection) =>
    askEach(units, questions, (question) => fromTexts(collection, embedder, question, units.depth)),
  );
}

/** The condition that keeps a question within its group. */
const within = ({ group }: { group?: string | undefined }) =>
  group === undefined ? undefined : { column: KEY, value: group };

async function fromTexts(collection: Collection, embedder: Embedder, question: Item, topK: number): Promise<Row[]> {
  return (await searchTexts(collection, embedder, question.text, { topK, where: within(question) })).rows;
}

async function askEach(units: Units, questions: readonly Item[], ask: (q: Item) => Promise<Row[]>): Promise<Rankings> {
  const rankings: Rankings = [];
  for (const question of questions) rankings.push(units.toDocuments((await ask(question)).map(({ id }) => id)));
  return rankings;
}

/** Runs `use` on a new collection that holds the units. */
async function withCollection<T>(
  { rows }: Units,
  embedder: Embedder,
  lexical: boolean,
  use: (collection: Collection) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "svc-bench-quality-"));
  const store = new Store(dir, (await openBuiltNative()).env, "bench");
  try {
    const { profile } = embedder;
    const schema = { dim: profile.dimension, partitionBy: KEY, lexical, embedderProfile: profile };
    const collection = store.create("bench", schema);
    for (let from = 0; from < rows.length; from += CALL) {
      const part = rows.slice(from, from + CALL);
      const put = { ids: part.map(({ id }) => id), texts: part.map(({ text }) => text), metadata: part.map(within) };
      await putTexts(collection, embedder, "add", put, {});
    }
    return await use(collection);
  } finally {
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
