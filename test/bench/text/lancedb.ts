/** LanceDB's full-text index with its defaults. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { cost } from "../cost.ts";
import { askKinds } from "./ask.ts";
import type { Job, Works } from "./job.ts";
import { bytesBelow } from "./sizes.ts";
import { textsOf } from "./stored.ts";

interface Query {
  fullTextSearch(query: string, options: { columns: string[] }): Query;
  select(columns: string[]): Query;
  limit(count: number): Query;
  toArrow(): Promise<{ numRows: number }>;
}

interface Table {
  add(rows: object[]): Promise<unknown>;
  query(): Query;
  createIndex(column: string, options: { config: unknown }): Promise<void>;
}

interface Lancedb {
  connect(path: string): Promise<{
    createTable(name: string, rows: object[]): Promise<Table>;
    openTable(name: string): Promise<Table>;
  }>;
  Index: { fts(): unknown };
}

const NAME = "bench";
/** Rows of an add: few adds, since each makes a fragment. */
const CALL = 10_000;
const TOP = 10;

export const lancedb: Works = {
  async ingest(job) {
    const { database, library } = await connect(job);
    let table: Table | undefined;
    let row = 0;
    const ingest = await cost(async () => {
      for (const texts of textsOf(job.passages, CALL)) {
        const rows = texts.map((text) => ({ id: row++, text }));
        if (table) await table.add(rows);
        else table = await database.createTable(NAME, rows);
      }
    });
    const before = bytesBelow(join(job.dir, "lance"));
    const build = await cost(() => table!.createIndex("text", { config: library.Index.fts() }));
    const disk = bytesBelow(join(job.dir, "lance"));
    return { ingest, build, disk, index: disk - before };
  },

  async ask(job) {
    const table = await (await connect(job)).database.openTable(NAME);
    const queries = JSON.parse(readFileSync(job.queries, "utf8")) as Record<string, string[]>;
    const ask = (query: string) =>
      table
        .query()
        .fullTextSearch(query, { columns: ["text"] })
        .select(["id", "_score"])
        .limit(TOP)
        .toArrow();
    return askKinds(queries, ask, job.budget);
  },
};

async function connect(job: Job) {
  const library = createRequire(join(job.packages, "package.json"))("@lancedb/lancedb") as Lancedb;
  return { library, database: await library.connect(join(job.dir, "lance")) };
}
