/** The history of a collection, with the executable: who made each save, how far back it goes, and where it stays. */
import { beforeAll, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { clockAhead } from "./clock.ts";
import { Session, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
});

const mem = (...args: string[]) => svc(env, ["mem", ...args]);
const done = async (...args: string[]) => {
  const { code, out, err } = await mem(...args);
  if (code !== 0) throw new Error(`svc mem ${args.join(" ")} ended with ${code}: ${err}`);
  return out;
};
const json = async (...args: string[]) => JSON.parse(await done(...args, "--json"));
// biome-ignore lint/suspicious/noExplicitAny: a payload is JSON, and a test reads what it expects of it
const savesOf = async (name: string): Promise<any[]> => (await json("history", name, "--limit", "0")).saves;
const HOUR = 3600;

test("each save has who made it: the client, its version, the tool and the session", async () => {
  const collection = "origins";
  await done("add", collection, "by hand", "--id", "a");
  const sessions = [
    await Session.of(new Client({ name: "claude-code", version: "2.1" }), env.HOME!, env),
    await Session.of(new Client({ name: `long ${"x".repeat(5000)}`, version: "\u001b[31m1" }), env.HOME!, env),
  ];
  for (const [i, session] of sessions.entries()) {
    await session.call("svc_upsert", { collection, texts: ["by a client"], ids: [`c${i}`] });
    await session.call("svc_delete", { collection, ids: [`c${i}`] });
    await session.close();
  }
  await done("undo", collection, "--yes");
  const saves = (await savesOf(collection)).reverse();
  expect(saves.map(({ origin }) => [origin.client, origin.tool])).toEqual([
    ["terminal", "add"],
    ["claude-code", "svc_upsert"],
    ["claude-code", "svc_delete"],
    [`long ${"x".repeat(95)}`, "svc_upsert"],
    [`long ${"x".repeat(95)}`, "svc_delete"],
    ["terminal", "undo"],
  ]);
  expect((await svc(env, ["--version"])).out).toContain(saves[0].origin.version);
  expect(saves[1].origin).toMatchObject({ version: "2.1", session: saves[2].origin.session });
  expect(saves[3].origin.session).not.toBe(saves[1].origin.session);
  expect(saves[5].origin.undoes).toEqual([[5, 5]]);
  const table = await done("history", collection);
  expect(table).toMatch(/^3 +\S+ \S+ +claude-code 2\.1 +svc_delete +1 deleted$/m);
  expect(table).toMatch(/^6 +.* undo of 5 +1 added$/m);
  expect(table).not.toContain("\u001b");
});

test("a client that does not say who it is", async () => {
  const said = async (info: object | undefined) => {
    const messages = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, ...info } },
      { id: 2, method: "tools/call", params: { name: "svc_add", arguments: { collection: "unnamed", texts: ["x"] } } },
    ];
    const input = messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("");
    expect((await svc(env, ["mcp"], input)).code).toBe(0);
    return (await savesOf("unnamed"))[0].origin;
  };
  const unnamed = { client: "an MCP client", tool: "svc_add", session: expect.any(String) };
  expect(await said({})).toEqual(unnamed);
  expect(await said({ clientInfo: { name: 7, version: null } })).toEqual(unnamed);
  expect(await said({ clientInfo: "text" })).toEqual(unnamed);
  expect(await said({ clientInfo: { name: "half" } })).toEqual({ ...unnamed, client: "half" });
});

test("--since counts from the first save at or after a time, also where a clock was set back", async () => {
  const at = async (hours: number, ...args: string[]) => {
    const { code, err } = await svc({ ...env, ...clockAhead(-hours * HOUR) }, ["mem", ...args]);
    expect([code, err]).toEqual([0, ""]);
  };
  await at(9, "add", "clock", "one", "--id", "a");
  await at(5, "upsert", "clock", "two", "--ids", "b");
  await at(8, "upsert", "clock", "three", "--ids", "c"); // set back
  await at(2, "upsert", "clock", "four", "--ids", "d");
  const since = (hours: number) => String(Date.now() - hours * HOUR * 1000);
  const undone = async (hours: number) => {
    const { first, last, removed } = await json("undo", "clock", "--dry-run", "--since", since(hours));
    return [first, last, removed];
  };
  expect(await undone(3)).toEqual([4, 4, ["d"]]);
  expect(await undone(6)).toEqual([2, 4, ["b", "c", "d"]]);
  expect(await undone(100)).toEqual([1, 4, ["a", "b", "c", "d"]]);
  const none = await mem("undo", "clock", "--since", since(1));
  expect([none.code, none.err]).toEqual([
    1,
    expect.stringMatching(/since \S+Z changed rows: its history reaches back/),
  ]);
  expect(await done("undo", "clock", "--since", since(6))).toMatch(/^undid saves 2 to 4 of clock, from .*: 3 rows\n/);
  expect(await done("ids", "clock")).toBe("a\n");
}, 60_000);

test("alter says how much is kept; compact removes it, unless it is to stay", async () => {
  await done("add", "kept", "one", "two", "--ids", "a,b");
  await done("delete", "kept", "a");
  expect((await json("alter", "kept", "--history-days", "10", "--history-percent", "50")).history).toEqual({
    days: 10,
    percent: 50,
  });
  const later = await svc({ ...env, ...clockAhead(11 * 24 * HOUR) }, ["mem", "history", "kept"]);
  expect([later.code, later.out]).toEqual([0, ""]);
  expect(later.err).toContain("the history of kept is empty");
  expect((await savesOf("kept")).length).toBe(2);
  expect(await done("compact", "kept", "--keep-history")).toBe("compacted kept\n");
  expect((await savesOf("kept")).length).toBe(2);
  expect(await json("compact", "kept")).toMatchObject({ compacted: "kept", saves_dropped: 2 });
  expect(await savesOf("kept")).toEqual([]);
  for (const [words, message] of [
    [["--history-days", "-1"], "-1 days of history cannot be kept"],
    [["--history-percent", "1.5"], "1.5 percent of history cannot be kept"],
    [[], "nothing to change"],
  ] as const) {
    const { code, err } = await mem("alter", "kept", ...words);
    expect([code === 0, err]).toEqual([false, expect.stringContaining(message)]);
  }
  await done("alter", "kept", "--history-days", "0");
  await done("delete", "kept", "b");
  const off = await mem("undo", "kept");
  expect([off.code, off.err]).toEqual([
    1,
    expect.stringContaining("collection 'kept' keeps no history, so there is nothing to undo: 'svc mem alter kept"),
  ]);
});

test("a backup, a restore, a rename and an alter carry it", async () => {
  await done("add", "carried", "one", "two", "--ids", "a,b");
  await done("upsert", "carried", "new", "--ids", "a");
  await done("compact", "carried", "--keep-history");
  await done("delete", "carried", "b");
  const saves = await savesOf("carried");
  const backup = join(env.HOME!, "backup");
  await done("backup", backup);
  await done("rename", "carried", "renamed");
  expect(await savesOf("renamed")).toEqual(saves);
  await done("alter", "renamed", "--filter-column", "x");
  expect(await savesOf("renamed")).toEqual(saves);
  await done("restore", backup, "carried");
  expect(await savesOf("carried")).toEqual(saves);
  for (const name of ["carried", "renamed"]) {
    await done("undo", name, "--since", "0");
    expect(await done("count", name)).toBe("0\n");
  }
  expect((await mem("check")).code).toBe(0);
  const files = readdirSync(join(env.SVC_HOME!, "memory", "carried"));
  expect(files.filter((file) => file.startsWith("history-")).length).toBe(1);
});

test("the index of a repository is indexed again instead", async () => {
  const root = join(env.HOME!, "repo");
  await Bun.write(join(root, "a.ts"), "export const value = 1;\n");
  writeFileSync(join(root, "b.ts"), "export const other = 2;\n");
  await done("index", root);
  const { code, err } = await mem("undo", "repo_symbols");
  expect([code, err]).toEqual([1, expect.stringContaining("index it again instead")]);
  expect(await savesOf("repo_symbols")).toEqual([]);
});
