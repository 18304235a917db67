/** `svc mcp --project` over the protocol: what `initialize` says of the scope, and which one each call has. */
import { afterEach, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { temporary } from "../repo/helpers.ts";
import { Client } from "./client.ts";

let client: Client;
afterEach(async () => {
  expect(await client.close()).toBe(0);
});

/** The instructions of a server, and the scope of a call. */
async function start(env: Record<string, string>, capabilities: object = {}, roots?: () => string[]): Promise<string> {
  client = new Client(env);
  client.answer = roots && (() => ({ result: { roots: roots().map((path) => ({ uri: `file://${path}` })) } }));
  const { result } = await client.request("initialize", { protocolVersion: "2025-06-18", capabilities });
  return result.instructions;
}
const scope = async () => JSON.parse((await client.call("svc_workspace_info")).text).project;

/** A folder of this name. */
function folder(name: string): string {
  const path = join(temporary(), name);
  mkdirSync(path);
  return path;
}

const sentence = (scope: string) => `Without a scope, rows get '${scope}', and its rows come first.`;

test("without the flag there is none", async () => {
  expect(await start({ FIXTURE_WORKSPACE: folder("shop") })).not.toContain("Without a scope");
  expect(await scope()).toBeUndefined();
});

test("a scope that is named is that of all calls", async () => {
  expect(await start({ FIXTURE_PROJECT: "🦊" }, { roots: {} }, () => [folder("shop")])).toContain(sentence("🦊"));
  expect(await scope()).toBe("🦊");
});

test("of a workspace that is configured initialize knows the scope", async () => {
  const env = { FIXTURE_PROJECT: "auto", FIXTURE_WORKSPACE: folder("shop") };
  expect(await start(env, { roots: {} }, () => [folder("other")])).toContain(sentence("shop"));
  expect(await scope()).toBe("shop");
});

test("of the client's roots it does not, and each call has that of the roots as they are then", async () => {
  let at = folder("one");
  const instructions = await start({ FIXTURE_PROJECT: "auto" }, { roots: { listChanged: true } }, () => [at]);
  expect(instructions).not.toContain("Without a scope");
  expect(await scope()).toBe("one");
  at = folder("two");
  await client.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
  expect(await scope()).toBe("two");
});

test("where the client has no roots, and where it answers none, the working directory counts", async () => {
  const instructions = await start({ FIXTURE_PROJECT: "auto" });
  const here = await scope();
  expect(instructions).toContain(sentence(here));
  await client.close();
  expect(await start({ FIXTURE_PROJECT: "auto" }, { roots: {} }, () => [])).not.toContain("Without a scope");
  expect(await scope()).toBe(here);
});

test("a client in another project does not move the rows that it replaces", async () => {
  const memory = { FIXTURE_MEMORY: folder("memory") };
  const put = async (tool: string, ids: string[], metadata?: object[]) => {
    const rows = { collection: "notes", ids, texts: ids.map((id) => `${tool} ${id}`), metadata };
    const { text, isError } = await client.call(tool, rows);
    expect({ text, isError }).toMatchObject({ isError: false });
    return JSON.parse(text).notice;
  };
  const metadataOf = async (ids: string[]) => {
    const { text } = await client.call("svc_get", { collection: "notes", ids });
    return JSON.parse(text).rows.map((row: { metadata?: object }) => row.metadata);
  };
  await start({ ...memory, FIXTURE_PROJECT: "shop" });
  await put("svc_add", ["bare", "kind", "moved"], [{}, { kind: "fact" }, { scope: "home" }]);
  await client.close();
  await start({ ...memory, FIXTURE_PROJECT: "other" });
  expect(await put("svc_upsert", ["bare", "new"])).toBeUndefined();
  expect(await put("svc_upsert", ["kind"], [{ kind: "open" }])).toBeUndefined();
  expect(await put("svc_update", ["moved"], [{ kind: "open" }])).toBeUndefined();
  expect(await metadataOf(["bare", "new", "kind", "moved"])).toEqual([
    { scope: "shop" },
    { scope: "other" },
    { kind: "open", scope: "shop" },
    { kind: "open", scope: "home" },
  ]);
  expect(await put("svc_upsert", ["kind"])).toBe(
    "1 replaced row had metadata and has only the scope left: svc_update keeps metadata",
  );
  await put("svc_upsert", ["moved"], [{ scope: "other" }]);
  expect(await metadataOf(["kind", "moved"])).toEqual([{ scope: "shop" }, { scope: "other" }]);
  await client.close();
  // Without a project an upsert replaces the scope as all other metadata.
  await start(memory);
  expect(await put("svc_upsert", ["bare"])).toContain("1 moved to scope 'default'");
});
