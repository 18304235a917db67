/** usearch: HNSW over f32 or bf16, and a bare exact scan. Its JavaScript API has no filters. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Answers, type Contender, each, type Maker, type Queries, TOP } from "../contender.ts";

interface Matches {
  keys: BigUint64Array;
}

interface Index {
  add(keys: BigUint64Array, vectors: Float32Array, threads: number): void;
  search(vectors: Float32Array, k: number, threads: number): Matches;
  save(path: string): void;
  view(path: string): void;
}

interface Usearch {
  Index: new (config: Record<string, unknown>) => Index;
  exactSearch(
    data: Float32Array,
    queries: Float32Array,
    dim: number,
    k: number,
    metric: string,
    threads: number,
  ): Matches;
}

const ADDED_AT_ONCE = 10_000;

/** The width of a search is fixed when an index is opened, so the saved index is viewed once for each setting. */
const over =
  (quantization: "f32" | "bf16"): Maker =>
  async ({ dir, rows, dim, data }, packages): Promise<Contender> => {
    const { Index, exactSearch } = createRequire(join(packages, "package.json"))("usearch") as Usearch;
    const path = join(dir, "index.usearch");
    const make = (width: number) =>
      new Index({
        dimensions: dim,
        metric: "ip",
        quantization,
        connectivity: 16,
        expansion_add: 200,
        expansion_search: width,
        multi: false,
      });
    const views = new Map<number, Index>();
    const view = (width: number) => {
      let index = views.get(width);
      if (!index) {
        index = make(width);
        index.view(path);
        views.set(width, index);
      }
      return index;
    };
    let opened: Index | undefined;
    return {
      settings: [16, 32, 64, 128, 256, 512],
      async ingest() {
        const index = make(64);
        for (let from = 0; from < rows; from += ADDED_AT_ONCE) {
          const to = Math.min(rows, from + ADDED_AT_ONCE);
          const keys = BigUint64Array.from({ length: to - from }, (_, i) => BigInt(from + i));
          index.add(keys, data.subarray(from * dim, to * dim), 1);
        }
        index.save(path);
      },
      // A copy each: exactSearch reads a view from the start of its buffer.
      exact: (queries) =>
        each(queries, dim, (q) => Array.from(exactSearch(data, q.slice(), dim, TOP, "ip", 1).keys, Number)),
      async exactBatch(queries: Queries, threads: number): Promise<Answers> {
        return Int32Array.from(exactSearch(data, queries.slice(), dim, TOP, "ip", threads).keys, Number);
      },
      approximate: (queries, width) =>
        each(queries, dim, (q) => Array.from(view(width).search(q, TOP, 1).keys, Number)),
      async open() {
        opened = make(64);
        opened.view(path);
      },
      first: (query) => each(query, dim, (q) => Array.from(opened!.search(q, TOP, 1).keys, Number)),
      async close() {},
    };
  };

/** Rows as they are. */
export const usearch = over("f32");
/** Rows in half the bytes: its faster queries. */
export const usearchBf16 = over("bf16");
