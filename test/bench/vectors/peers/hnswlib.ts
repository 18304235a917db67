/** hnswlib: HNSW over f32, a brute-force scan, and filters as a function that it calls for rows it visits. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Contender, each, type Maker, TOP } from "../contender.ts";

interface Index {
  initIndex(rows: number, m?: number, efConstruction?: number, seed?: number): void;
  addPoint(point: number[], label: number): void;
  setEf(ef: number): void;
  searchKnn(point: number[], k: number, filter?: (label: number) => boolean): { neighbors: number[] };
  writeIndexSync(path: string): void;
  readIndexSync(path: string): void;
}

interface Hnswlib {
  HierarchicalNSW: new (space: string, dim: number) => Index;
  BruteforceSearch: new (space: string, dim: number) => Index;
}

/** Wide enough for most answers at 10 %; at 1 % no width suffices, since a graph has too few matches near the query. */
const FILTERED_WIDTH = 512;
const FIRST_WIDTH = 64;

export const hnswlib: Maker = async ({ dir, rows, dim, data, columns }, packages): Promise<Contender> => {
  const library = createRequire(join(packages, "package.json"))("hnswlib-node") as Hnswlib;
  const path = join(dir, "index.hnsw");
  const index = new library.HierarchicalNSW("ip", dim);
  // It takes arrays only.
  const fill = (target: Index) => {
    for (let row = 0; row < rows; row++) target.addPoint(Array.from(data.subarray(row * dim, (row + 1) * dim)), row);
  };
  let scan: Index | undefined;
  const ask = (target: Index, q: Float32Array, filter?: (label: number) => boolean) =>
    target.searchKnn(Array.from(q), TOP, filter).neighbors;
  return {
    settings: [16, 32, 64, 128, 256, 512],
    async ingest() {
      index.initIndex(rows, 16, 200, 1);
      fill(index);
      index.writeIndexSync(path);
    },
    exact(queries) {
      if (!scan) {
        scan = new library.BruteforceSearch("ip", dim);
        scan.initIndex(rows);
        fill(scan);
      }
      return each(queries, dim, (q) => ask(scan!, q));
    },
    approximate(queries, width) {
      index.setEf(width);
      return each(queries, dim, (q) => ask(index, q));
    },
    filtered(queries, { column, value }) {
      const values = columns[column];
      index.setEf(FILTERED_WIDTH);
      return each(queries, dim, (q) => ask(index, q, (row) => values[row] === value));
    },
    async open() {
      index.readIndexSync(path);
      index.setEf(FIRST_WIDTH);
    },
    first: (query) => each(query, dim, (q) => ask(index, q)),
    async close() {},
  };
};
