/** SQLite's FTS5 in a file, in the SQLite that Bun has built in. */
import { Database } from "bun:sqlite";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { cost, usage } from "../cost.ts";
import { anyWord } from "../fts5.ts";
import type { Imported } from "../import/figures.ts";
import { askKinds } from "./ask.ts";
import type { Works } from "./job.ts";
import { textsOf } from "./stored.ts";

/** Texts that are read at a time. */
const CALL = 1000;
const TOP = 10;
/** Texts of a commit of `import`, as the tools put them. */
export const COMMIT = 500;

/** It indexes while it ingests. The second table keeps no text: its size is that of the index. */
export const fts5: Works = {
  async ingest(job) {
    const [path, bare] = [join(job.dir, "fts5.db"), join(job.dir, "fts5-contentless.db")];
    const ingest = await cost(async () => fill(path, "text", job.passages));
    fill(bare, "text, content=''", job.passages);
    return { ingest, disk: statSync(path).size, index: statSync(bare).size };
  },

  /** In commits that are synced; then the index is merged, and the file rewritten without free pages. */
  async import(job): Promise<Imported> {
    const path = join(job.dir, "fts5-import.db");
    rmSync(path, { force: true });
    const used = await usage(async (look) => fill(path, "text", job.passages, { rows: COMMIT, onCommit: look }));
    const db = new Database(path);
    const compaction = await usage(async () => {
      db.run("INSERT INTO bench (bench) VALUES ('optimize')");
      db.run("VACUUM");
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    });
    db.close();
    return { used, compaction, disk: statSync(path).size };
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

/** @param commits absent: one commit of all, as the fastest way; else its rows and what is called after each */
function fill(path: string, columns: string, passages: string, commits?: { rows: number; onCommit(): void }): void {
  const db = new Database(path);
  if (commits) db.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.run(`CREATE VIRTUAL TABLE bench USING fts5(${columns})`);
  const insert = db.prepare("INSERT INTO bench (rowid, text) VALUES (?, ?)");
  let row = 0;
  db.run("BEGIN");
  for (const texts of textsOf(passages, commits?.rows ?? CALL)) {
    for (const text of texts) insert.run(++row, text);
    if (!commits) continue;
    db.run("COMMIT; BEGIN");
    commits.onCommit();
  }
  db.run("COMMIT");
  insert.finalize(); // else the connection stays open, and its journal beside the file
  db.close();
}
