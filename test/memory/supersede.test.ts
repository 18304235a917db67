/** Rows that a new one replaces: the mark, its save, what takes it back, and where such rows rank. */
import { expect, test } from "bun:test";
import { parseArguments } from "../../src/memory/arguments.ts";
import { openMemory } from "../../src/memory/open.ts";
import type { VerbName } from "../../src/memory/requests.ts";
import { withOrigin } from "../../src/origin.ts";
import { openStore, scratchDir, TestMemory } from "../fixture.ts";
import { openBuiltNative } from "../native.ts";

const collection = "notes";
const TEXTS = ["The retro is on Friday at ten.", "The pager rotates weekly.", "Green tea at 70 degrees."];
const IDS = ["friday", "pager", "tea"];

async function memory(): Promise<TestMemory> {
  const m = await TestMemory.open();
  await m.call("create_collection", { name: collection, lexical: true });
  const metadata = [{ scope: "work", kind: "fact" }, null, { scope: "home" }];
  await m.call("add", { collection, texts: TEXTS, ids: IDS, metadata });
  await m.call("build_lexical", { collection });
  return m;
}

const rowsOf = async (m: TestMemory, ids: string[]) => (await m.call("get", { collection, ids })).rows;
const metadataOf = async (m: TestMemory, id: string) => (await rowsOf(m, [id]))[0].metadata;
const saves = async (m: TestMemory) => (await (await m.memory.terminal()).history({ collection, limit: 99 })).saves!;
const found = async (m: TestMemory, query: string, verb: VerbName = "search") =>
  (await m.call(verb, { collection, query, top_k: 10 })).hits.map(({ id }: { id: string }) => id);

test("the old rows say by what they are replaced, in the same save; all else of them stays", async () => {
  const m = await memory();
  const before = await rowsOf(m, IDS);
  const vectors = async () => {
    const stored = (await openStore(m.dir)).open(collection);
    return stored.get(["friday", "pager"], { vector: true }).map(({ vector }) => vector);
  };
  const vectorsBefore = await vectors();
  const texts = ["The retro is on Monday at nine.", "Lunch is at noon."];
  const supersedes = ["friday", "pager", "friday"];
  const answer = await m.call("add", { collection, texts, ids: ["monday", "lunch"], supersedes });
  expect(answer).toMatchObject({ added: 2, superseded: 2 });
  const [friday, pager, tea] = await rowsOf(m, IDS);
  expect(friday).toEqual({ ...before[0], metadata: { ...before[0].metadata, superseded_by: "monday" } });
  expect(pager).toEqual({ ...before[1], metadata: { superseded_by: "monday" } });
  expect(tea).toEqual(before[2]);
  expect(await vectors()).toEqual(vectorsBefore);
  expect((await saves(m))[0]).toMatchObject({ added: 2, replaced: 2, deleted: 0 });
  expect((await m.call("count", { collection, where: { scope: "work" } })).count).toBe(1);
  expect((await m.call("count", { collection, where: { scope: "default" } })).count).toBe(3);
});

test("generated ids: the first one replaces, and an upsert does the same", async () => {
  const m = await memory();
  const added = await m.call("add", {
    collection,
    texts: ["Retro on Monday.", "Lunch at noon."],
    supersedes: ["friday"],
  });
  expect((await metadataOf(m, "friday")).superseded_by).toBe(added.ids[0]);
  const upserted = await m.call("upsert", { collection, texts: ["Tea at 80."], ids: null, supersedes: ["tea"] });
  expect(upserted).toMatchObject({ upserted: 1, superseded: 1 });
  expect(await metadataOf(m, "tea")).toEqual({ scope: "home", superseded_by: upserted.ids[0] });
  expect(await m.call("upsert", { collection, texts: ["x"], ids: ["x"], supersedes: [] })).not.toHaveProperty(
    "superseded",
  );
});

test("replaced rows rank last, on every page, and say so", async () => {
  const m = await memory();
  const question = "when is the retro on friday";
  expect((await found(m, question))[0]).toBe("friday");
  await m.call("add", { collection, texts: ["The retro is on Monday."], ids: ["monday"], supersedes: ["friday"] });
  for (const verb of ["search", "search_lexical"] as const) {
    const order = await found(m, question, verb);
    expect(order[0]).toBe("monday");
    expect(order.at(-1)).toBe("friday");
  }
  const { hits } = await m.call("search", { collection, query: question, where: { scope: "work" } });
  expect(hits).toMatchObject([{ id: "friday", metadata: { superseded_by: "monday" } }]);
  const metadata = { scope: "default", pad: "x".repeat(600) };
  await m.call("update", { collection, texts: ["Tea."], ids: ["tea"], metadata: [metadata] });
  const given: string[] = [];
  let after: string | undefined;
  do {
    const page = await m.call("search", { collection, query: question, top_k: 10, max_bytes: 1000, after });
    given.push(...page.hits.map(({ id }: { id: string }) => id));
    after = page.next;
  } while (after !== undefined);
  expect(given).toEqual(await found(m, question));
  expect(given.at(-1)).toBe("friday");
});

test("unknown ids, ids of the call and too many are refused, and nothing is written", async () => {
  const m = await memory();
  const count = (await saves(m)).length;
  const add = (more: object) => m.call("add", { collection, texts: ["new"], ids: ["new"], ...more });
  await expect(add({ supersedes: ["friday", "gone", "x"] })).rejects.toThrow(
    "supersedes has 2 ids, among them 'gone', 'x', not in collection 'notes'; nothing was written",
  );
  await expect(add({ supersedes: ["new"] })).rejects.toThrow("supersedes has id 'new', of the call itself");
  const upsert = { collection, texts: ["other"], ids: ["friday"], supersedes: ["friday", "tea"] };
  await expect(m.call("upsert", upsert)).rejects.toThrow("supersedes has id 'friday', of the call itself");
  await expect(add({ supersedes: Array.from({ length: 101 }, (_, i) => `${i}`) })).rejects.toThrow("100");
  await expect(add({ supersedes: "friday" })).rejects.toThrow("supersedes must be an array");
  // An id that exists: neither the text nor the mark is there.
  await expect(add({ ids: ["pager"], supersedes: ["friday"] })).rejects.toThrow("exists already");
  expect(await metadataOf(m, "friday")).toEqual({ scope: "work", kind: "fact" });
  expect((await saves(m)).length).toBe(count);
  await expect(m.call("add", { collection: "fresh", texts: ["a"], supersedes: ["b"] })).rejects.toThrow(
    "supersedes has id 'b', not in collection 'fresh'",
  );
  expect((await m.call("list_collections")).collections).toEqual([collection]);
});

test("a text that is there already replaces by the row that has it, unless that is the one to replace", async () => {
  const m = await memory();
  const again = { collection, texts: [TEXTS[1]!, "new"], skip_duplicates: true };
  await m.call("add", { ...again, supersedes: ["friday"] });
  expect((await metadataOf(m, "friday")).superseded_by).toBe("pager");
  await expect(m.call("add", { ...again, texts: [TEXTS[1]!], supersedes: ["pager"] })).rejects.toThrow(
    "supersedes has id 'pager', the row that has this text already: nothing was written",
  );
});

test("a new text makes a row current again; of a circle the last one written is current", async () => {
  const m = await memory();
  await m.call("add", { collection, texts: ["Retro on Monday."], ids: ["monday"], supersedes: ["friday", "pager"] });
  await m.call("update", { collection, texts: [TEXTS[0]!], ids: ["friday"] });
  expect(await metadataOf(m, "friday")).toEqual({ scope: "work", kind: "fact", superseded_by: "monday" });
  const metadata = [{ kind: "fact", superseded_by: "monday" }];
  await m.call("update", { collection, texts: ["The retro was on Friday."], ids: ["friday"], metadata });
  expect((await metadataOf(m, "friday")).superseded_by).toBe("monday");
  await m.call("update", { collection, texts: ["The retro is on Friday again."], ids: ["friday"] });
  expect(await metadataOf(m, "friday")).toEqual({ kind: "fact", scope: "default" });
  await m.call("update", { collection, texts: ["The pager rotates daily."], ids: ["pager"] });
  expect(await metadataOf(m, "pager")).toBeUndefined();

  await m.call("upsert", { collection, texts: ["Retro on Tuesday."], ids: ["tuesday"], supersedes: ["monday"] });
  await m.call("upsert", {
    collection,
    texts: ["Retro on Monday, finally."],
    ids: ["monday"],
    supersedes: ["tuesday"],
  });
  expect(await metadataOf(m, "monday")).toBeUndefined();
  expect(await metadataOf(m, "tuesday")).toEqual({ superseded_by: "monday" });
  const order = await found(m, "retro on tuesday or monday");
  expect(order.at(-1)).toBe("tuesday");
});

test("the history shows the mark with its origin, and an undo takes back mark and row", async () => {
  const m = await memory();
  const terminal = await m.memory.terminal();
  const before = await rowsOf(m, ["friday"]);
  const add = { collection, texts: ["Retro on Monday."], ids: ["monday"], supersedes: ["friday"] };
  await withOrigin({ client: "one", tool: "svc_add" }, () => m.call("add", add));
  await withOrigin({ client: "two", tool: "svc_delete" }, () => m.call("delete", { collection, ids: ["tea"] }));
  const { versions } = await terminal.history({ collection, id: "friday", limit: 9 });
  expect(versions![0]).toMatchObject({ kind: "replaced", row: { metadata: { superseded_by: "monday" } } });
  expect(versions![1]!.row!.metadata).toEqual({ scope: "work", kind: "fact" });

  const clients = async (client: string, id?: string) => {
    const { saves, versions } = await terminal.history({ collection, limit: 9, client, id });
    return (saves ?? versions!.map(({ save }) => save)).map(({ origin }) => origin);
  };
  expect(await clients("one")).toEqual([expect.objectContaining({ client: "one", tool: "svc_add" })]);
  expect(await clients("two")).toEqual([expect.objectContaining({ tool: "svc_delete" })]);
  expect(await clients("three")).toEqual([]);
  expect(await clients("one", "friday")).toHaveLength(1);
  expect(await clients("two", "friday")).toEqual([]);
  expect(await terminal.history({ collection, limit: 1, client: "one" })).not.toHaveProperty("more");

  const { save } = (await saves(m))[1]!;
  const undone = await terminal.undo({ collection, save, force: false, dry_run: false }, {});
  expect(undone).toMatchObject({ undone: 2, reverted: ["friday"], removed: ["monday"] });
  expect(await rowsOf(m, ["friday"])).toEqual([{ ...before[0], updated: expect.any(Number) }]);
});

test("a mark keeps the row's vector of meaning, and outlives a compaction", async () => {
  const home = scratchDir();
  const m = await openMemory({ path: `${home}/memory`, native: await openBuiltNative(), home, version: "0.0.0-test" });
  const call = (verb: VerbName, args: object) => m[verb](parseArguments(verb, args) as never, {});
  try {
    await call("add", { collection, texts: TEXTS, ids: IDS });
    const terminal = await m.terminal();
    const exported = async () => (await terminal.export_rows({ collection, ids: IDS, with_vectors: true })).rows;
    const before = await exported();
    await call("add", { collection, texts: ["Retro on Monday."], ids: ["monday"], supersedes: ["friday"] });
    await call("compact", { collection });
    const after = await exported();
    expect(after.map(({ meaning, vector }) => ({ meaning, vector }))).toEqual(
      before.map(({ meaning, vector }) => ({ meaning, vector })),
    );
    expect(after[0]!.metadata).toEqual({ superseded_by: "monday" });
    const { hits } = (await call("search", { collection, query: TEXTS[0]! })) as { hits: { id: string }[] };
    expect(hits.at(-1)!.id).toBe("friday");
  } finally {
    await m.close();
  }
});
