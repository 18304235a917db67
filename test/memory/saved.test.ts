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
