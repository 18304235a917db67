/** Who has made a change, and how much a token may store. */
import { expect, test } from "bun:test";
import { NamedToken } from "../../../src/remote/tokens/named-token.ts";
import { addToken } from "../../../src/remote/tokens/token-file.ts";
import { readUsage } from "../../../src/remote/tokens/usage-file.ts";
import { savesOf } from "../../../src/texts/history/history.ts";
import { openStore, scratchDir } from "../../fixture.ts";
import { ask, large } from "./raw.ts";
import { Site, tool, toolOk } from "./site.ts";

/** The authors of a collection's saves, the latest first. */
async function authors(dir: string, name: string): Promise<(string | undefined)[]> {
  const store = await openStore(dir);
  const found = [...savesOf(store.open(name))].map(({ origin }) => origin.author);
  await store.close();
  return found;
}

test("each save names its author, over the operations and over the tools", async () => {
  await using site = await Site.start();
  const [ada, bob, root] = [await site.as("ada"), await site.as("Bob B."), await site.server.open()];
  await toolOk(ada, "add", { collection: "notes", texts: ["a kettle"], ids: ["a"] });
  await bob.ok("upsert_texts", "notes", { texts: ["a lamp"], ids: ["b"] });
  await bob.ok("save", "notes");
  await root.ok("delete", "notes", { ids: ["b"] });
  await root.ok("save", "notes");
  await toolOk(bob, "delete", { collection: "notes", ids: ["a"] });
  expect(await authors(site.dir, "notes")).toEqual(["Bob B.", undefined, "Bob B.", "ada"]);
});

test("a save of changes by several names all of them", async () => {
  await using site = await Site.start();
  const [ada, bob, root] = [await site.as("ada"), await site.as("bob"), await site.server.open()];
  await ada.ok("create_collection", "notes", { embedder: "multigram" });
  await ada.ok("add_texts", "notes", { texts: ["a"], ids: ["a"] });
  await bob.ok("add_texts", "notes", { texts: ["b"], ids: ["b"] });
  await ada.ok("add_texts", "notes", { texts: ["c"], ids: ["c"] });
  await root.ok("save", "notes");
  await root.ok("add_texts", "notes", { texts: ["d"], ids: ["d"] });
  await bob.ok("delete", "notes", { ids: ["d", "a"] });
  await bob.ok("save", "notes");
  expect(await authors(site.dir, "notes")).toEqual(["without a name, bob", "ada, bob"]);
});

test("a client cannot hide the author with long fields of its own", async () => {
  await using site = await Site.start();
  const ada = await site.as("ada");
  await toolOk(ada, "add", { collection: "notes", texts: ["a"], ids: ["a"] });
  for (const field of ["client", "version", "session"]) {
    for (const long of ["x".repeat(5000), "\u0000".repeat(5000), "\u{1f600}".repeat(5000)]) {
      const reply = await tool(ada, "delete", { collection: "notes", ids: ["a"] }, { [field]: long });
      expect(reply.ok).toBe(true);
      await toolOk(ada, "upsert", { collection: "notes", texts: ["a"], ids: ["a"] });
    }
  }
  expect(new Set(await authors(site.dir, "notes"))).toEqual(new Set(["ada"]));
});

test("a save of changes by very many counts those for whom there is no room", async () => {
  await using site = await Site.start();
  const names = Array.from({ length: 80 }, (_, i) => `${"person ".repeat(8)}${i}`);
  const root = await site.server.open();
  await root.ok("create_collection", "notes", { dim: 2 });
  for (const name of names) {
    const raw = await site.as(name);
    await raw.ok("upsert", "notes", { vectors: [[1, 0]], ids: ["a"] });
  }
  await root.ok("save", "notes");
  const [author] = await authors(site.dir, "notes");
  expect(author).toStartWith(`${names[0]}, ${names[1]}, `);
  expect(author).toMatch(/ and \d+ more$/);
  const [, more] = / and (\d+) more$/.exec(author!)!;
  expect(author!.split(", ").length + Number(more)).toBe(names.length);
});

test("a server with a licence names its holder where no token is named", async () => {
  await using site = await Site.start({ author: "build-farm" });
  await toolOk(await site.server.open(), "add", { collection: "notes", texts: ["a"] });
  await toolOk(await site.as("ada"), "add", { collection: "notes", texts: ["b"] });
  expect(await authors(site.dir, "notes")).toEqual(["ada", "build-farm"]);
});

test("rows and bytes are counted over the life of a token, and refused with the numbers", async () => {
  const dir = scratchDir();
  const site = await Site.start({ dir });
  const token = await site.token("ada", { rowsMax: 6, bytesMax: 5096 });
  const ada = await site.with(token);
  await ada.ok("create_collection", "notes", { embedder: "multigram" });
  await ada.ok("add_texts", "notes", { texts: ["one", "two"], ids: ["1", "2"] });
  await toolOk(ada, "add", { collection: "notes", texts: ["three"], ids: ["3"] });
  // What fails is not counted.
  expect((await ada.ask("add_texts", "notes", { texts: ["x", "y"], ids: ["1", "9"] })).error).toMatch(/^KeyError/);
  expect((await tool(ada, "add", { collection: "notes", texts: ["x"], ids: ["1"] })).error).toMatch(/^KeyError/);
  const over = "PermissionError: token 'ada' may store 6 rows in all and has stored 4: 3 more are too many";
  const three = { texts: ["a", "b", "c"], ids: ["a", "b", "c"] };
  expect((await ada.ask("upsert_texts", "notes", three)).error).toStartWith(over);
  expect((await tool(ada, "upsert", { collection: "notes", ...three })).error).toStartWith(over);
  ada.send(large({ op: "upsert_texts", collection: "notes", args: three }));
  expect((await ada.next()).error).toStartWith(over);
  expect((await ada.ask("upsert_texts", "notes", { texts: ["x".repeat(2000)], ids: ["z"] })).error).toMatch(
    /token 'ada' may store 5096 bytes in all and has stored \d+: 2001 more are too many/,
  );
  // A replaced row counts, a deleted one gives nothing back.
  await ada.ok("upsert_texts", "notes", { texts: ["one"], ids: ["1"] });
  await ada.ok("delete", "notes", { ids: ["1", "2", "3"] });
  expect((await ada.ask("add_texts", "notes", { texts: ["a", "b"], ids: ["a", "b"] })).error).toContain(
    "has stored 5: 2 more",
  );
  await ada.ok("save", "notes");
  await site.server.stop();
  expect([...readUsage(dir).values()][0]).toMatchObject({ rows: 5, bytes: 4096 + 3 + 3 + 5 + 3 + 4 });
  await using later = await Site.start({ dir });
  const again = await later.with(token);
  expect((await again.ask("add_texts", "notes", { texts: ["a", "b"], ids: ["a", "b"] })).error).toContain(
    "has stored 5: 2 more",
  );
  await again.ok("add_texts", "notes", { texts: ["a"], ids: ["a"] });
  // Another token, or the one of the server, has no such limit.
  await (await later.server.open()).ok("add_texts", "notes", { texts: ["b"], ids: ["b"] });
});

test("a quota bounds collections too", async () => {
  await using site = await Site.start();
  const none = await site.as("none", { rowsMax: 0 });
  const few = await site.as("few", { bytesMax: 10_000 });
  const root = await site.server.open();
  expect((await none.ask("create_collection", "a", { dim: 2 })).error).toContain("a new collection counts as one row");
  expect((await tool(none, "create_collection", { name: "a" })).error).toMatch(/^PermissionError/);
  expect(await toolOk(few, "create_collection", { name: "b" })).toMatchObject({ created: "b" });
  await toolOk(few, "add", { collection: "c", texts: ["x"] });
  expect((await tool(few, "add", { collection: "d", texts: ["x"] })).error).toMatch(/^PermissionError/);
  for (const name of ["b", "c"]) await few.ok("upsert_texts", name, { texts: ["x"] });
  expect(await toolOk(few, "create_collection", { name: "b" })).toMatchObject({ created: "b" });
  expect((await few.ask("create_collection", "d", { embedder: "multigram" })).error).toMatch(/^PermissionError/);
  expect((await root.ok("collections")).sort()).toEqual(["c"]); // b is not saved yet
});

test("a put that fails after the counts were written leaves them as they are", async () => {
  const dir = scratchDir();
  const { record } = await addToken(dir, { name: "ada", readOnly: false, rowsMax: 10 });
  const token = new NamedToken(record);
  const failing = token.charge(6, 60);
  expect(() => token.charge(5, 50)).toThrow("has stored 6: 5 more");
  const now = Date.now();
  token.used(now);
  expect(token.tally.usage).toEqual({ rows: 0, bytes: 0, used: now });
  failing.takeBack();
  token.expire();
  expect(token.tally.usage).toEqual({ rows: 0, bytes: 0, used: now, isExpired: true });
  token.charge(10, 1).keep();
  expect(() => token.charge(1, 1)).toThrow("has stored 10: 1 more");
});

test("calls at the same time do not exceed a quota together", async () => {
  await using site = await Site.start();
  const token = await site.token("ada", { rowsMax: 11 });
  const raws = await Promise.all(Array.from({ length: 8 }, () => site.with(token)));
  await raws[0]!.ok("create_collection", "notes", { embedder: "multigram" });
  for (const [i, raw] of raws.entries())
    for (let j = 0; j < 5; j++) raw.send(ask("add_texts", "notes", { texts: ["x"], ids: [`${i}-${j}`] }));
  let accepted = 0;
  for (const raw of raws) for (let j = 0; j < 5; j++) if ((await raw.next()).ok) accepted++;
  expect(accepted).toBe(10);
  expect((await raws[0]!.ok("ids", "notes")).length).toBe(10);
});
