/** Rows that a person edited in a folder, into their collection: what becomes of each, and changes of others meanwhile. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { SvcError } from "../../src/errors.ts";
import { type FolderRow, stateOf, syncRows } from "../../src/memory/transfer-folder.ts";
import { guardRow } from "../../src/secrets/policy.ts";
import type { Embedder } from "../../src/texts/embedder.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native, openStore, TestMemory } from "../fixture.ts";

let m: TestMemory;
beforeAll(async () => {
  m = await TestMemory.open();
});
afterAll(() => m.close());

const file = (id: string, text: string, more: Partial<FolderRow> = {}): FolderRow => ({ id, text, where: id, ...more });

/** The rows of a collection, each with its state. */
async function stored(collection: string) {
  const { ids } = await m.call("ids", { collection });
  const { rows } = await (await m.memory.terminal()).export_rows({ collection, ids, with_vectors: false });
  return new Map(rows.map((row) => [row.id, { ...row, state: stateOf(row) }]));
}

const sync = async (collection: string, rows: readonly FolderRow[], more: object = {}) =>
  (await m.memory.terminal()).sync_rows({ collection, rows, schema: {}, dryRun: false, ...more }, {});

test("what becomes of a row, and its state afterwards is that of the stored one", async () => {
  await m.call("add", {
    collection: "notes",
    texts: ["a", "b", "c"],
    ids: ["a", "b", "c"],
    metadata: [{ k: 1 }, null, { k: 3 }],
  });
  const before = await stored("notes");
  const base = (id: string) => ({ base: before.get(id)!.state });
  const rows = [
    file("a", "a edited", { metadata: { k: 1, scope: "default" }, ...base("a") }),
    file("b", "b", base("b")),
    file("c", "c edited", base("b")),
    file("d", "d", { metadata: { n: [1] }, created: 5, updated: 7 }),
    file("e", "e"),
  ];
  const planned = await sync("notes", rows, { dryRun: true });
  expect(await stored("notes")).toEqual(before);
  const done = await sync("notes", rows);
  expect(done).toEqual(planned);
  expect(done.rows.map((row) => row?.outcome)).toEqual(["updated", "same", "beside", "added", "added"]);
  const after = await stored("notes");
  for (const row of done.rows) expect(after.get(row!.id)!.state).toBe(row!.state);
  expect(after.get("c")).toEqual(before.get("c")!);
  expect(after.get("d")).toMatchObject({ created: 5, updated: 7, metadata: { n: [1], scope: "default" } });
  expect(done.rows[3]!.completed).toEqual(["scope", "default"]);
  expect(after.get("a")!.created).toBe(before.get("a")!.created);
  // Repeated, nothing is written.
  const again = await sync("notes", rows);
  expect(again.rows.map((row) => row?.outcome)).toEqual(["same", "same", "same", "same", "same"]);
  expect(await stored("notes")).toEqual(after);
});

test("metadata that were removed are removed, and one save undoes all", async () => {
  await m.call("add", { collection: "bare", texts: ["a", "b"], ids: ["a", "b"], metadata: [{ k: 1 }, { k: 2 }] });
  const before = await stored("bare");
  const done = await sync(
    "bare",
    ["a", "b"].map((id) => file(id, `${id} edited`, { base: before.get(id)!.state })),
  );
  expect(done.rows.map((row) => row?.completed)).toEqual([
    ["scope", "default"],
    ["scope", "default"],
  ]);
  expect((await stored("bare")).get("a")!.metadata).toEqual({ scope: "default" });
  await (await m.memory.terminal()).undo({ collection: "bare", force: false, dry_run: false }, {});
  const states = async () => [...(await stored("bare")).values()].map(({ state }) => state);
  expect(await states()).toEqual([...before.values()].map(({ state }) => state));
});

test("a row that another process changes while texts are embedded is not overwritten", async () => {
  const store = await openStore(m.dir);
  const own = new MultigramEmbedder((await native()).kernel);
  await m.call("add", { collection: "race", texts: ["a"], ids: ["a"] });
  const base = (await stored("race")).get("a")!.state;
  let calls = 0;
  // Without the model, so that the vectors are made before the lock is taken.
  const slow: Embedder = {
    profile: own.profile,
    embedDocuments: async (texts) => {
      if (texts.length > 0 && calls++ === 0)
        await m.call("update", { collection: "race", texts: ["of another"], ids: ["a"] });
      return own.embedDocuments(texts);
    },
    embedQueries: (texts) => own.embedQueries(texts),
  };
  const a = { collection: "race", rows: [file("a", "edited", { base })], schema: {}, dryRun: false };
  const done = await syncRows(store, slow, a, {});
  await store.close();
  expect(done.rows.map((row) => row?.outcome)).toEqual(["beside"]);
  expect([...(await stored("race")).values()].map(({ text }) => text)).toEqual(["of another", "edited"]);
});

test("rows whose files are gone are deleted as they were, and stay where they were changed", async () => {
  await m.call("add", { collection: "gone", texts: ["a", "b", "c"], ids: ["a", "b", "c"] });
  const before = await stored("gone");
  await m.call("update", { collection: "gone", texts: ["changed"], ids: ["b"] });
  const rows = ["a", "b", "absent"].map((id) => ({ id, base: before.get(id)?.state ?? "" }));
  const terminal = await m.memory.terminal();
  expect(await terminal.delete_unchanged({ collection: "gone", rows, dryRun: true }, {})).toEqual({
    deleted: ["a"],
    changed: ["b"],
  });
  expect((await stored("gone")).size).toBe(3);
  await terminal.delete_unchanged({ collection: "gone", rows, dryRun: false }, {});
  expect([...(await stored("gone")).keys()]).toEqual(["b", "c"]);
});

test("long ids, and a version beside a row whose id is as long as can be", async () => {
  const id = "é".repeat(256);
  await m.call("add", { collection: "long", texts: ["a"], ids: [id] });
  const { rows } = await sync("long", [file(id, "edited")]);
  expect(rows[0]).toMatchObject({ outcome: "beside", id: expect.stringMatching(/^row~[0-9a-f]{12}$/) });
});

test("credentials are refused with the file, or left out", async () => {
  const store = await openStore(m.dir);
  const embedder = new MultigramEmbedder((await native()).kernel);
  const secret = `ghp_${[...crypto.getRandomValues(new Uint8Array(18))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  const guard = (row: Parameters<typeof guardRow>[1]) => guardRow("refuse", row);
  const call = (rows: FolderRow[], onBad?: (error: SvcError) => void) =>
    syncRows(store, embedder, { collection: "secrets", rows, schema: {}, dryRun: false, onBad }, {}, guard);
  expect(call([file("a.md", `the token is ${secret}`)])).rejects.toThrow(/^a\.md: its text holds a credential/);
  const bad: string[] = [];
  const { rows } = await call([file("a.md", `the token is ${secret}`), file("b", "fine")], ({ message }) =>
    bad.push(message),
  );
  expect([rows.map((row) => row?.outcome), bad.length]).toEqual([[undefined, "added"], 1]);
  await store.close();
});
