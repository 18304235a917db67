/** `undo` and `history` as verbs: their answers, searches by words afterwards, and whose rows are left alone. */
import { expect, test } from "bun:test";
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../src/errors.ts";
import { fileWith, flipBits, sectionsOf } from "../collection-files.ts";
import { openStore, scratchDir, TestMemory } from "../fixture.ts";

const undo = async (
  m: TestMemory,
  collection: string,
  more: { force?: boolean; dry_run?: boolean; save?: number; id?: string; since?: number } = {},
) => (await m.memory.terminal()).undo({ collection, force: false, dry_run: false, ...more }, {});
const history = async (m: TestMemory, more: { save?: number; id?: string; limit?: number } = {}) =>
  (await m.memory.terminal()).history({ collection: "notes", limit: 20, ...more });

test("says what it would do, does it, and searches find the rows again", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  const texts = ["we deploy blue green", "the retro is on Friday", "pagers rotate weekly"];
  const metadata = [{ scope: "ops" }, null, { scope: "ops", n: 1.5 }];
  await m.call("create_collection", { name: collection, lexical: true });
  await m.call("add", { collection, texts, ids: ["a", "b", "c"], metadata });
  await m.call("build_lexical", { collection });
  const asked = () =>
    Promise.all([
      m.text("search", { collection, query: "blue retro", with_score: true, with_text: true }),
      m.text("search", { collection, query: "rotate", where: { scope: "ops" }, with_score: true }),
      m.text("search_lexical", { collection, query: "pagers deploy" }),
    ]);
  const before = await asked();
  const { rows } = await m.call("get", { collection, ids: ["a", "b", "c"] });
  await m.call("delete", { collection, ids: ["a"] });
  const none = { restored: [], reverted: [], removed: [], changed: [], lost: [] };
  const of = (save: number) => ({ collection, first: save, last: save, saved: expect.any(Number) });
  const deleted = { ...of(3), undone: 1, ...none, restored: ["a"] };
  expect(await undo(m, collection, { dry_run: true })).toEqual({ ...deleted, dry_run: true });
  expect((await m.call("count", { collection })).count).toBe(2);
  const from = Date.now();
  expect(await undo(m, collection)).toEqual(deleted);
  expect(await asked()).toEqual(before);
  const back = (await m.call("get", { collection, ids: ["a", "b", "c"] })).rows;
  expect(back[0]).toEqual({ ...rows[0], updated: expect.any(Number) });
  expect(back[0].updated).toBeGreaterThanOrEqual(from);
  expect(back.slice(1)).toEqual(rows.slice(1));

  await m.call("update", { collection, texts: ["nothing", "at all"], ids: ["b", "c"], metadata: [{ x: 1 }, { y: 2 }] });
  await m.call("add", { collection, texts: ["one more"], ids: ["d"] });
  expect(await undo(m, collection)).toEqual({ ...of(6), undone: 1, ...none, removed: ["d"] });
  expect(await undo(m, collection)).toEqual({ ...of(5), undone: 2, ...none, reverted: ["b", "c"] });
  expect(await asked()).toEqual(before);
  await undo(m, collection, { save: 8 });
  expect((await m.call("ids", { collection })).ids).toEqual(["b", "c", "a"]);
});

test("a row that a later save changed is counted only where it is taken back", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  await m.call("add", { collection, texts: ["one", "two"], ids: ["a", "b"] });
  await m.call("delete", { collection, ids: ["a", "b"] });
  await m.call("add", { collection, texts: ["another"], ids: ["a"] });
  const plan = await undo(m, collection, { save: 2, dry_run: true });
  expect(plan).toMatchObject({ undone: 1, restored: ["b"], changed: ["a"] });
  expect(await undo(m, collection, { save: 2, force: true })).toMatchObject({ undone: 2, changed: ["a"] });
  expect((await m.call("get", { collection, ids: ["a"] })).rows[0].text).toBe("one");
  await expect(undo(m, "none")).rejects.toThrow("collection 'none' does not exist");
});

test("rows of a repository follow its files", async () => {
  const root = realpathSync(scratchDir());
  writeFileSync(join(root, "a.ts"), "export const value = 1;\n");
  const m = await TestMemory.open();
  await m.call("index_repo", { path: root });
  const [id] = (await m.call("ids", { collection: "repo_symbols" })).ids;
  await m.call("delete", { collection: "repo_symbols", ids: [id] });
  for (const dry_run of [true, false]) {
    await expect(undo(m, "repo_symbols", { dry_run, force: true })).rejects.toThrow(
      "collection 'repo_symbols' holds the index of a repository, whose rows follow its files: index it again instead",
    );
  }
});

test("the history lists saves, the ids of a save, and the versions of a row", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  expect(await undo(m, collection).catch(String)).toContain("collection 'notes' does not exist");
  await m.call("add", { collection, texts: ["one", "two"], ids: ["a", "b"], metadata: [{ n: 1 }, null] });
  await m.call("update", { collection, texts: ["new"], ids: ["a"] });
  await m.call("delete", { collection, ids: ["a"] });
  await undo(m, collection);
  const time = expect.any(Number);
  const save = (number: number, counts: [number, number, number], more = {}) => {
    const [added, replaced, deleted] = counts;
    return { save: number, time, origin: expect.any(Object), added, replaced, deleted, ...more };
  };
  const saves = [save(4, [1, 0, 0]), save(3, [0, 0, 1], { undone_by: 4 }), save(2, [0, 1, 0]), save(1, [2, 0, 0])];
  expect(await history(m)).toEqual({ collection, saves });
  expect(await history(m, { limit: 2 })).toEqual({ collection, saves: saves.slice(0, 2), more: true });
  const changes = [
    { id: "a", kind: "added" },
    { id: "b", kind: "added" },
  ] as const;
  expect(await history(m, { save: 1 })).toEqual({ collection, save: saves[3]!, changes: [...changes] });
  expect(await history(m, { save: 1, limit: 1 })).toEqual({
    collection,
    save: saves[3]!,
    changes: [changes[0]],
    more: true,
  });
  expect(await history(m, { save: 1, id: "b" })).toMatchObject({ changes: [changes[1]] });
  await expect(history(m, { save: 9 })).rejects.toThrow(
    "the history of collection 'notes' has no save 9: it reaches back to save 1",
  );
  const { versions } = await history(m, { id: "a" });
  expect(versions!.map(({ kind, row }) => [kind, row?.text, row?.metadata?.n])).toEqual([
    ["added", "new", 1],
    ["deleted", undefined, undefined],
    ["replaced", "new", 1],
    ["added", "one", 1],
  ]);
  expect(versions![0]!.row!.created).toBe(versions![3]!.row!.created);
  expect(await history(m, { id: "a", limit: 1 })).toMatchObject({ versions: [{ kind: "added" }], more: true });
  expect(await history(m, { id: "none" })).toEqual({ collection, id: "none", versions: [] });
});

test("queries see live rows only, whatever the history has", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  await m.call("create_collection", { name: collection, lexical: true });
  await m.call("add", { collection, texts: ["zebra crossing", "quiet street"], ids: ["a", "b"] });
  await m.call("build_lexical", { collection });
  await m.call("update", { collection, texts: ["loud street"], ids: ["b"] });
  await m.call("delete", { collection, ids: ["a"] });
  for (const step of ["delta", "history"]) {
    expect([step, (await m.call("count", { collection })).count]).toEqual([step, 1]);
    expect((await m.call("ids", { collection })).ids).toEqual(["b"]);
    expect((await m.call("get", { collection, ids: ["a"] })).rows).toEqual([{ id: "a", found: false }]);
    const texts = await m.text("search", { collection, query: "zebra quiet", with_text: true });
    expect(texts).not.toContain("zebra crossing");
    expect(texts).not.toContain("quiet street");
    expect((await m.call("search_lexical", { collection, query: "zebra" })).hits).toEqual([]);
    expect((await m.call("stats", { collection })).stats.live_rows).toBe(1);
    if (step === "delta") await (await m.memory.terminal()).compact({ collection, keep_history: true }, {});
  }
  expect(await undo(m, collection, { since: 0 })).toMatchObject({ removed: ["b"] });
});

test("svc_compact removes the history; the command keeps it with --keep-history", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  const terminal = await m.memory.terminal();
  await m.call("add", { collection, texts: ["one", "two"], ids: ["a", "b"] });
  await m.call("delete", { collection, ids: ["a"] });
  expect(await terminal.compact({ collection, keep_history: true }, {})).toMatchObject({
    compacted: collection,
    rows_dropped: 0,
    saves_dropped: 0,
  });
  expect((await history(m)).saves!.length).toBe(2);
  await m.call("compact", { collection });
  expect((await history(m)).saves).toEqual([]);
  await expect(undo(m, collection)).rejects.toThrow(
    "there is nothing to undo in collection 'notes': its history is empty",
  );
  await m.call("add", { collection, texts: ["three"], ids: ["c"] });
  await m.call("delete", { collection, ids: ["b"] });
  const dropped = await terminal.compact({ collection, keep_history: false }, {});
  expect(dropped).toMatchObject({ rows_dropped: 1, saves_dropped: 2 });
  expect(dropped.bytes_freed).toBeGreaterThan(0);
});

test("rows that were purged are left out of an undo", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  await m.call("add", { collection, texts: ["one", "two"], ids: ["a", "b"] });
  await m.call("delete", { collection, ids: ["a", "b"] });
  const store = await openStore(m.dir);
  await store.open(collection).purge(["a"]);
  expect(await history(m, { save: 2 })).toMatchObject({ changes: [{ id: "b", kind: "deleted" }] });
  expect((await history(m, { id: "a" })).versions).toEqual([]);
  expect(await undo(m, collection)).toMatchObject({ restored: ["b"] });
  await expect(undo(m, collection, { id: "a" })).rejects.toThrow("and no save changed this id");
});

test("of a damaged history the rows that can be read come back; without one, errors name file and remedy", async () => {
  const collection = "notes";
  const damagedIn = async (section: number) => {
    const m = await TestMemory.open();
    await m.call("add", { collection, texts: ["one", "two", "three"], ids: ["a", "b", "c"] });
    await m.call("update", { collection, texts: ["new", "newer"], ids: ["a", "b"] });
    await (await m.memory.terminal()).compact({ collection, keep_history: true }, {});
    await m.call("update", { collection, texts: ["newest"], ids: ["a"] });
    await m.close();
    const file = fileWith(join(m.dir, collection), "history-");
    flipBits(file, sectionsOf(file).find(({ id }) => id === section)!.offset + 5);
    return TestMemory.open(m.dir);
  };
  const rows = await damagedIn(4);
  expect((await history(rows, { id: "a" })).versions!.map(({ kind, row }) => [kind, row?.text])).toEqual([
    ["replaced", "newest"],
    ["replaced", "new"],
    ["added", undefined],
  ]);
  for (const force of [false, true]) {
    const plan = await undo(rows, collection, { save: 2, force, dry_run: true });
    expect(plan).toMatchObject({ reverted: ["b"], changed: [], lost: ["a"], undone: 1 });
  }
  expect(await undo(rows, collection, { save: 2, id: "a" }).catch((error) => error.message)).toBe(
    "save 2 of collection 'notes' was not undone: id 'a' was damaged in the history",
  );
  expect(await undo(rows, collection, { save: 2, force: true })).toMatchObject({ reverted: ["b"], lost: ["a"] });
  const texts = async (m: TestMemory) =>
    (await m.call("get", { collection, ids: ["a", "b", "c"] })).rows.map(({ text }: { text: string }) => text);
  expect(await texts(rows)).toEqual(["newest", "two", "three"]);
  const saves = await damagedIn(1);
  expect(await texts(saves)).toEqual(["newest", "newer", "three"]);
  for (const call of [() => history(saves), () => history(saves, { id: "a" }), () => undo(saves, collection)]) {
    const error = await call().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OSError);
    expect(error.message).toMatch(
      /^collection 'notes' is damaged: history-\w{16}\.slab: .*'svc mem check notes --repair'/,
    );
  }
  await saves.call("compact", { collection });
  expect((await history(saves)).saves).toEqual([]);
});
