/** Making, opening and listing collections. */
import { expect } from "bun:test";
import type { CreateOptions } from "../../src/api/api.ts";
import { axis, type Cases, DIM, fails, vectorCollection } from "./collection.contract.ts";

export const STORES: Cases = {
  async "collections are listed once they are saved, sorted"({ store }) {
    const [b, a] = [await vectorCollection(store, "b"), await vectorCollection(store, "a")];
    await b.add([axis(0)]);
    expect(await store.collections()).toEqual([]);
    await b.save();
    expect(await store.collections()).toEqual(["b"]);
    await a.save();
    expect(await store.collections()).toEqual(["a", "b"]);
  },

  async "a collection that was created is open before it is saved"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0)], { ids: ["a"] });
    const again = await store.openCollection("c");
    expect(again.name).toBe("c");
    expect(await again.ids()).toEqual(["a"]);
  },

  async "a collection that does not exist is a ValueError"({ store }) {
    await fails(store.openCollection("nowhere"), "ValueError", "'nowhere' does not exist");
    expect(await store.openCollection("nowhere").catch(({ code }) => code)).toBe("ValueError.no_collection");
  },

  async "others open what was saved"({ store, other }) {
    const c = await vectorCollection(store);
    await using second = await other();
    await fails(second.openCollection("c"), "ValueError", "does not exist");
    await c.save();
    expect((await second.openCollection("c")).schema).toMatchObject({ dim: DIM, filterColumns: ["scope", "kind"] });
  },

  async "creating again gives the same collection where everything agrees"({ store }) {
    const options = { dim: DIM, partitionBy: "tenant", filterColumns: ["kind"] };
    const c = await store.createCollection("c", options);
    await c.add([axis(0)], { ids: ["a"] });
    expect(await (await store.createCollection("c", options)).ids()).toEqual(["a"]);
    await c.save();
    expect(await (await store.createCollection("c", { ...options, dtype: "f32" })).ids()).toEqual(["a"]);
  },

  async "creating again with another schema is a ValueError that says what differs"({ store }) {
    await vectorCollection(store);
    const again = (options: CreateOptions, difference: RegExp) =>
      fails(store.createCollection("c", options), "ValueError", difference);
    const same = { dim: DIM, filterColumns: ["kind"] };
    await again({ ...same, dim: DIM + 1 }, /dim is 4, not 5/);
    await again({ ...same, partitionBy: "tenant" }, /partition_by is "scope", not "tenant"/);
    await again({ ...same, filterColumns: [] }, /filter_columns/);
    await again({ filterColumns: ["kind"], embedder: "bigram" }, /dim|embedder/);
  },

  async "the dimension comes from the embedder, whatever stands beside it"({ store }) {
    const c = await store.createCollection("c", { embedder: "multigram", dim: 384 });
    const { dim } = await c.stats();
    expect(dim).toBeGreaterThan(384);
    // A matrix without ids: only the dimension says how many rows it is.
    expect(await c.add(new Float32Array(2 * dim))).toHaveLength(2);
    for (const hint of [dim, 1, 0, 1e6, null as never, undefined]) {
      const again = await store.createCollection("c", { embedder: "multigram", dim: hint });
      expect(await again.stats()).toMatchObject({ dim, external_ids: 2 });
      expect(await again.add(new Float32Array(0))).toEqual([]);
    }
    await fails(store.createCollection("c", { embedder: "bigram", dim }), "ValueError", /dim|embedder/);
    await fails(store.createCollection("d", { embedder: "multigram", dim: "384" as never }), "TypeError", "dim");
    await fails(store.createCollection("e", { embedder: "nobody" }), "ValueError", "'nobody'");
  },

  async "a list of one name stands for the partition key"({ store }) {
    const create = (partitionBy: string | string[]) => store.createCollection("c", { dim: DIM, partitionBy });
    expect((await (await create(["tenant"])).stats()).key_name).toBe("tenant");
    expect((await (await create("tenant")).stats()).key_name).toBe("tenant");
    await fails(create(["scope"]), "ValueError", 'partition_by is "tenant", not "scope"');
    await fails(create([]), "ValueError", "is a list of 0");
    await fails(create(["a", "b"]), "ValueError", "is a list of 2");
    await fails(create([7 as never]), "TypeError", "must be a string");
  },

  async "dimension, element type and columns have their limits"({ store }) {
    const refused = (options: CreateOptions, sentence: RegExp | string) =>
      fails(store.createCollection("c", options), "ValueError", sentence);
    await refused({}, "dim");
    await refused({ dim: 0 }, "dim must be an integer from 1 to 65536, got 0");
    await refused({ dim: 65_537 }, "65537");
    await refused({ dim: DIM, dtype: "f64" }, "f64");
    await refused({ dim: DIM, partitionBy: "" }, "column");
    await refused({ dim: DIM, filterColumns: ["a\nb"] }, "column");
    await refused({ dim: DIM, filterColumns: Array.from({ length: 33 }, (_, i) => `c${i}`) }, "32");
  },

  async "a name is one safe path component"({ store }) {
    const names = ["", ".", "..", ".hidden", "a/b", "a\\b", "a\0b", "a\nb", "x".repeat(129), "e\u0301"];
    for (const name of names) {
      await fails(vectorCollection(store, name), "ValueError", "name");
      await fails(store.openCollection(name), "ValueError", "name");
    }
    for (const name of ["ä€🦊", "with space", "__proto__", "x".repeat(128)]) {
      await (await vectorCollection(store, name)).save();
      expect(await store.collections()).toContain(name);
    }
  },

  async "a name that differs from another by case alone is refused"({ store }) {
    await vectorCollection(store, "Notes");
    await fails(vectorCollection(store, "notes"), "ValueError", "case");
  },
};
