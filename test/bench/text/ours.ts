/** This project's lexical search, its texts added and searched as the tools do it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Put } from "../../../ffi/ty_collection.ts";
import type { Collection } from "../../../src/store/collection.ts";
import { packRows } from "../../../src/store/pack.ts";
import { Store } from "../../../src/store/store.ts";
import { MultigramEmbedder } from "../../../src/texts/kernel.ts";
import { idsOrNew, putTexts, toRows } from "../../../src/texts/put.ts";
import { BM25 } from "../../../src/texts/ranking.ts";
import { openBuiltNative } from "../../native.ts";
import { cost } from "../cost.ts";
import { median, timed } from "../measure.ts";
import { askKinds } from "./ask.ts";
import type { Job, Works } from "./job.ts";
import type { Queries } from "./queries.ts";
import { textsOf } from "./stored.ts";

/** Folders of the two stores below the job's. The rows of the second keep neither texts nor terms: its index is empty. */
export const INDEXED = "indexed";
export const PLAIN = "plain";
export const COLLECTION = "bench";

/** Texts of a call. */
const CALL = 1000;
const TOP = 10;
/** Pairs of adds, and adds that a query follows. */
const PAIRS = 60;
const FOLLOWED = 20;

/** Cost of an add, in milliseconds by the clock. */
export interface Adds {
  indexed: number;
  plain: number;
  /** The median of `indexed` by `plain`, pair by pair. */
  ratio: number;
  /** The first query after an add, and the next one. */
  first: number;
  second: number;
}

export const ours: Works = {
  async ingest(job) {
    const { store, embedder } = await open(job);
    const { profile } = embedder;
    const collection = store.create(COLLECTION, { dim: profile.dimension, lexical: true, embedderProfile: profile });
    const ingest = await cost(async () => {
      for (const texts of textsOf(job.passages, CALL)) await add(collection, embedder, texts);
    });
    // Both stores begin with compacted rows, so that each build and each compaction does the same.
    await collection.compact();
    await store.close();
    return ingest;
  },

  async ingestPlain(job) {
    const { store, embedder } = await open(job, PLAIN);
    const { profile } = embedder;
    const collection = store.create(COLLECTION, { dim: profile.dimension, embedderProfile: profile });
    for (const texts of textsOf(job.passages, CALL)) await addPlain(collection, embedder, texts);
    await collection.compact();
    await store.close();
  },

  async compact(job) {
    const { store } = await open(job, PLAIN);
    const answer = await cost(() => store.open(COLLECTION).compact());
    await store.close();
    return answer;
  },

  async build(job) {
    const { store } = await open(job);
    const collection = store.open(COLLECTION);
    const answer = await cost(() => collection.buildLexical(BM25.k1, BM25.b));
    await store.close();
    return answer;
  },

  async ask(job) {
    const { store } = await open(job);
    const collection = store.open(COLLECTION);
    const ask = (query: string) => collection.searchLexical(query, { topK: TOP });
    const answer = await askKinds(queriesOf(job), ask, job.budget);
    await store.close();
    return answer;
  },

  async adds(job): Promise<Adds> {
    const { store, embedder } = await open(job);
    const plainStore = (await open(job, PLAIN)).store;
    const [indexed, plain] = [store.open(COLLECTION), plainStore.open(COLLECTION)];
    const [texts = []] = textsOf(job.passages, PAIRS + FOLLOWED);
    const times = { indexed: [] as number[], plain: [] as number[], first: [] as number[], second: [] as number[] };
    // Else the first adds would wait for the gigabytes written before.
    Bun.spawnSync(["sync"]);
    for (let pair = 0; pair < PAIRS; pair++) {
      const text = [texts[pair]!];
      // They take turns at going first, since the disk is slower right after a sync.
      const order = [["indexed", indexed] as const, ["plain", plain] as const];
      for (const [key, collection] of pair % 2 ? order.reverse() : order) {
        times[key].push(await timed(() => (key === "plain" ? addPlain : add)(collection, embedder, text)));
      }
    }
    const queries = queriesOf(job)["6 words"];
    for (let round = 0; round < FOLLOWED; round++) {
      await add(indexed, embedder, [texts[PAIRS + round]!]);
      const ask = () => indexed.searchLexical(queries[round]!, { topK: TOP });
      times.first.push(await timed(ask));
      times.second.push(await timed(ask));
    }
    await Promise.all([store.close(), plainStore.close()]);
    return {
      indexed: median(times.indexed),
      plain: median(times.plain),
      ratio: median(times.indexed.map((ms, pair) => ms / times.plain[pair]!)),
      first: median(times.first),
      second: median(times.second),
    };
  },
};

async function open(job: Job, folder = INDEXED) {
  const { kernel, env } = await openBuiltNative();
  return { store: new Store(join(job.dir, folder), env, "bench"), embedder: new MultigramEmbedder(kernel) };
}

function add(collection: Collection, embedder: MultigramEmbedder, texts: string[]) {
  return putTexts(collection, embedder, "add", { texts, ids: idsOrNew(undefined, texts.length) }, {});
}

/** Without the texts, once they are embedded. */
function addPlain(collection: Collection, embedder: MultigramEmbedder, texts: string[]) {
  const { keyName, filterColumns } = collection.schema;
  const rows = { ...toRows({}, texts.length, keyName), texts, model: embedder.kernelModel, dropText: true };
  return collection.change((t) => t.put(Put.ADD, packRows(rows, filterColumns)));
}

function queriesOf(job: Job): Queries {
  return JSON.parse(readFileSync(job.queries, "utf8"));
}
