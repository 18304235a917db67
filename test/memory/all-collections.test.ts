/** `svc_search` with the collection "*": which collections it reads, and what its answer says of the others. */
import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { renameCollection } from "../../src/store/moves.ts";
import { weakFirst } from "../../src/texts/notices.ts";
import { changeFile, fileWith, flipBits } from "../collection-files.ts";
import { openStore, scratchDir, TestMemory } from "../fixture.ts";
import { project } from "../repo/helpers.ts";

const QUERY = "who feeds the quokka";
const search = (m: TestMemory, args: object = {}) => m.call("search", { collection: "*", query: QUERY, ...args });
const idsOf = ({ hits }: { hits: { collection: string; id: string }[] }) =>
  hits.map(({ collection, id }) => `${collection} ${id}`);

/** A memory with the collections "a", "b" and "c" of a row each. */
async function three(dir = scratchDir()): Promise<TestMemory> {
  const m = await TestMemory.open(dir);
  const texts = { a: "Ada feeds the quokka at noon.", b: "The quokka sleeps.", c: "Ben feeds the hens." };
  for (const [collection, text] of Object.entries(texts)) {
    await m.call("add", { collection, ids: ["same"], texts: [text], metadata: [{ scope: "zoo" }] });
  }
  return m;
}

test("searches all collections of texts in one ranking, and says where each hit is", async () => {
  const m = await three();
  const { collection, hits, notice } = await search(m, { with_text: true, with_score: true, with_times: true });
  expect([collection, notice]).toEqual(["*", undefined]);
  expect(idsOf({ hits })).toEqual(["a same", "b same", "c same"]);
  expect(hits[0]).toMatchObject({ text: "Ada feeds the quokka at noon.", created: expect.any(Number) });
  expect(hits[0].score).toBeGreaterThan(hits[1].score);
  const recency = { field: "created", half_life_days: 1, weight: 0.1 };
  expect(idsOf(await search(m, { recency })).sort()).toEqual(["a same", "b same", "c same"]);
});

test("leaves out repositories and raw vectors", async () => {
  const m = await three();
  await m.call("index_repo", { path: project(2) });
  const { store } = (m.memory as unknown as { parts: { store: import("../../src/store/store.ts").Store } }).parts;
  await store.create("raw", { dim: 4, partitionBy: "scope", filterColumns: [] }).add({
    ids: ["v"],
    vectors: new Float32Array(4),
  });
  const answer = await search(m, { top_k: 50 });
  expect([idsOf(answer).length, answer.notice]).toEqual([3, undefined]);
});

test("a collection that is named * is meant instead", async () => {
  const m = await three();
  const star = { ids: ["star"], texts: ["The quokka is fed."] };
  await expect(m.call("add", { collection: "*", ...star })).rejects.toThrow("'*' stands for all collections");
  await m.call("add", { collection: "star", ...star });
  // From before there was a search of all.
  await renameCollection(await openStore(m.dir), "star", "*");
  const { hits } = await search(m);
  expect(hits).toEqual([{ id: "star" }]);
});

test("without collections there are no hits, and the notice names what makes one", async () => {
  const m = await TestMemory.open();
  expect(await search(m)).toMatchObject({
    hits: [],
    notice: "there are no collections of texts: svc_add makes one",
  });
  await three(m.dir);
  expect(await search(m, { query: "?!" })).toMatchObject({ hits: [], notice: "the query has no words" });
});

test("other verbs do not take *", async () => {
  const m = await three();
  const args = { collection: "*", query: QUERY };
  await expect(m.call("search_lexical", args)).rejects.toThrow("'*' stands for all collections in svc_search only");
});

test("collections without the column of the condition are named, the first few", async () => {
  const m = await three();
  for (let i = 0; i < 2; i++) {
    await m.call("create_collection", { name: `t${i}`, filter_columns: ["topic"] });
    await m.call("add", { collection: `t${i}`, texts: ["a quokka"], ids: ["x"], metadata: [{ topic: `zoo ${i}` }] });
  }
  const found = await search(m, { where: { topic: "zoo 1" } });
  expect(idsOf(found)).toEqual(["t1 x"]);
  expect(found.notice).toBe("collections that were not searched because they have no column topic: 'a', 'b' and 'c'");
  for (const collection of ["d", "e"]) await m.call("add", { collection, texts: ["hens"] });
  expect((await search(m, { where: { topic: "zoo 1" } })).notice).toEndWith(": 'a', 'b', 'c' and 2 more");
  expect(idsOf(await search(m, { where: { scope: "zoo" } }))).toHaveLength(3);
});

test("goes on where an answer ended", async () => {
  const m = await three();
  const texts = Array.from({ length: 40 }, (_, i) => `quokka number ${i} ${"eats leaves ".repeat(8)}`);
  const ids = texts.map((_, i) => `row ${i}`);
  for (const collection of ["p", "q"]) await m.call("add", { collection, texts, ids });
  const args = { with_text: true, top_k: 83, query: "quokka eats" };
  const all = idsOf(await search(m, { ...args, max_bytes: 0 }));
  expect(new Set(all).size).toBe(83);
  const pages: string[] = [];
  let after: string | undefined;
  let count = 0;
  do {
    const page = await search(m, { ...args, max_bytes: 6000, after });
    pages.push(...idsOf(page));
    after = page.next;
    count++;
  } while (after !== undefined);
  expect(pages).toEqual(all);
  expect(count).toBeGreaterThan(2);
});

test("marks weak hits by the words of all collections, and shows the turns beside a hit", async () => {
  const m = await three();
  const weak = await search(m, { query: "when does the lighthouse keeper paint the quokka", with_text: true });
  expect(weak.hits[0]).toMatchObject({ weak: true });
  expect(weak.hits[0].text).toBeUndefined();
  expect(weak.notice).toInclude(weakFirst());
  const turns = [
    ["one", "Which animal is on the island?"],
    ["two", "A wombat, as of today."],
  ];
  const metadata = turns.map((_, i) => ({ session: "s", turn: i }));
  const [ids, texts] = [turns.map(([id]) => id), turns.map(([, text]) => text)];
  await m.call("add", { collection: "chat", ids, texts, metadata });
  const { hits } = await search(m, { query: "wombat", with_neighbours: true });
  expect(hits[0]).toMatchObject({ collection: "chat", id: "two" });
  expect(hits[0].neighbours).toEqual({ before: { id: "one", text: "Which animal is on the island?" } });
});

test("sees what other processes change, and a collection that they remove", async () => {
  const m = await three();
  expect(idsOf(await search(m))).toHaveLength(3);
  const other = await TestMemory.open(m.dir);
  await other.call("add", { collection: "b", ids: ["new"], texts: ["Cleo feeds the quokka, who feeds Cleo."] });
  await other.call("delete", { collection: "a", ids: ["same"] });
  expect(idsOf(await search(m))).toEqual(["b new", "b same", "c same"]);
  rmSync(join(m.dir, "b"), { recursive: true });
  const { hits, notice } = await search(m);
  expect([idsOf({ hits }), notice]).toEqual([["c same"], undefined]);
});

describe("a collection that cannot be read", () => {
  const saved = async () => {
    const m = await three();
    for (const collection of ["a", "b", "c"]) await m.call("compact", { collection });
    await m.close();
    return m.dir;
  };

  test("is named with the reason, and the others answer", async () => {
    const dir = await saved();
    rmSync(join(dir, "a", "collection.json"));
    changeFile(fileWith(join(dir, "b"), "base-"), (slab) => slab.writeUInt32LE(99, 8));
    const { hits, notice } = await search(await TestMemory.open(dir));
    expect(idsOf({ hits })).toEqual(["c same"]);
    expect(notice).toStartWith("collections that were not searched because they cannot be read: 'a' (damaged: ");
    expect(notice).toInclude(" and 'b' (");
  });

  test("is left out where its damage is found by the search", async () => {
    const dir = await saved();
    const m = await TestMemory.open(dir);
    expect(idsOf(await search(m))[0]).toBe("a same");
    changeFile(fileWith(join(dir, "a"), "base-"), (slab) => slab.write("[", slab.indexOf('{"scope":"zoo"}')));
    const again = await TestMemory.open(dir);
    const { hits, notice } = await search(again, { with_text: true });
    expect(idsOf({ hits })).toEqual(["b same", "c same"]);
    expect(notice).toStartWith(
      "collections that were not searched because they cannot be read: 'a' (collection 'a' is damaged: ",
    );
  });

  test("has its rows ranked by vectors where only its word index is damaged", async () => {
    const dir = await saved();
    flipBits(fileWith(join(dir, "a"), "lexical-"), 100);
    const { hits, notice } = await search(await TestMemory.open(dir));
    expect(idsOf({ hits })).toContain("a same");
    expect(notice).toInclude("the word index of 'a' is damaged");
    expect(notice).toInclude("its rows are ranked by vectors alone; 'svc mem check a --repair' mends it");
  });
});
