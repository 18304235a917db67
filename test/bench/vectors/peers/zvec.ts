/** zvec: HNSW over f32 with inverted scalar indexes; its linear mode is exact. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Contender, each, type Maker, TOP } from "../contender.ts";

interface Collection {
  insertSync(docs: unknown[]): { ok: boolean; message: string }[];
  optimizeSync(): void;
  querySync(query: Record<string, unknown>): { id: string }[];
  closeSync(): void;
}

interface Zvec {
  ZVecInitialize(options: Record<string, unknown>): void;
  ZVecCollectionSchema: new (schema: Record<string, unknown>) => unknown;
  ZVecCreateAndOpen(path: string, schema: unknown): Collection;
  ZVecOpen(path: string): Collection;
  ZVecDataType: { VECTOR_FP32: number; INT32: number };
  ZVecIndexType: { HNSW: number; INVERT: number };
  ZVecMetricType: { IP: number };
  ZVecLogLevel: { ERROR: number };
}

const INSERTED_AT_ONCE = 1000;
const FILTERED_WIDTH = 256;
const FIRST_WIDTH = 64;

export const zvec: Maker = async ({ dir, rows, dim, data, columns }, packages): Promise<Contender> => {
  const z = createRequire(join(packages, "package.json"))("@zvec/zvec") as Zvec;
  z.ZVecInitialize({ logType: "console", logLevel: z.ZVecLogLevel.ERROR, queryThreads: 1, optimizeThreads: 1 });
  const path = join(dir, "zvec");
  const indexType = z.ZVecIndexType.HNSW;
  let collection: Collection | undefined;
  const ask = (vector: Float32Array, params: Record<string, unknown>, filter?: { filter: string }) =>
    collection!
      .querySync({ fieldName: "v", topk: TOP, vector, outputFields: [], params: { indexType, ...params }, ...filter })
      .map(({ id }) => Number(id));
  return {
    settings: [16, 32, 64, 128, 256, 512],
    async ingest() {
      const scalar = (name: string) => ({
        name,
        dataType: z.ZVecDataType.INT32,
        indexParams: { indexType: z.ZVecIndexType.INVERT },
      });
      const vectors = {
        name: "v",
        dataType: z.ZVecDataType.VECTOR_FP32,
        dimension: dim,
        indexParams: { indexType, metricType: z.ZVecMetricType.IP, m: 16, efConstruction: 200 },
      };
      const fields = [scalar("percent"), scalar("tenth")];
      collection = z.ZVecCreateAndOpen(path, new z.ZVecCollectionSchema({ name: "bench", vectors, fields }));
      for (let from = 0; from < rows; from += INSERTED_AT_ONCE) {
        const docs = Array.from({ length: Math.min(INSERTED_AT_ONCE, rows - from) }, (_, i) => ({
          id: String(from + i),
          vectors: { v: data.subarray((from + i) * dim, (from + i + 1) * dim) },
          fields: { percent: columns.percent[from + i]!, tenth: columns.tenth[from + i]! },
        }));
        const failed = collection.insertSync(docs).find((status) => !status.ok);
        if (failed) throw new Error(failed.message);
      }
    },
    async buildIndex() {
      collection!.optimizeSync();
    },
    exact: (queries) => each(queries, dim, (q) => ask(q, { isLinear: true })),
    approximate: (queries, ef) => each(queries, dim, (q) => ask(q, { ef })),
    filtered: (queries, { column, value }) =>
      each(queries, dim, (q) => ask(q, { ef: FILTERED_WIDTH }, { filter: `${column} = ${value}` })),
    async open() {
      collection = z.ZVecOpen(path);
    },
    first: (query) => each(query, dim, (q) => ask(q, { ef: FIRST_WIDTH })),
    async close() {
      collection?.closeSync();
    },
  };
};
