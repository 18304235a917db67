/** What is in memory, what is saved, and who sees it. */
import { expect } from "bun:test";
import { axis, type Cases, fails, vectorCollection } from "./collection.contract.ts";

export const SAVING: Cases = {
  async "changes are seen at once, and by others when they are saved"({ store, other }) {
    const c = await vectorCollection(store);
    await c.add([axis(0)], { ids: ["a"] });
    await c.save();
    await using second = await other();
    const theirs = await second.openCollection("c");
    await c.add([axis(1)], { ids: ["b"] });
    await c.delete(["a"]);
    expect(await c.ids()).toEqual(["b"]);
    expect((await c.search(axis(1))).ids).toEqual(["b"]);
    expect(await theirs.ids()).toEqual(["a"]);
    await c.save();
    expect(await theirs.ids()).toEqual(["b"]);
  },

  async "stats count what is unsaved"({ store }) {
    const c = await vectorCollection(store);
    expect(await c.stats()).toMatchObject({ generation: 0, unsaved_changes: true });
    await c.add([axis(0), axis(1)], { ids: ["a", "b"] });
    await c.save();
    expect(await c.stats()).toMatchObject({
      name: "c",
      key_name: "scope",
      external_ids: 2,
      dim: 4,
      dtype: "f32",
      metric: "inner_product",
      filter_columns: ["scope", "kind"],
      embedder_profile: null,
      generation: 1,
      unsaved_changes: false,
      unsaved_rows: 0,
    });
    await c.delete(["a"]);
    expect(await c.stats()).toMatchObject({ external_ids: 1, generation: 1, unsaved_changes: true });
    await c.save();
    expect(await c.stats()).toMatchObject({ generation: 2, unsaved_changes: false });
  },

  async "a query waits for a generation that another process saves"({ store, other }) {
    const c = await store.createCollection("c", { embedder: "multigram" });
    await c.addTexts(["one"], { ids: ["a"] });
    const first = await c.save();
    expect(first).toBe((await c.stats()).generation);
    expect(await c.ids(undefined, { atLeast: first })).toEqual(["a"]);
    await using second = await other();
    const theirs = await second.openCollection("c");
    const atLeast = first + 1;
    const waiting = [
      c.search(Array((await c.stats()).dim).fill(0), { atLeast }).then(({ ids }) => ids),
      c.searchText("two", { atLeast }).then(({ ids }) => ids),
      c.searchHits("two", { atLeast }).then(({ hits }) => hits.map(({ id }) => id)),
      c.get(["b"], { atLeast }).then(([row]) => (row!.found ? [row!.id] : [])),
      c.ids(undefined, { atLeast }),
    ];
    await theirs.addTexts(["two"], { ids: ["b"] });
    expect(await theirs.save()).toBe(atLeast);
    for (const ids of await Promise.all(waiting)) expect(ids).toContain("b");
    await fails(c.ids(undefined, { atLeast: -1 }), "ValueError", "atLeast");
  },

  async "a change that changes nothing leaves nothing to save"({ store }) {
    const c = await vectorCollection(store);
    await c.save();
    await c.delete(["nobody"]);
    await c.add([]);
    await fails(c.add([[1]]), "ValueError", "numbers");
    expect(await c.stats()).toMatchObject({ unsaved_changes: false, generation: 1 });
  },

  async "a change that fails keeps those that were made before it"({ store }) {
    const c = await vectorCollection(store);
    await c.save();
    await c.add([axis(0)], { ids: ["a"] });
    await fails(c.add([axis(1)], { ids: ["a"] }), "KeyError", "'a'");
    await fails(c.upsert([axis(1), [Number.NaN, 0, 0, 0]], { ids: ["b", "c"] }), "ValueError", /NaN|finite/);
    expect(await c.ids()).toEqual(["a"]);
    await c.save();
    expect(await c.ids()).toEqual(["a"]);
  },

  async "another process's write waits for the save and then goes on from it"({ store, other }) {
    const c = await vectorCollection(store);
    await c.save();
    await using second = await other();
    const theirs = await second.openCollection("c");
    await c.add([axis(0)], { ids: ["mine"] });
    let isThrough = false;
    const write = theirs.add([axis(1)], { ids: ["theirs"] }).then(() => (isThrough = true));
    await Bun.sleep(60);
    expect(isThrough).toBe(false);
    await c.save();
    await write;
    await theirs.save();
    expect(await c.ids()).toEqual(["mine", "theirs"]);
  },

  async "compact saves what is unsaved, drops what is dead, and changes no answer"({ store, other }) {
    const c = await vectorCollection(store);
    await c.add([axis(0), axis(1), axis(2)], { ids: ["a", "b", "c"] });
    await c.save();
    await c.upsert([axis(3)], { ids: ["a"] });
    await c.delete(["b"]);
    const before = await c.search(axis(3), { topK: 3 });
    await c.compact();
    expect(await c.search(axis(3), { topK: 3 })).toEqual(before);
    expect(await c.ids()).toEqual(["a", "c"]);
    expect(await c.stats()).toMatchObject({ external_ids: 2, total_rows: 2, unsaved_changes: false });
    await using second = await other();
    expect(await (await second.openCollection("c")).ids()).toEqual(["a", "c"]);
  },

  async "save again, with nothing to save, is no new generation"({ store }) {
    const c = await vectorCollection(store);
    await c.save();
    await c.save();
    expect((await c.stats()).generation).toBe(1);
  },
};
