/** Data sets by name: made ones, fashion-mnist where it is installed, and files. */
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { broad, clustered, type Made, normalise } from "./data.ts";
import { readIdx, readMatrix } from "./loaders.ts";
import type { Judged } from "./truth.ts";

/** Unit vectors, and queries that are not among them. */
export interface DataSet extends Judged {
  name: string;
  rows: number;
}

/** Queries at most. */
const QUERIES = 1000;
const MADE_ROWS = 100_000;
/** 1,000 tight clusters. */
const tight = (dim: number) => ({
  dim,
  make: (rows: number) => clustered({ rows, dim, clusters: 1000, spread: 0.7, seed: dim }, QUERIES),
});
const MADE: Readonly<Record<string, { dim: number; make: (rows: number) => Made }>> = {
  "clustered-384": tight(384),
  "clustered-768": tight(768),
  // 200 clusters that overlap: an inverted index has to read many lists, a graph many neighbours.
  "broad-384": {
    dim: 384,
    make: (rows) => broad({ rows, dim: 384, latent: 48, clusters: 200, spread: 1.2, noise: 0.3, seed: 48 }, QUERIES),
  },
};
/** Where Debian's package dataset-fashion-mnist puts its files. */
const FASHION = "/usr/share/datasets/fashion-mnist";

/** Names that `--data` takes, beside paths; all of them by default. */
export const SETS = [...Object.keys(MADE), "fashion-mnist"];

/** The set of that name or path, with at most `limit` rows. @throws Error with a sentence where it is not available */
export function loadSet(name: string, limit: number | undefined): DataSet {
  const made = MADE[name];
  if (made) {
    const rows = limit ?? MADE_ROWS;
    return { name, rows, dim: made.dim, ...made.make(rows) };
  }
  if (name === "fashion-mnist") return fashion(limit);
  return fromFile(name, limit);
}

function fashion(limit: number | undefined): DataSet {
  const file = (part: string) => join(FASHION, `${part}-images-idx3-ubyte.gz`);
  if (!existsSync(file("train"))) {
    throw new Error(`fashion-mnist is not in ${FASHION}: Debian's package dataset-fashion-mnist puts it there`);
  }
  const read = (part: string) => readIdx(Bun.gunzipSync(readFileSync(file(part))));
  const { dim, data } = read("train");
  const rows = Math.min(limit ?? Number.POSITIVE_INFINITY, data.length / dim);
  return {
    name: "fashion-mnist",
    rows,
    dim,
    data: normalise(data.subarray(0, rows * dim), dim),
    queries: normalise(read("t10k").data.subarray(0, QUERIES * dim), dim),
  };
}

/** The file's last rows are the queries and not data: 1,000, or a tenth of a small file. */
function fromFile(path: string, limit: number | undefined): DataSet {
  const { dim, data } = readMatrix(path);
  normalise(data, dim);
  const total = data.length / dim;
  const queryCount = Math.min(QUERIES, Math.floor(total / 10));
  if (queryCount === 0) throw new Error(`${path} holds ${total} rows: too few to query`);
  const rows = Math.min(limit ?? Number.POSITIVE_INFINITY, total - queryCount);
  return {
    name: basename(path).replace(/:\d+$/, ""),
    rows,
    dim,
    data: data.subarray(0, rows * dim),
    queries: data.subarray((total - queryCount) * dim),
  };
}
