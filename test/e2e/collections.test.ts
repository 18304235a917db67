/** Collections dropped, renamed, altered and restored by the executable, beside a server and a client that have them open. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../src/remote/client/client.ts";
import { Screen } from "../cli/terminal.ts";
import { type Ended, Session, SVC, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
let session: Session;

beforeAll(async () => {
  env = await signedIn();
  session = await Session.open(env);
});

afterAll(() => session.close());

const mem = (...words: string[]): Promise<Ended> => svc(env, ["mem", ...words]);
const folder = () => join(env.SVC_HOME!, "memory");

async function done(...words: string[]): Promise<string> {
  const { code, out, err } = await mem(...words);
  expect({ words, code, err }).toEqual({ words, code: 0, err: "" });
  return out;
}

test("a client that has a collection open finds it described, altered, renamed and gone", async () => {
  await session.call("svc_add", { collection: "notes", texts: ["we deploy blue green"], ids: ["deploy"] });
  expect((await session.call("svc_search", { collection: "notes", query: "deploy" })).hits).toHaveLength(1);
  expect(await done("describe", "notes", "what the team decided")).toBe("described notes\n");
  expect(await done("describe", "notes")).toBe("what the team decided\n");
  expect(await session.call("svc_list_collections")).toEqual({
    collections: ["notes"],
    details: [
      {
        name: "notes",
        rows: 1,
        scopes: { default: 1 },
        last_write: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d(Z|[+-]\d\d:\d\d)$/),
        description: "what the team decided",
      },
    ],
  });

  const without = await session.raw("svc_search_lexical", { collection: "notes", query: "deploy" });
  expect(without.isError).toBe(true);
  expect(await done("alter", "notes", "--lexical", "--filter-column", "lang")).toBe(
    "altered notes: 1 row, filter columns scope, lang, search by word, search by meaning\n",
  );
  await session.call("svc_upsert", { collection: "notes", texts: ["ship it"], ids: ["b"], metadata: [{ lang: "en" }] });
  expect((await session.call("svc_search_lexical", { collection: "notes", query: "ship" })).hits).toHaveLength(1);
  expect((await session.call("svc_count", { collection: "notes", where: { lang: "en" } })).count).toBe(1);

  expect(await done("rename", "notes", "decisions")).toBe("renamed notes to decisions\n");
  const gone = "ValueError: collection 'notes' does not exist (there is 'decisions')";
  expect(await session.raw("svc_count", { collection: "notes" })).toEqual({ text: gone, isError: true });
  expect((await session.call("svc_count", { collection: "decisions" })).count).toBe(2);

  expect(await done("drop", "decisions", "--yes")).toBe("dropped decisions\n");
  expect((await session.raw("svc_count", { collection: "decisions" })).isError).toBe(true);
  expect(await session.call("svc_list_collections")).toEqual({ collections: [] });
  expect(readdirSync(folder())).toEqual([]);
  // The name is free.
  await session.call("svc_add", { collection: "decisions", texts: ["again"] });
  await done("drop", "decisions", "--yes");
});

test("without a terminal a drop has to be meant, and of several all have to be there", async () => {
  await done("create", "a", "--description", "first");
  await done("create", "b");
  const unsaid = await mem("drop", "a", "b");
  expect([unsaid.code, unsaid.err]).toEqual([
    2,
    "svc: drop removes a, b for good: say so with --yes; see 'svc mem drop --help'\n",
  ]);
  expect((await mem("drop", "a", "c", "--yes")).err).toContain("collection 'c' does not exist");
  const { collections, details } = JSON.parse(await done("list", "--json"));
  expect(collections).toEqual(["a", "b"]);
  expect(details[0]).toMatchObject({
    name: "a",
    description: "first",
    rows: 0,
    lexical: false,
    filter_columns: ["scope"],
  });
  expect(JSON.parse(await done("drop", "a", "b", "--yes", "--json"))).toEqual({ dropped: ["a", "b"] });
});

test("a backup is restored, one that is there only with --replace, and a damaged one is named", async () => {
  await done("add", "notes", "one", "--id", "1");
  await done("add", "other", "two", "--id", "2");
  const backup = join(env.HOME!, "backup");
  await done("backup", backup, "--copy");
  await done("add", "notes", "three", "--id", "3");
  const refused = await mem("restore", backup);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(
    "the memory has 'notes' and 'other' already: --replace replaces them with those of the backup",
  );
  expect(await done("restore", backup, "notes", "--replace")).toMatch(/^replaced notes: 1 row, \d+ KB\n$/);
  expect(await done("ids", "notes")).toBe("1\n");
  const base = readdirSync(join(backup, "other")).find((file) => file.startsWith("base-"))!;
  writeFileSync(join(backup, "other", base), "no base");
  await done("drop", "notes", "other", "--yes");
  const partial = await mem("restore", backup);
  expect([partial.code, partial.out.split(":")[0]]).toEqual([1, "restored notes"]);
  expect(partial.err).toStartWith("svc: other is not restored: collection 'other' is damaged");
  expect(await done("list", "--json").then((out) => JSON.parse(out).collections)).toEqual(["notes"]);
});

test("a server's unsaved changes are waited for", async () => {
  mkdirSync(join(env.HOME!, "run"), { recursive: true, mode: 0o700 });
  const socket = join(env.HOME!, "run", "s.sock");
  const server = Bun.spawn([SVC, "serve", "--socket", socket], { env, cwd: env.HOME!, stdout: "pipe", stderr: "pipe" });
  try {
    while (!existsSync(socket)) await Bun.sleep(20);
    await using client = await connect(socket);
    const held = await client.createCollection("held", { dim: 2 });
    await held.add([Float32Array.of(1, 0)], { ids: ["a"] });
    await held.save();
    await held.add([Float32Array.of(0, 1)], { ids: ["b"] });
    const dropping = mem("drop", "held", "--yes");
    await Bun.sleep(300);
    expect((await done("list")).includes("held")).toBe(true);
    await held.save();
    expect(await dropping).toEqual({ code: 0, out: "dropped held\n", err: "" });
    await expect(held.delete(["a"])).rejects.toThrow("collection 'held' does not exist (create it first)");
  } finally {
    server.kill();
    await server.exited;
  }
});

test("on a terminal a drop shows what would be gone and asks", async () => {
  await done("create", "kept", "--description", "what we need");
  using no = new Screen([SVC, "mem", "drop", "kept"], env);
  await no.until(/kept: 0 rows, \d+ KB, last written just now, "what we need"\r\ndrop it for good\?/);
  no.type("n\n");
  expect(await no.ended).toBe(1);
  expect(no.text).toContain("nothing was dropped");
  expect(await done("list")).toContain("kept");
  using yes = new Screen([SVC, "mem", "drop", "kept"], env);
  await yes.until(/drop it for good\?/);
  yes.type("kept\n");
  expect(await yes.ended).toBe(0);
  expect(yes.text).toContain("dropped kept");
});
