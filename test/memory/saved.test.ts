/** What a client has saved since a time. */
import { expect, test } from "bun:test";
import { withOrigin } from "../../src/origin.ts";
import { TestMemory } from "../fixture.ts";

test("are the live rows of its saves, the last first; not those of others, before, deleted or undone", async () => {
  const m = await TestMemory.open();
  const add = (client: string | undefined, id: string, collection = "notes") =>
    withOrigin({ client }, () => m.call("add", { collection, ids: [id], texts: [`text of ${id}`] }));
  await add("claude-code", "before");
  await Bun.sleep(5);
  const since = Date.now();
  await add("claude-code", "one");
  await add("codex-mcp-client", "other");
  await add(undefined, "unknown");
  await add("Claude-Code", "gone");
  await withOrigin({ client: "claude-code" }, () => m.call("delete", { collection: "notes", ids: ["gone"] }));
  await add("claude-code", "undone");
  const terminal = await m.memory.terminal();
  await terminal.undo({ collection: "notes", id: "undone", force: false, dry_run: false }, {});
  await Bun.sleep(5);
  await add("claude-code", "two", "others");
  const asked = { since, client: "claude-code", limit: 10 };
  expect(await terminal.saved_since(asked)).toEqual({
    rows: [
      { collection: "others", id: "two", text: "text of two" },
      { collection: "notes", id: "one", text: "text of one" },
    ],
    total: 2,
  });
  expect(await terminal.saved_since({ ...asked, limit: 1 })).toMatchObject({ rows: [{ id: "two" }], total: 2 });
  expect(await terminal.saved_since({ ...asked, since: Date.now() + 1000 })).toEqual({ rows: [], total: 0 });
  expect(await terminal.saved_since({ ...asked, client: "codex" })).toMatchObject({ rows: [{ id: "other" }] });
});

test("rows that a client saved last are listed, the last first, under other conditions too", async () => {
  const m = await TestMemory.open();
  const put = (client: string, verb: "add" | "upsert", ids: string[], scope = "a") => {
    const metadata = ids.map(() => ({ scope }));
    return withOrigin({ client }, () => m.call(verb, { collection: "notes", ids, texts: ids, metadata }));
  };
  await put("codex", "add", ["one", "two", "three"]);
  await put("claude-code", "add", ["four"], "b");
  await put("claude-code", "upsert", ["two"]);
  await put("codex", "add", ["five"], "b");
  await m.call("delete", { collection: "notes", ids: ["three"] });
  const terminal = await m.memory.terminal();
  const listed = async (client: string, further: object = {}) => {
    const { rows, total } = await terminal.latest({ client, limit: 10, ...further });
    return [rows.map(({ id }) => id), total];
  };
  expect(await listed("codex", { collection: "notes" })).toEqual([["five", "one"], 2]);
  expect(await listed("claude-code")).toEqual([["two", "four"], 2]);
  expect(await listed("claude-code", { collection: "notes", limit: 1 })).toEqual([["two"], 2]);
  expect(await listed("claude-code", { collection: "notes", where: { column: "scope", value: "b" } })).toEqual([
    ["four"],
    1,
  ]);
  expect(await listed("nobody")).toEqual([[], 0]);
  await m.call("compact", { collection: "notes" });
  expect(await listed("codex")).toEqual([[], 0]);
});
