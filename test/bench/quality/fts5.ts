/** The ranking of SQLite's FTS5 by its own bm25(). */
import { Database } from "bun:sqlite";
import { anyWord } from "../fts5.ts";
import type { Rankings } from "./ours.ts";
import type { Item } from "./sets.ts";
import type { Units } from "./units.ts";

/** All units in one table; a query of a group sees that group's rows. */
export function askFts5(units: Units, queries: readonly Item[]): Rankings {
  const db = new Database(":memory:");
  try {
    db.run("CREATE VIRTUAL TABLE units USING fts5(text, id UNINDEXED, scope UNINDEXED)");
    const insert = db.prepare("INSERT INTO units (text, id, scope) VALUES (?, ?, ?)");
    db.transaction(() => {
      for (const { text, id, group } of units.rows) insert.run(text, id, group ?? null);
    })();
    const ask = db.prepare<{ id: string }, [string, string | null, number]>(
      "SELECT id FROM units WHERE units MATCH ?1 AND (?2 IS NULL OR scope = ?2) ORDER BY bm25(units), rowid LIMIT ?3",
    );
    return queries.map(({ text, group }) => {
      const words = anyWord(text);
      const rows = words === "" ? [] : ask.all(words, group ?? null, units.depth);
      return units.toDocuments(rows.map(({ id }) => id));
    });
  } finally {
    db.close();
  }
}
