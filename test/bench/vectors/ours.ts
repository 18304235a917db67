/** This project's engine, in process. */

import { LocalStore } from "../../../src/api/local-store.ts";
import type { LocalSearchOptions } from "../../../src/api/options.ts";
import { openBuiltNative } from "../../native.ts";
import {
  type Answers,
  COLLECTION,
  type Contender,
  each,
  type Filter,
  type Queries,
  type Task,
  TOP,
} from "./contender.ts";

/** Rows of an `add`. */
const BATCH = 10_000;
/** Recall that an index is calibrated to by default: that of `buildIvf`. */
const DEFAULT_FLOOR = 0.98;
/** The default comes last, since new processes are to open its index. */
const FLOORS = [0.9, 0.95, 0.99, DEFAULT_FLOOR];

/** Rows are saved without an index at first, so that exact and filtered queries meet a plain collection. */
export async function ours(task: Task): Promise<Contender> {
  const { dim } = task;
  const store = new LocalStore(task.dir, await openBuiltNative(), "bench");
  const ask = (queries: Queries, options: LocalSearchOptions) => {
    const collection = store.handle(COLLECTION);
    return each(queries, dim, async (query) => {
      const { ids } = await collection.search(query, { topK: TOP, ...options });
      return ids.map(Number);
    });
  };
  // The reach of a query is calibrated when an index is built, so each floor has an index of its own.
  let built: number | undefined;
  const build = async (targetRecall: number) => {
    if (built !== targetRecall) await store.collection(COLLECTION).buildIvf({ minRows: 0, targetRecall });
    built = targetRecall;
  };
  return {
    settings: FLOORS,
    async ingest() {
      const collection = await store.createCollection(COLLECTION, { dim, filterColumns: ["percent", "tenth"] });
      for (let from = 0; from < task.rows; from += BATCH) {
        const rows = Array.from({ length: Math.min(BATCH, task.rows - from) }, (_, i) => from + i);
        await collection.add(task.data.subarray(from * dim, (from + rows.length) * dim), {
          ids: rows.map(String),
          metadata: rows.map((row) => ({ percent: task.columns.percent[row]!, tenth: task.columns.tenth[row]! })),
        });
      }
      await collection.save();
    },
    buildIndex: () => build(DEFAULT_FLOOR),
    exact: (queries) => ask(queries, { targetRecall: 1 }),
    async exactBatch(queries: Queries, threads: number): Promise<Answers> {
      const asked = { topK: TOP, targetRecall: 1, threads };
      const results = await store.handle(COLLECTION).searchMany(queries, asked);
      return Int32Array.from(results.flatMap(({ ids }) => ids.map(Number)));
    },
    async approximate(queries, targetRecall) {
      await build(targetRecall);
      return ask(queries, { targetRecall });
    },
    filtered: (queries, { column, value }: Filter) => ask(queries, { targetRecall: 1, where: { [column]: value } }),
    async open() {
      store.collection(COLLECTION);
    },
    first: (query) => ask(query, {}),
    close: () => store.close(),
  };
}
