/** Rows read by id, and hits with their texts and dates. */
import { expect } from "bun:test";
import { Eq } from "../../src/api/eq.ts";
import { axis, type Cases, fails, vectorCollection } from "./collection.contract.ts";

const NOTES = ["we deploy blue green on Tuesdays", "the cat sat on the mat", "invoices are paid within thirty days"];
const IDS = ["deploy", "cat", "invoice"];
/** About deployments in its middle only. */
const LONG = `${"Lunch is at noon. ".repeat(200)}We deploy on Tuesdays. ${"Dinner is at seven. ".repeat(200)}`;

export const HITS: Cases = {
  async "get reads rows in the order of the ids, with what was requested"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram", filterColumns: ["kind"] });
    const before = Date.now();
    await c.addTexts([...NOTES, ""], { ids: [...IDS, 7], metadata: [{ kind: "ops" }, null, { scope: "x" }, null] });
    expect(await c.get(["cat", "nobody", 7, "deploy", "cat"])).toEqual([
      { id: "cat", found: true, text: NOTES[1]! },
      { id: "nobody", found: false },
      { id: "7", found: true, text: "" },
      { id: "deploy", found: true, text: NOTES[0]!, metadata: { kind: "ops", scope: "default" } },
      { id: "cat", found: true, text: NOTES[1]! },
    ]);
    expect(await c.get(["deploy"], { withText: false })).toEqual([
      { id: "deploy", found: true, metadata: { kind: "ops", scope: "default" } },
    ]);
    expect(await c.get(["invoice"], { withMetadata: false })).toEqual([
      { id: "invoice", found: true, text: NOTES[2]! },
    ]);
    const [row, none] = await c.get(["cat", "nobody"], { withTimes: true });
    expect(none).toEqual({ id: "nobody", found: false });
    expect(row!.created).toBeWithin(before, Date.now() + 1);
    expect(row!.updated).toBe(row!.created!);
    await c.delete(["cat"]);
    expect(await c.get(["cat"])).toEqual([{ id: "cat", found: false }]);
    expect(await c.get([])).toEqual([]);
  },

  async "get of rows without texts, and of more than ten thousand ids"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0)], { ids: ["a"], metadata: [{ kind: 1 }] });
    const row = { id: "a", found: true, metadata: { kind: 1, scope: "default" } };
    expect(await c.get(["a"])).toEqual([row]);
    const ids = Array.from({ length: 20_001 }, (_, i) => (i % 10_000 === 0 ? "a" : `x${i}`));
    const rows = await c.get(ids);
    expect(rows.map(({ id }) => id)).toEqual(ids);
    for (const at of [0, 10_000, 20_000]) expect(rows[at]).toEqual(row);
    expect(rows[10_001]).toEqual({ id: "x10001", found: false });
  },

  async "hits are those of searchText, with texts and dates"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram", filterColumns: ["kind"] });
    await c.addTexts(NOTES, { ids: IDS, metadata: [{ kind: "ops" }, null, { kind: "ops" }] });
    const { hits, notice } = await c.searchHits("how do we deploy");
    const { ids, scores } = await c.searchText("how do we deploy");
    expect(hits.map(({ id }) => id)).toEqual(ids);
    expect(hits.map(({ score }) => score)).toEqual(scores);
    expect(notice).toBeUndefined();
    const [row] = await c.get(["deploy"], { withTimes: true });
    const { found: _, ...parts } = row!;
    const date = new Date(row!.updated!).toISOString().slice(0, 10);
    expect(hits[0]).toEqual({ ...parts, score: scores[0]!, created: row!.created!, updated: row!.updated!, date });
    expect(hits.find(({ id }) => id === "cat")).not.toHaveProperty("metadata");
    const bare = await c.searchHits("we deploy", { topK: 1, withText: false, withMetadata: false });
    expect(Object.keys(bare.hits[0]!).sort()).toEqual(["created", "date", "id", "score", "updated"]);
    const filtered = await c.searchHits("deploy", { where: Eq("kind", "ops"), topK: Number.POSITIVE_INFINITY });
    expect(filtered.hits.map(({ id, text }) => [id, text])).toEqual([
      ["deploy", NOTES[0]!],
      ["invoice", NOTES[2]!],
    ]);
    expect((await c.searchHits("how we deplooy", { topK: 1 })).notice).toBe("'deplooy' was searched as 'deploy'");
  },

  async "textBytes cuts each text to the passage that fits best"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await c.addTexts([LONG, "We deploy.", "", "\n".repeat(50)], { ids: ["long", "short", "empty", "lines"] });
    const { hits } = await c.searchHits("deploy on Tuesdays", { textBytes: 60 });
    const byId = new Map(hits.map((hit) => [hit.id, hit]));
    const { text, truncated, start } = byId.get("long")!;
    expect(text).toContain("We deploy on Tuesdays.");
    expect(Buffer.byteLength(text!)).toBeLessThanOrEqual(60);
    expect([truncated, LONG.slice(start, start! + text!.length)]).toEqual([true, text!]);
    expect(byId.get("short")).toMatchObject({ text: "We deploy." });
    expect(byId.get("short")).not.toHaveProperty("truncated");
    expect(byId.get("empty")).toMatchObject({ text: "" });
    expect(byId.get("lines")!.text).toBe("\n".repeat(30)); // two bytes each as JSON
    const whole = await c.searchHits("deploy on Tuesdays", { textBytes: 2 ** 40 });
    expect(whole.hits.find(({ id }) => id === "long")).toMatchObject({ text: LONG });
    expect(whole).toEqual(await c.searchHits("deploy on Tuesdays"));
  },

  async "more hits than are read at once"({ store }) {
    const c = await store.createCollection("c", { embedder: "bigram" });
    const texts = Array.from({ length: 50 }, (_, i) => `ticket number ${i}`);
    await c.addTexts(texts, { ids: texts });
    for (const topK of [16, 17, 50, 1000]) {
      const { hits } = await c.searchHits("ticket number 7", { topK });
      expect(hits.map(({ id }) => id)).toEqual((await c.searchText("ticket number 7", { topK })).ids);
      expect(hits.map(({ text }) => text)).toEqual(hits.map(({ id }) => id));
    }
  },

  async "a text longer than what is embedded is read whole, and its passage found"({ store }) {
    const c = await store.createCollection("c", { embedder: "bigram" });
    const text = `the beginning of it ${"x".repeat(2 * 1024 * 1024)}`;
    await c.addTexts([text], { ids: ["a"] });
    const [row] = await c.get(["a"]);
    expect(row!.text === text).toBe(true);
    const { hits } = await c.searchHits("beginning", { textBytes: 20 });
    expect(hits).toMatchObject([{ text: "the beginning of it ", truncated: true, start: 0 }]);
  },

  async "rows of a repository's index have no text, and the answer says where it is"({ store }) {
    const c = await store.createCollection("c", { embedder: "bigram", partitionBy: "repo_id" });
    const { dim } = await c.stats();
    const metadata = [{ repo_id: "0123456789abcdef", path: "a.ts", start_line: 1, end_line: 9 }];
    await c.add([new Float32Array(dim).fill(0.1)], { ids: ["a"], metadata });
    expect(await c.get(["a"])).toEqual([{ id: "a", found: true, metadata: metadata[0]! }]);
    const { hits, notice } = await c.searchHits("anything");
    expect(hits).toMatchObject([{ id: "a", metadata: metadata[0]! }]);
    expect(hits[0]).not.toHaveProperty("text");
    expect(notice).toContain("rows of a repository's index have no text here");
    expect((await c.searchHits("anything", { withText: false })).notice ?? "").not.toContain("repository");
  },

  async "wrong values are refused"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await c.addTexts(NOTES, { ids: IDS });
    for (const ids of ["cat", 7, {}, [1.5], [true], [null]]) await fails(c.get(ids as never), "TypeError", "ids");
    for (const ids of [[""], ["x".repeat(513)], ["a\0b"], [2 ** 60], ["\ud800"]])
      await fails(c.get(ids), "ValueError", "ids[0]");
    for (const textBytes of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])
      await fails(c.searchHits("cat", { textBytes }), "ValueError", "textBytes must be an integer of at least 1");
    for (const textBytes of ["1", 1.5, true, []])
      await fails(c.searchHits("cat", { textBytes: textBytes as never }), "TypeError", "textBytes");
    await fails(c.searchHits(7 as never), "TypeError", "text");
    await fails(c.searchHits("cat", { where: { undeclared: 1 } }), "ValueError", "undeclared");
    await fails(c.searchHits("cat", { topK: 1.5 }), "TypeError", "topK");
    const vectors = await vectorCollection(store, "v");
    await fails(vectors.searchHits("cat"), "ValueError", "embedder");
  },

  async "a collection that was removed is a ValueError"({ store, other }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await c.addTexts(NOTES, { ids: IDS });
    await c.save();
    await using again = await other();
    await again.dropCollection("c");
    await fails(c.get(["cat"]), "ValueError", "'c'");
    await fails(c.searchHits("cat"), "ValueError", "'c'");
  },
};
