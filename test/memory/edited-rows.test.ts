/** What a person sees, edits and deletes on the terminal, as verbs over a real memory. */
import { expect, test } from "bun:test";
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";

const collection = "notes";

async function withNotes() {
  const m = await TestMemory.open();
  const ids = ["deploy", "depot", "pager"];
  const texts = ["we deploy blue green", "green tea", "the pager rotates"];
  const metadata = [{ scope: "ops", n: "1" }, { scope: "home" }, { scope: "ops" }];
  await m.call("add", { collection, ids, texts, metadata });
  return { m, terminal: await m.memory.terminal() };
}

test("an id may be typed in part where only one begins so; a live id is itself", async () => {
  const { m, terminal } = await withNotes();
  await m.call("add", { collection, ids: ["dep"], texts: ["short"] });
  const whole = (...ids: string[]) => terminal.full_ids({ collection, ids });
  expect(await whole("p", "dep", "deplo", "none")).toEqual(["pager", "dep", "deploy", "none"]);
  await expect(whole("pager", "de")).rejects.toThrow(
    "3 ids of collection 'notes' begin with 'de': 'deploy', 'depot' and 'dep'; type more of the id",
  );
  await m.call("add", { collection, ids: ["des", "det"], texts: ["a", "b"] });
  await expect(whole("de")).rejects.toThrow("'deploy', 'depot', 'dep' and 2 more;");
  await m.call("delete", { collection, ids: ["depot"] });
  expect(await whole("depo")).toEqual(["depo"]);
  // A tool takes whole ids only.
  expect((await m.call("get", { collection, ids: ["pag"] })).rows).toEqual([{ id: "pag", found: false }]);
});

test("the latest rows of one collection, and of all but those of repositories", async () => {
  const { m, terminal } = await withNotes();
  await Bun.sleep(2);
  await m.call("update", { collection, ids: ["depot"], texts: ["green tea: 75 degrees"] });
  const root = realpathSync(scratchDir());
  writeFileSync(join(root, "a.ts"), "export const value = 1;\n");
  await m.call("index_repo", { path: root });
  await Bun.sleep(2);
  await m.call("add", { collection: "other", ids: ["x"], texts: ["a longer text"] });
  const { rows, total } = await terminal.latest({ collection, limit: 2, text_bytes: 9 });
  expect(rows.map(({ id, text, truncated }) => [id, text, truncated])).toEqual([
    ["depot", "green tea", true],
    ["pager", "the pager", true],
  ]);
  expect(rows[0]!.updated).toBeGreaterThan(rows[0]!.created);
  expect(total).toBe(3);
  const all = await terminal.latest({ limit: 3 });
  expect(all.rows.map((row) => `${row.collection}/${row.id}`)).toEqual(["other/x", "notes/depot", "notes/pager"]);
  expect(all).toMatchObject({ total: 4 });
  const since = await terminal.latest({ limit: 9, since: rows[0]!.updated });
  expect(since.rows.map(({ id }) => id)).toEqual(["x", "depot"]);
  const where = { column: "scope", value: "ops" };
  expect(await terminal.latest({ collection, where, limit: 1 })).toMatchObject({ rows: [{ id: "pager" }], total: 2 });
  expect((await terminal.latest({ collection: "repo_symbols", limit: 1 })).rows[0]!.text).toContain("value = 1");
  await expect(terminal.latest({ collection: "none", limit: 1 })).rejects.toThrow("does not exist");
});

test("an edit saves text and metadata with their types, and is one save that can be undone", async () => {
  const { m, terminal } = await withNotes();
  const before = await terminal.editable_row({ collection, id: "deploy" });
  expect(before).toEqual({ text: "we deploy blue green", metadata: { scope: "ops", n: "1" } });
  const after = { text: "we deploy canaries", metadata: { scope: "team", n: 1, list: [null, "1"] } };
  expect(await terminal.edit({ collection, id: "deploy", before, after }, {})).toEqual({
    collection,
    id: "deploy",
    edited: true,
  });
  const read = async () => (await m.call("get", { collection, ids: ["deploy"] })).rows[0];
  expect(await read()).toMatchObject(after);
  expect((await m.call("search", { collection, query: "canaries", where: { scope: "team" } })).hits).toHaveLength(1);
  await terminal.undo({ collection, force: false, dry_run: false }, {});
  expect(await read()).toMatchObject(before);
});

test("what another writer saved meanwhile is never overwritten", async () => {
  const { m, terminal } = await withNotes();
  const edit = async (id: string, between: () => Promise<unknown>) => {
    const before = await terminal.editable_row({ collection, id });
    await between();
    return terminal.edit({ collection, id, before, after: { ...before, text: "mine" } }, {});
  };
  const texts = ["theirs"];
  await expect(edit("deploy", () => m.call("update", { collection, ids: ["deploy"], texts }))).rejects.toThrow(
    "row 'deploy' of collection 'notes' was changed by another process while you edited it: nothing was saved",
  );
  const metadata = [{ scope: "home", n: 2 }];
  const sameText = ["theirs"];
  await expect(
    edit("deploy", () => m.call("update", { collection, ids: ["deploy"], texts: sameText, metadata })),
  ).rejects.toThrow("was changed by another process");
  await expect(edit("pager", () => m.call("delete", { collection, ids: ["pager"] }))).rejects.toThrow(
    "row 'pager' of collection 'notes' was deleted while you edited it: nothing was saved",
  );
  const ids = ["deploy", "pager"];
  const { rows } = await m.call("get", { collection, ids });
  expect(rows).toMatchObject([{ text: "theirs" }, { found: false }]);
  // The same content again is not a conflict: nothing of another writer would be lost.
  expect(await edit("deploy", () => m.call("update", { collection, ids: ["deploy"], texts }))).toMatchObject({
    edited: true,
  });
});

test("rows that cannot be edited", async () => {
  const { m, terminal } = await withNotes();
  const root = realpathSync(scratchDir());
  writeFileSync(join(root, "a.ts"), "export const value = 1;\n");
  await m.call("index_repo", { path: root });
  const [id] = (await m.call("ids", { collection: "repo_symbols" })).ids;
  await expect(terminal.editable_row({ collection: "repo_symbols", id })).rejects.toThrow("edit its files");
  await expect(terminal.matching({ collection: "repo_symbols" })).rejects.toThrow("svc mem repos --forget");
  await expect(terminal.editable_row({ collection, id: "none" })).rejects.toThrow("has no row 'none'");
});

test("a delete of what matches, unless other rows match by then", async () => {
  const { m, terminal } = await withNotes();
  const where = { column: "scope", value: "ops" };
  const planned = await terminal.matching({ collection, where });
  expect(planned.ids).toEqual(["deploy", "pager"]);
  await Bun.sleep(2);
  const late = Date.now();
  await m.call("update", { collection, ids: ["pager"], texts: ["the pager rotates weekly"] });
  await expect(terminal.delete_matching({ collection, where, planned }, {})).rejects.toThrow(
    "collection 'notes' was changed after its rows were counted, so nothing was deleted",
  );
  expect((await terminal.matching({ collection, where, until: late })).ids).toEqual(["deploy"]);
  expect(await terminal.delete_matching({ collection, until: late }, {})).toEqual({ deleted: 2, collection });
  expect((await m.call("ids", { collection })).ids).toEqual(["pager"]);
  expect(await terminal.undo({ collection, force: false, dry_run: true }, {})).toMatchObject({ undone: 2 });
  await expect(terminal.matching({ collection, where: { column: "n", value: 1 } })).rejects.toThrow("n");
});

test("one collection in detail", async () => {
  const { m, terminal } = await withNotes();
  await m.call("add", { collection, texts: ["a"], metadata: [{ scope: null }] });
  expect(await terminal.detail({ collection })).toMatchObject({
    name: collection,
    rows: 4,
    partition_by: "scope",
    partition_count: 3,
    partitions: [{ key: "ops", rows: 2 }, { rows: 1 }, { rows: 1 }],
    dim: 2048,
  });
  await expect(terminal.detail({ collection: "note" })).rejects.toThrow("did you mean 'notes'?");
});
