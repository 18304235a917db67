/** `undo` as a verb: its answer, what it does to searches by words, and whose rows it leaves alone. */
import { expect, test } from "bun:test";
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";

const undo = async (m: TestMemory, collection: string, more: { force?: boolean; dry_run?: boolean } = {}) =>
  (await m.memory.terminal()).undo({ collection, force: false, dry_run: false, ...more }, {});

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
  const saved = { saved: expect.any(Number) };
  const deleted = { collection, undone: 1, ...saved, restored: ["a"], reverted: [], changed: [], left: [] };
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
  const replaced = { collection, undone: 2, ...saved, restored: [], reverted: ["b", "c"], changed: [], left: ["d"] };
  expect(await undo(m, collection)).toEqual(replaced);
  await m.call("delete", { collection, ids: ["d"] });
  expect(await asked()).toEqual(before);
  await undo(m, collection);
  expect((await m.call("ids", { collection })).ids).toEqual(["b", "c", "a", "d"]);
});

test("a row that was added again is counted only where it is replaced", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  await m.call("add", { collection, texts: ["one", "two"], ids: ["a", "b"] });
  await m.call("delete", { collection, ids: ["a", "b"] });
  await m.call("add", { collection, texts: ["another"], ids: ["a"] });
  const plan = await undo(m, collection, { dry_run: true });
  expect(plan).toMatchObject({ undone: 1, restored: ["b"], changed: ["a"] });
  await expect(undo(m, collection)).rejects.toThrow("id 'a' of collection 'notes' cannot be undone");
  expect(await undo(m, collection, { force: true })).toMatchObject({ undone: 2, changed: ["a"] });
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

test("of many rows that stay the first ones are named, with how many more there are", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  await m.call("add", { collection, texts: ["one", "two"], ids: ["a", "b"] });
  await m.call("delete", { collection, ids: ["a"] });
  const ids = Array.from({ length: 130 }, (_, i) => `r${i}`);
  await m.call("add", { collection, texts: ids, ids });
  const plan = await undo(m, collection, { dry_run: true });
  expect(plan).toMatchObject({ restored: ["a"], left: ids.slice(0, 100), left_omitted: 30 });
});
