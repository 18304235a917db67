/** SQLite's FTS5 in a file, in the SQLite that Bun has built in. */
import { Database } from "bun:sqlite";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { cost } from "../cost.ts";
import { anyWord } from "../fts5.ts";
import { askKinds } from "./ask.ts";
import type { Works } from "./job.ts";
import { textsOf } from "./stored.ts";

/** Texts that are read at a time. */
const CALL = 1000;
const TOP = 10;

/** It indexes while it ingests. The second table keeps no text: its size is that of the index. */
export const fts5: Works = {
  async ingest(job) {
    const [path, bare] = [join(job.dir, "fts5.db"), join(job.dir, "fts5-contentless.db")];
    const ingest = await cost(async () => fill(path, "text", job.passages));
    fill(bare, "text, content=''", job.passages);
    return { ingest, disk: statSync(path).size, index: statSync(bare).size };
  },

  async ask(job) {
    const db = new Database(join(job.dir, "fts5.db"), { readonly: true });
    const best = db.prepare(`SELECT rowid FROM bench WHERE bench MATCH ? ORDER BY rank LIMIT ${TOP}`);
    const queries = JSON.parse(readFileSync(job.queries, "utf8")) as Record<string, string[]>;
    const answer = await askKinds(queries, async (query) => best.values(anyWord(query)), job.budget);
    db.close();
    return answer;
  },
};

function fill(path: string, columns: string, passages: string): void {
  const db = new Database(path);
  db.run(`CREATE VIRTUAL TABLE bench USING fts5(${columns})`);
  const insert = db.prepare("INSERT INTO bench (rowid, text) VALUES (?, ?)");
  let row = 0;
  db.transaction(() => {
    for (const texts of textsOf(passages, CALL)) for (const text of texts) insert.run(++row, text);
  })();
  db.close();
}
