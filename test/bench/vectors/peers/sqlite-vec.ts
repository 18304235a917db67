/** sqlite-vec: a virtual table that is always scanned whole, in the SQLite that Bun has built in. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Contender, each, type Maker, TOP } from "../contender.ts";

/** L2 ranks unit vectors as the inner product does, and sqlite-vec computes it with vector instructions. */
export const sqliteVec: Maker = async ({ dir, rows, dim, data, columns }, packages): Promise<Contender> => {
  const { Database } = await import("bun:sqlite");
  const { getLoadablePath } = createRequire(join(packages, "package.json"))("sqlite-vec") as {
    getLoadablePath(): string;
  };
  const db = new Database(join(dir, "bench.db"));
  db.loadExtension(getLoadablePath());
  const bytes = (vector: Float32Array) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
  const ask = (q: Float32Array, where = "") =>
    db
      .query<[number], [Uint8Array]>(`SELECT rowid FROM bench WHERE embedding MATCH ? AND k = ${TOP} ${where}`)
      .values(bytes(q))
      .map(([row]) => Number(row));
  const exact = (queries: Float32Array) => each(queries, dim, (q) => ask(q));
  return {
    settings: [],
    async ingest() {
      db.run("PRAGMA journal_mode = WAL");
      db.run(`CREATE VIRTUAL TABLE bench USING vec0(embedding float[${dim}], percent integer, tenth integer)`);
      const insert = db.prepare("INSERT INTO bench (rowid, embedding, percent, tenth) VALUES (?, ?, ?, ?)");
      db.transaction(() => {
        for (let row = 0; row < rows; row++) {
          const vector = bytes(data.subarray(row * dim, (row + 1) * dim));
          insert.run(row, vector, columns.percent[row]!, columns.tenth[row]!);
        }
      })();
    },
    exact,
    filtered: (queries, { column, value }) => each(queries, dim, (q) => ask(q, `AND ${column} = ${value}`)),
    async open() {},
    first: exact,
    async close() {
      db.close();
    },
  };
};
