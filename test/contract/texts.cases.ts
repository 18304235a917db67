/** Texts with an embedder. */
import { expect } from "bun:test";
import { Eq } from "../../src/api/eq.ts";
import { axis, type Cases, fails, vectorCollection } from "./collection.contract.ts";

const NOTES = ["we deploy blue green on Tuesdays", "the cat sat on the mat", "invoices are paid within thirty days"];

export const TEXTS: Cases = {
  async "texts are found by what they mean, with each embedder"({ store }) {
    for (const embedder of ["multigram", "bigram"]) {
      const c = await store.createCollection(embedder, { embedder });
      expect(await c.addTexts(NOTES, { ids: ["deploy", "cat", "invoice"] })).toEqual(["deploy", "cat", "invoice"]);
      const answer = await c.searchText("how do we deploy", { topK: 2, explain: true });
      expect(answer.ids[0]).toBe("deploy");
      expect(answer.ids).toHaveLength(2);
      expect(answer.scores[0]).toBeGreaterThan(answer.scores[1]!);
      expect(answer.explain).toMatchObject({ mode: "fused", probed_lists: 0 });
    }
  },

  async "texts carry ids, metadata and the default partition as vectors do"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram", filterColumns: ["kind"] });
    const [generated] = await c.addTexts([NOTES[0]!]);
    await c.upsertTexts([NOTES[1]!, NOTES[2]!], { ids: ["b", "c"], metadata: [{ kind: "pet" }, null] });
    expect(await c.ids(Eq("scope", "default"))).toEqual([generated!, "b", "c"]);
    const answer = await c.searchText("cat", { where: Eq("kind", "pet"), withMetadata: true });
    expect(answer.ids).toEqual(["b"]);
    expect(answer.metadata).toEqual([{ kind: "pet", scope: "default" }]);
  },

  async "upsertTexts replaces, addTexts refuses"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await c.addTexts([NOTES[0]!], { ids: ["a"] });
    await fails(c.addTexts([NOTES[1]!, NOTES[2]!], { ids: ["b", "a"] }), "KeyError", "'a'");
    await fails(c.addTexts([NOTES[1]!, NOTES[2]!], { ids: ["b", "b"] }), "KeyError", "'b'");
    expect(await c.ids()).toEqual(["a"]);
    const score = async () => (await c.searchText("the cat", { explain: true })).explain!.dense_scores![0]!;
    const before = await score();
    await c.upsertTexts([NOTES[1]!], { ids: ["a"] });
    expect(await c.ids()).toEqual(["a"]);
    expect(await score()).toBeGreaterThan(before);
  },

  async "an integer stands for its decimal string beside texts too"({ store }) {
    const c = await store.createCollection("c", { embedder: "bigram" });
    expect(await c.addTexts(NOTES, { ids: [7, 8, "9"] })).toEqual(["7", "8", "9"]);
    await fails(c.addTexts(["a", "b"], { ids: [1, "1"] }), "KeyError", "'1'");
    expect(await c.upsertTexts([NOTES[0]!, NOTES[1]!], { ids: ["7", 7] })).toEqual(["7", "7"]);
    expect((await c.searchText(NOTES[1]!, { topK: 2 })).ids.toSorted()).toEqual(["7", "8"]);
    await fails(c.addTexts(["a"], { ids: [2 ** 60] }), "ValueError", "string");
    expect(await c.ids()).toEqual(["7", "8", "9"]);
  },

  async "a collection with an embedder takes vectors too"({ store }) {
    const c = await store.createCollection("c", { embedder: "bigram" });
    const { dim } = await c.stats();
    await c.add([new Float32Array(dim).fill(0.01)], { ids: ["raw"] });
    expect((await c.search(new Float32Array(dim).fill(1))).ids).toEqual(["raw"]);
  },

  async "a collection without an embedder refuses texts with a ValueError"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0)]);
    await fails(c.addTexts(["text"]), "ValueError", "embedder");
    await fails(c.upsertTexts(["text"], { ids: ["a"] }), "ValueError", "embedder");
    await fails(c.searchText("text"), "ValueError", "embedder");
    expect(await c.ids()).toHaveLength(1);
  },

  async "what is not text is refused"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await fails(c.addTexts([7 as never]), "TypeError", "texts");
    await fails(c.addTexts("text" as never), "TypeError", "texts");
    await fails(c.searchText(7 as never), "TypeError", "text");
    await fails(c.addTexts(["\ud800"]), "ValueError", "surrogate");
    await fails(c.addTexts(["a", "b"], { ids: ["a"] }), "ValueError", "ids");
  },

  async "a word that no row has is searched as one that is spelt nearly so, which the answer says"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await c.addTexts(NOTES, { ids: ["deploy", "cat", "invoice"] });
    const answer = await c.searchText("how we deplooy", { topK: 1, explain: true });
    expect(answer.ids).toEqual(["deploy"]);
    expect(answer.notice).toBe("'deplooy' was searched as 'deploy'");
    expect(answer.explain!.replaced).toEqual([{ word: "deplooy", searched_as: ["deploy"] }]);
    const plain = await c.searchText("how we deploy", { topK: 1, explain: true });
    expect(plain.ids).toEqual(["deploy"]);
    expect([plain.notice, plain.explain!.replaced]).toEqual([undefined, undefined]);
    const unknown = await c.searchText("quetzal", { topK: 1 });
    expect(unknown.ids).toHaveLength(1);
    expect(unknown.notice).toBe("none of the query's words is in 'c': the answer is by similarity alone");
  },

  async "where only rows of another partition have the words, the notice is about the filtered rows"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await c.addTexts(NOTES, { ids: ["deploy", "cat", "invoice"], metadata: [{ scope: "a" }, { scope: "b" }, {}] });
    const { notice } = await c.searchText("deploy", { where: { scope: "b" } });
    expect(notice).toBe(
      "none of the query's words is in the rows of 'c' with scope 'b': the answer is by similarity alone; " +
        "rows with another scope have 'deploy'",
    );
  },

  async "no texts, the empty text, and a query with no hits"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    expect(await c.addTexts([])).toEqual([]);
    expect(await c.searchText("anything")).toEqual({ ids: [], scores: [] });
    await c.addTexts([""], { ids: ["empty"] });
    expect(await c.ids()).toEqual(["empty"]);
  },

  async "a query without words, whose hits have no order"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await c.addTexts(["the kettle", "the pot"], { ids: ["a", "b"] });
    const notice = "the query has no words: hits are in no order of relevance";
    for (const query of ["", " ", "?!"]) {
      expect(await c.searchText(query)).toMatchObject({ scores: [0, 0], notice });
      expect(await c.searchHits(query)).toMatchObject({ hits: [{ score: 0 }, { score: 0 }], notice });
    }
    expect(await c.searchHits("kettle")).not.toHaveProperty("notice");
  },
};
