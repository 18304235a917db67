/** The samples that the real packages made: what becomes of each of their records. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { file, folder, plain, read, SAMPLES } from "./support.ts";

const sample = (name: string) => join(SAMPLES, name);

test("the reference memory server's file: a row for each observation, relation and bare entity", async () => {
  const { rows, error } = await read(sample("memory.jsonl"));
  expect(error).toBeUndefined();
  expect(rows.map(({ text }) => text)).toEqual([
    "Ada (person): prefers short answers",
    "Ada (person): reviews the billing service",
    'Ada (person): works from Lisbon, "mostly" in the mornings\nand on call on Tuesdays',
    "billing service (service): is deployed blue-green",
    "billing service (service): keeps its ledger in PostgreSQL 16",
    "Grüße (channel)",
    "Ada maintains billing service",
    "billing service reports to Grüße",
  ]);
  expect(rows[0]!.metadata).toEqual({ type: "entity", entity: "Ada", entityType: "person" });
  expect(rows.at(-1)!.metadata).toEqual({
    type: "relation",
    from: "billing service",
    to: "Grüße",
    relationType: "reports_to",
  });
  expect(new Set(rows.map(({ id }) => id)).size).toBe(8);
  expect(rows[2]!.where).toEndWith("memory.jsonl', line 1, observation 3");
});

test("the same graph as one document, as read_graph answers", async () => {
  const lines = readFileSync(sample("memory.jsonl"), "utf8")
    .split("\n")
    .map((line) => JSON.parse(line));
  const graph = {
    entities: lines.filter(({ type }) => type === "entity"),
    relations: lines.filter(({ type }) => type === "relation"),
  };
  const { rows } = await read(file("graph.json", JSON.stringify(graph, null, 2)));
  expect(rows.map(plain)).toEqual((await read(sample("memory.jsonl"))).rows.map(plain));
});

test("Chroma: what get() returns and the folder hold the same rows", async () => {
  const got = await read(sample("chroma-get.json"));
  expect(got.error).toBeUndefined();
  expect(got.rows.map(plain)).toEqual([
    {
      id: "rollback",
      text: "The engineer on call rolls back first and looks for the cause afterwards.",
      metadata: { urgent: true, priority: 1, scope: "operations" },
    },
    { id: "pager", text: "The pager rotates on Wednesdays at ten.", metadata: { weight: 0.5, scope: "operations" } },
    {
      id: "cache",
      text: "Expiry of the cache has a jitter of ten percent.",
      metadata: { tags: ["cache", "performance"], scope: "engineering" },
    },
  ]);
  const kept = await read(sample("chroma"), { chromaCollection: "notes" });
  expect(kept.error).toBeUndefined();
  const withoutTimes = kept.rows.map(({ created, ...row }) => {
    expect(created).toBeGreaterThan(Date.UTC(2026, 0));
    return plain(row);
  });
  expect(withoutTimes).toEqual(got.rows.map(plain));
});

test("Chroma's folder: a collection is named where there are several, and vectors without a document are counted", async () => {
  expect((await read(sample("chroma"))).error).toEndWith(
    "holds 2 collections: name one with --chroma-collection ('notes', 'vectors')",
  );
  expect((await read(sample("chroma"), { chromaCollection: "x" })).error).toContain(
    "has no collection 'x'; it has 'notes'",
  );
  const { rows, remarks } = await read(sample("chroma"), { chromaCollection: "vectors" });
  expect(rows.map(({ id, text }) => [id, text])).toEqual([["v3", "A picture with a caption."]]);
  expect(remarks).toHaveLength(1);
  expect(remarks[0]).toStartWith("2 left out, without a document");
});

test("mem0: what getAll answers and the database hold the same memories", async () => {
  const answered = await read(sample("mem0.json"));
  expect(answered.error).toBeUndefined();
  expect(answered.rows.map(({ text, metadata }) => [text, metadata])).toEqual([
    ["Likes window seats and vegetarian meals", { category: "travel", user_id: "ada" }],
    ["Works in UTC+1 and answers mails before ten", { category: "work", priority: 2, user_id: "ada" }],
    ["Has a meeting with Grace on Monday", { user_id: "ada", agent_id: "planner" }],
  ]);
  expect(answered.rows[2]!.updated!).toBeGreaterThan(answered.rows[2]!.created!);
  expect(answered.rows[0]!.updated).toBeUndefined();
  for (const place of ["mem0", "mem0/vector_store.db"]) {
    const kept = await read(sample(place));
    expect(kept.error).toBeUndefined();
    const byId = (rows: typeof kept.rows) => rows.map(plain).sort((a, b) => (a.id! < b.id! ? -1 : 1));
    expect(byId(kept.rows)).toEqual(byId(answered.rows));
  }
});

test("mem0's platform and Python package write snake_case, as a list or in pages", async () => {
  const memory = {
    id: "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
    memory: "Is allergic to nuts",
    user_id: "alex",
    hash: "7c9b",
    metadata: { category: "health" },
    categories: ["health"],
    app_id: null,
    created_at: "2025-07-26T10:29:36.630547-07:00",
    updated_at: null,
  };
  for (const value of [
    [memory],
    { results: [memory], relations: [] },
    { count: 1, next: null, results: [memory] },
    { count: 2, next: "?page=2", results: [memory] },
    { memories: [memory] },
  ]) {
    const { rows, error, remarks } = await read(file("export.json", JSON.stringify(value)));
    expect(error).toBeUndefined();
    expect(remarks).toHaveLength("next" in value && value.next !== null ? 1 : 0);
    expect(rows.map(plain)).toEqual([
      {
        id: memory.id,
        text: memory.memory,
        metadata: { category: "health", user_id: "alex", categories: ["health"] },
        created: Date.parse("2025-07-26T17:29:36.630Z"),
        updated: undefined,
      },
    ]);
  }
});

test("a database whose last changes stand beside it is refused", async () => {
  const copy = join(folder(), "chroma");
  cpSync(sample("chroma"), copy, { recursive: true });
  writeFileSync(join(copy, "chroma.sqlite3-wal"), "x");
  expect((await read(copy, { chromaCollection: "notes" })).error).toContain(
    "changes in '…-wal' that are not in it yet",
  );
});

test("a log of Chroma that is ahead of its tables is refused", async () => {
  const copy = join(folder(), "chroma");
  cpSync(sample("chroma"), copy, { recursive: true });
  const db = new Database(join(copy, "chroma.sqlite3"));
  db.run("UPDATE max_seq_id SET seq_id = 1");
  db.close();
  expect((await read(copy, { chromaCollection: "notes" })).error).toContain("logged but not put into its tables");
});

test("views and computed columns in a database are not read", async () => {
  for (const [make, message] of [
    [
      "CREATE VIEW vectors AS WITH RECURSIVE n(id, payload) AS (SELECT '1','{}' UNION ALL SELECT id||'1', '{}' FROM n) SELECT * FROM n",
      "has no table 'vectors'",
    ],
    ["CREATE TABLE vectors (id TEXT, x BLOB, payload TEXT AS (hex(zeroblob(500000000))))", "has no column 'payload'"],
  ] as const) {
    const path = join(folder(), "vector_store.db");
    const db = new Database(path);
    db.run(make);
    db.close();
    expect((await read(path, { from: "mem0" })).error).toContain(message);
  }
});
