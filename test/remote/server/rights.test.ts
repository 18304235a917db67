/** What a named token may see and do: every operation and every tool beside a collection that it has no right to. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { VERBS, type VerbName } from "../../../src/memory/requests.ts";
import { newToken } from "../../../src/remote/tokens/token-text.ts";
import { OPS, type Op } from "../../../src/remote/wire/protocol.ts";
import { scratchDir } from "../../fixture.ts";
import { type Answer, large, type Raw } from "./raw.ts";
import { Site, tool, toolOk } from "./site.ts";

const FOREIGN = "beta";
const VECTORS = { vectors: [[1, 0]], ids: ["v"] };
const TEXTS = { texts: ["a kettle"], ids: ["t"] };

/** A call of each operation, but for `auth`. */
const CALLS: Record<Exclude<Op, "auth" | "call_tool">, [collection: boolean, args?: object]> = {
  ping: [false],
  collections: [false],
  create_collection: [true, { embedder: "multigram" }],
  open_collection: [true],
  add: [true, VECTORS],
  upsert: [true, VECTORS],
  add_texts: [true, TEXTS],
  upsert_texts: [true, TEXTS],
  search: [true, { vector: [1, 0] }],
  search_text: [true, { text: "kettle" }],
  search_hits: [true, { text: "kettle" }],
  get: [true, { ids: ["t"] }],
  ids: [true],
  delete: [true, { ids: ["nothing"] }],
  compact: [true],
  save: [true],
  stats: [true],
};

/** A call of each tool, without the collection. */
const TOOLS: Record<VerbName, object> = {
  search: { query: "kettle", with_text: true },
  add: { texts: ["a kettle"] },
  create_collection: {},
  list_collections: {},
  stats: {},
  upsert: { texts: ["a kettle"], ids: ["t"] },
  update: { texts: ["a kettle"], ids: ["t"] },
  delete: { ids: ["nothing"] },
  ids: {},
  count: {},
  get: { ids: ["t"] },
  search_lexical: { query: "kettle" },
  compact: {},
  build_ivf: { min_rows: 1 },
  build_lexical: {},
  tune: {},
  index_repo: { path: "/nowhere" },
  repo_search: { query: "kettle" },
  workspace_info: {},
};

const READS = new Set<string>([
  ...["ping", "collections", "open_collection", "search", "search_text", "search_hits", "get", "ids", "stats"],
  ...["svc_search", "svc_list_collections", "svc_stats", "svc_ids", "svc_count", "svc_get", "svc_search_lexical"],
]);

let site: Site;
let ada: Raw;

beforeAll(async () => {
  site = await Site.start();
  const root = await site.server.open();
  for (const name of ["alpha", FOREIGN]) {
    await toolOk(root, "create_collection", { name, lexical: true });
    await toolOk(root, "add", { collection: name, texts: ["the kettle of beta is broken"], ids: ["t"] });
    await toolOk(root, "build_lexical", { collection: name });
  }
  // A collection that is in memory only, and one that differs in case from a name that the token may use.
  await root.ok("create_collection", "beta-new", { dim: 2 });
  await root.ok("create_collection", "Apple-beta", { dim: 2 });
  ada = await site.as("ada", { collections: ["a*"] });
  // The word is in a text of alpha, which may be seen: it is taken out for this test.
  await toolOk(ada, "upsert", { collection: "alpha", texts: ["the kettle is broken"], ids: ["t"] });
});
afterAll(() => site[Symbol.asyncDispose]());

/** All that a token can be answered about one name, or about any name where it is undefined. */
async function replies(raw: Raw, name: string | undefined): Promise<Map<string, Answer>> {
  const all = new Map<string, Answer>();
  for (const op of OPS) {
    if (op === "auth" || op === "call_tool") continue;
    const [hasCollection, args] = CALLS[op];
    if (hasCollection === (name !== undefined)) all.set(op, await raw.ask(op, name, args));
    if (!hasCollection || name === undefined) continue;
    // The same by the decoder's thread.
    raw.send(large({ op, collection: name, args }));
    all.set(`${op}, large`, await raw.next());
  }
  for (const verb of VERBS) {
    const place = name === undefined ? {} : { [verb === "create_collection" ? "name" : "collection"]: name };
    const args = verb === "list_collections" ? {} : { ...TOOLS[verb], ...place };
    all.set(`svc_${verb}`, await tool(raw, verb, args));
  }
  return all;
}

test("no reply names a collection outside of the rights, whatever is requested", async () => {
  const names = [
    undefined,
    "alpha",
    "apple",
    "apple-beta".slice(0, 5),
    "atlas",
    "alphq",
    "bet",
    "*",
    "",
    "../x",
    "a".repeat(200),
  ];
  let count = 0;
  for (const name of names) {
    for (const [call, reply] of await replies(ada, name)) {
      count++;
      expect([call, name, JSON.stringify(reply).toLowerCase()]).toEqual([
        call,
        name,
        expect.not.stringContaining("beta"),
      ]);
    }
  }
  const server = await ada.ok("stats");
  expect(Object.keys(server).sort()).toEqual(["instance", "lost_saves", "unsaved_collections", "uptime_s", "version"]);
  expect(JSON.stringify(server)).not.toContain(FOREIGN);
  expect(count).toBeGreaterThan(400);
  const all = await toolOk(ada, "search", { collection: "*", query: "kettle", with_text: true });
  expect(all.hits.map(({ collection }: Answer) => collection)).toContain("alpha");
  expect(JSON.stringify(all)).not.toContain(FOREIGN);
});

test("one that is there is answered as one that is not", async () => {
  const [there, not] = [await replies(ada, FOREIGN), await replies(ada, "gamma")];
  expect([...there.keys()]).toEqual([...not.keys()]);
  for (const [call, reply] of there) {
    const asIf = JSON.stringify(not.get(call)).replaceAll("gamma", FOREIGN);
    if (call === "svc_list_collections") continue; // it has times
    expect([call, JSON.stringify(reply)]).toEqual([call, asIf]);
    if (CALLS[call.split(",")[0] as keyof typeof CALLS] || call.startsWith("svc_"))
      expect([call, reply.ok]).toEqual([call, false]);
  }
  expect(there.get("create_collection").error).toMatch(
    /^PermissionError: you have no right to a collection named 'beta'/,
  );
  expect(there.get("svc_add").error).toMatch(/^PermissionError: you have no right/);
  expect(there.get("search_text").error).toMatch(/^ValueError: collection 'beta' does not exist/);
  // Nothing of it was changed.
  const root = await site.server.open();
  expect(await root.ok("ids", FOREIGN)).toEqual(["t"]);
});

test("a name that differs only in case from a hidden one is refused without it", async () => {
  const { error } = await ada.ask("create_collection", "apple-beta", { dim: 2 });
  expect(error).toMatch(/^PermissionError|^ValueError/);
  expect(error).not.toContain("Apple");
});

test("lists and counts are of the collections of the rights", async () => {
  expect((await ada.ok("collections")).every((name: string) => name.startsWith("a"))).toBe(true);
  const bob = await site.as("bob", { collections: [FOREIGN] });
  expect(await bob.ok("collections")).toEqual([FOREIGN]);
  const { collections } = await toolOk(bob, "list_collections", {});
  expect(JSON.stringify(collections)).toContain(FOREIGN);
  expect(JSON.stringify(collections)).not.toContain("alpha");
  const [own, all] = [await bob.ok("stats"), await (await site.server.open()).ok("stats")];
  expect(own.unsaved_collections).toBe(0);
  expect(all.unsaved_collections).toBeGreaterThan(0);
  expect(all.ops.search.count).toBeGreaterThan(0);
  expect((await (await site.as("all")).ok("stats")).ops).toBeDefined();
});

test("a token that may only read is refused every change, and nothing else", async () => {
  const reader = await site.as("reader", { readOnly: true });
  const before = await reader.ok("stats", "alpha");
  for (const name of [undefined, "alpha", "fresh"]) {
    for (const [call, reply] of await replies(reader, name)) {
      const isRead = READS.has(call.split(",")[0]!);
      const isRefused =
        reply.error ===
        "PermissionError: this token may only read: ask the operator of the server for one that may write";
      expect([call, name, isRefused]).toEqual([call, name, !isRead]);
    }
  }
  const after = await reader.ok("stats", "alpha");
  expect([after.generation, after.external_ids, after.unsaved_changes]).toEqual([
    before.generation,
    before.external_ids,
    before.unsaved_changes,
  ]);
  expect(await reader.ok("collections")).not.toContain("fresh");
});

test("on a Unix socket an auth that is too large to be checked is refused, with whatever token", async () => {
  await using local = await Site.start({ tcp: false, socketPath: join(scratchDir(), "s.sock") });
  const good = await local.token("ada", { readOnly: true });
  for (const token of [good, newToken(), "anything"]) {
    const raw = await local.server.bare();
    raw.send(large({ op: "auth", args: { token } }));
    expect((await raw.next()).ok).toBe(false);
    await raw.end();
  }
});

test("on a Unix socket no token is needed, and a named one gives its rights", async () => {
  await using local = await Site.start({ tcp: false, socketPath: join(scratchDir(), "s.sock") });
  const root = await local.server.open();
  await root.ok("create_collection", FOREIGN, { dim: 2 });
  await root.ok("save", FOREIGN);
  const token = await local.token("ada", { collections: ["a*"] });
  const raw = await local.server.bare();
  expect(await raw.ok("collections")).toEqual([FOREIGN]);
  expect(await raw.ok("auth", undefined, { token: "anything" })).toEqual({ authenticated: true });
  expect(await raw.ok("collections")).toEqual([FOREIGN]);
  await raw.ok("auth", undefined, { token });
  expect(await raw.ok("collections")).toEqual([]);
  // It does not get the rights of the socket back.
  expect((await raw.ask("auth", undefined, { token: "anything" })).error).toBe("unauthorized");
  await raw.end();
  const wrong = await local.server.bare();
  expect(
    (await wrong.ask("auth", undefined, { token: `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}` })).error,
  ).toBe("unauthorized");
  expect(local.server.logged("unauthorized").at(-1)?.message).toContain("mistyped");
});
