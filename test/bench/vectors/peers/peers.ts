/** The peers: what is installed for each, and how its process is run. */

/** One peer's packages and process. */
export interface Peer {
  /** Exact versions, as npm takes them. */
  packages: readonly string[];
  /** Bindings are made for Node.js, some are slower elsewhere; sqlite-vec runs in Bun, which has SQLite built in. */
  runtime: "node" | "bun";
  /** Environment variables that keep it to one thread. */
  env?: Readonly<Record<string, string>>;
}

/** By the name that `--peers` takes. */
export const PEERS: Readonly<Record<string, Peer>> = {
  usearch: { packages: ["usearch@2.26.2"], runtime: "node" },
  "usearch-bf16": { packages: ["usearch@2.26.2"], runtime: "node" },
  hnswlib: { packages: ["hnswlib-node@3.0.0"], runtime: "node" },
  // With LANCE_IO_THREADS=1 it deadlocks, so its reads may overlap; CPU time is counted whole.
  lancedb: {
    packages: ["@lancedb/lancedb@0.39.0"],
    runtime: "node",
    env: {
      LANCE_CPU_THREADS: "1",
      RAYON_NUM_THREADS: "1",
      TOKIO_WORKER_THREADS: "1",
      LANCEDB_LOG: "error",
    },
  },
  "sqlite-vec": { packages: ["sqlite-vec@0.1.9"], runtime: "bun" },
  zvec: { packages: ["@zvec/zvec@0.7.0"], runtime: "node" },
};
