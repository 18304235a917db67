/** This project's collection of passages, made and asked in process through the store, as the tools do it. */
import { readFileSync } from "node:fs";
import type { Question } from "../../../src/store/collection.ts";
import { Store } from "../../../src/store/store.ts";
import { MultigramEmbedder } from "../../../src/texts/kernel.ts";
import { putTexts } from "../../../src/texts/put.ts";
import { BM25 } from "../../../src/texts/ranking.ts";
import { searchTexts } from "../../../src/texts/search.ts";
import { openBuiltNative } from "../../native.ts";
import { cost } from "../cost.ts";
import { askWays } from "../text/ask.ts";
import type { Job, Works } from "../text/job.ts";
import { textsOf } from "../text/stored.ts";

export const COLLECTION = "bench";
/** Rows of one of these are a tenth of all. */
export const PARTITIONS = 10;
export const PARTITION = "part-3";

const KEY = "scope";
/** Texts of a call. */
const CALL = 1000;
const TOP = 5;

/** @param job its folder is the memory */
export const ours: Works = {
  async ingest(job) {
    const { store, embedder } = await open(job);
    const { profile } = embedder;
    const collection = store.create(COLLECTION, { dim: profile.dimension, lexical: true, embedderProfile: profile });
    let row = 0;
    const ingest = await cost(async () => {
      for (const texts of textsOf(job.passages, CALL)) {
        const ids = texts.map((_, i) => `passage-${row + i}`);
        const metadata = texts.map((_, i) => ({ [KEY]: `part-${(row + i) % PARTITIONS}` }));
        row += texts.length;
        await putTexts(collection, embedder, "add", { texts, ids, metadata }, {});
      }
      await collection.buildLexical(BM25.k1, BM25.b);
    });
    await store.close();
    return ingest;
  },

  async ask(job) {
    const { store, embedder } = await open(job);
    const collection = store.open(COLLECTION);
    const queries = JSON.parse(readFileSync(job.queries, "utf8")) as Record<string, string[]>;
    const all = { topK: TOP, metadata: true };
    const tenth = { ...all, where: { column: KEY, value: PARTITION } };
    const dense = (text: string): Question => ({ by: "vector", model: embedder.kernelModel, text });
    const ways = {
      dense: (text: string) => collection.ask(dense(text), { ...all, weighted: true }),
      lexical: (text: string) => collection.searchLexical(text, all),
      fused: (text: string) => searchTexts(collection, embedder, text, all),
      denseTenth: (text: string) => collection.ask(dense(text), { ...tenth, weighted: true }),
      fusedTenth: (text: string) => searchTexts(collection, embedder, text, tenth),
    };
    const asked = await askWays(queries, ways, job.budget);
    await store.close();
    return asked;
  },
};

async function open(job: Job) {
  const { kernel, env } = await openBuiltNative();
  return { store: new Store(job.dir, env, "bench"), embedder: new MultigramEmbedder(kernel) };
}
