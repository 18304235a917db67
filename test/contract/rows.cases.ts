/** Adding, replacing and deleting rows of vectors. */
import { expect } from "bun:test";
import { Eq } from "../../src/api/eq.ts";
import { axis, type Cases, DIM, fails, vectorCollection } from "./collection.contract.ts";

export const ROWS: Cases = {
  async "add answers with the ids it was given"({ store }) {
    const c = await vectorCollection(store);
    expect(await c.add([axis(0), axis(1)], { ids: ["a", "b"] })).toEqual(["a", "b"]);
    expect(await c.ids()).toEqual(["a", "b"]);
  },

  async "rows without ids get UUIDs that sort by age, with upsert too"({ store }) {
    const c = await vectorCollection(store);
    const added = await c.add([axis(0), axis(1)]);
    const upserted = await c.upsert([axis(2)]);
    const all = [...added, ...upserted];
    for (const id of all) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    expect(await c.ids()).toEqual(all);
    expect([...all].sort()).toEqual(all);
  },

  async "vectors may be one matrix, rows of floats, or rows of numbers"({ store }) {
    const c = await vectorCollection(store);
    await c.add(Float32Array.from([...axis(0), ...axis(1)]), { ids: ["a", "b"] });
    await c.add([Float32Array.from(axis(2))], { ids: ["c"] });
    await c.add([axis(3)], { ids: ["d"] });
    expect((await c.search(axis(1), { topK: 1 })).ids).toEqual(["b"]);
    expect((await c.search(Float32Array.from(axis(3)), { topK: 1 })).ids).toEqual(["d"]);
  },

  async "no rows are not a failure"({ store }) {
    const c = await vectorCollection(store);
    expect(await c.add([])).toEqual([]);
    expect(await c.upsert(new Float32Array(0), { ids: [], metadata: [] })).toEqual([]);
    expect(await c.delete([])).toBe(0);
    expect(await c.ids()).toEqual([]);
  },

  async "add of an id that is live is a KeyError, and nothing of the call is written"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0)], { ids: ["a"] });
    await fails(c.add([axis(1), axis(2)], { ids: ["new", "a"] }), "KeyError", "'a'");
    expect(await c.ids()).toEqual(["a"]);
  },

  async "add of an id that stands twice in the call is a KeyError, and nothing of it is written"({ store }) {
    const c = await vectorCollection(store);
    await fails(c.add([axis(0), axis(1)], { ids: ["x", "x"] }), "KeyError", "'x'");
    expect(await c.ids()).toEqual([]);
  },

  async "upsert replaces vector and metadata, and the row keeps its place"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0), axis(1), axis(2)], { ids: ["a", "b", "c"], metadata: [{ kind: 1 }, null, null] });
    await c.upsert([axis(3), axis(3)], { ids: ["a", "d"], metadata: [{ kind: 2 }, null] });
    expect(await c.ids()).toEqual(["a", "b", "c", "d"]);
    expect(await c.ids(Eq("kind", 1))).toEqual([]);
    expect(await c.ids(Eq("kind", 2))).toEqual(["a"]);
    expect((await c.search(axis(0), { topK: 1 })).scores[0]).toBe(0);
  },

  async "of an id that stands twice in an upsert the last row wins"({ store }) {
    const c = await vectorCollection(store);
    const metadata = [{ kind: "first" }, { kind: "last" }];
    await c.upsert([axis(0), axis(1)], { ids: ["x", "x"], metadata });
    expect(await c.search(axis(1), { withMetadata: true })).toEqual({
      ids: ["x"],
      scores: [1],
      metadata: [{ kind: "last", scope: "default" }],
    });
  },

  async "delete counts the rows that were live and passes over the others"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0), axis(1), axis(2)], { ids: ["a", "b", "c"] });
    expect(await c.delete(["a", "nobody", "c", "a"])).toBe(2);
    expect(await c.delete(["a"])).toBe(0);
    expect(await c.ids()).toEqual(["b"]);
    await c.add([axis(0)], { ids: ["a"] });
    expect(await c.ids()).toEqual(["b", "a"]);
  },

  async "ids are any Unicode of 1 to 512 bytes"({ store }) {
    const c = await vectorCollection(store);
    const ids = ["ä€🦊", " ", "a/b\\c", "é".repeat(256), "__proto__"];
    await c.add(
      ids.map(() => axis(0)),
      { ids },
    );
    expect(await c.ids()).toEqual(ids);
    expect(await c.delete(ids)).toBe(ids.length);
    await fails(c.add([axis(0)], { ids: ["x".repeat(513)] }), "ValueError", "513 bytes");
    await fails(c.add([axis(0)], { ids: [""] }), "ValueError", "empty");
    await fails(c.add([axis(0)], { ids: ["a\0b"] }), "ValueError", "NUL");
    await fails(c.add([axis(0)], { ids: ["\ud800"] }), "ValueError", "surrogate");
  },

  async "an integer stands for its decimal string: 7 and '7' are one id"({ store }) {
    const c = await vectorCollection(store);
    const ids = [7, -3, -0, Number.MAX_SAFE_INTEGER, "x"];
    const written = ["7", "-3", "0", "9007199254740991", "x"];
    const rows = ids.map(() => axis(0));
    expect(await c.add(rows, { ids })).toEqual(written);
    expect(await c.ids()).toEqual(written);
    await fails(c.add([axis(1)], { ids: ["7"] }), "KeyError", "'7'");
    await fails(c.add([axis(1), axis(1)], { ids: [8, "8"] }), "KeyError", "'8'");
    await fails(c.add([axis(1), axis(1)], { ids: [9, 9] }), "KeyError", "'9'");
    expect(await c.upsert([axis(1), axis(2)], { ids: [7, "7"] })).toEqual(["7", "7"]);
    expect(await c.search(axis(2), { topK: 1 })).toEqual({ ids: ["7"], scores: [1] });
    expect(await c.delete([7, "7", -3, 12])).toBe(2);
    expect(await c.ids()).toEqual(["0", "9007199254740991", "x"]);
  },

  async "an integer that has lost digits is a ValueError, what is neither string nor integer a TypeError"({ store }) {
    const c = await vectorCollection(store);
    for (const id of [2 ** 53, -(2 ** 53), 1e300, Number.POSITIVE_INFINITY]) {
      await fails(c.add([axis(0)], { ids: [id] }), "ValueError", /ids\[0\] is an integer beyond 2\^53 - 1.*string/);
      await fails(c.delete(["a", id]), "ValueError", "ids[1]");
    }
    for (const id of [1.5, Number.NaN, true, null, undefined, {}, ["7"], 7n]) {
      await fails(c.upsert([axis(0)], { ids: [id as never] }), "TypeError", "ids[0] must be a string, or an integer");
      await fails(c.delete([id as never]), "TypeError", "ids[0]");
    }
    expect(await c.ids()).toEqual([]);
  },

  async "a vector of another length or with a number that is not finite is a ValueError"({ store }) {
    const c = await vectorCollection(store);
    await fails(c.add([[1, 2, 3]]), "ValueError", "3 numbers");
    await fails(c.add([axis(0), [1, 2]]), "ValueError", "numbers");
    await fails(c.add(new Float32Array(DIM + 1)), "ValueError", "multiple");
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 1e39]) {
      await fails(c.add([[1, bad, 0, 0]]), "ValueError", /vectors\[0\]|finite|NaN/);
    }
    await fails(c.upsert(Float32Array.of(1, Number.NaN, 0, 0)), "ValueError", /NaN|finite/);
    expect(await c.ids()).toEqual([]);
  },

  async "what is not a vector, id or metadata is a TypeError"({ store }) {
    const c = await vectorCollection(store);
    const wrong = (value: unknown) => value as never;
    await fails(c.add(wrong("vectors")), "TypeError", "vectors");
    await fails(c.add([wrong(["1", 2, 3, 4])]), "TypeError", "vectors");
    await fails(c.add([axis(0)], { ids: wrong([7.5]) }), "TypeError", "ids");
    await fails(c.add([axis(0)], { ids: wrong("a") }), "TypeError", "ids");
    await fails(c.add([axis(0)], { metadata: wrong(["text"]) }), "TypeError", "metadata");
    await fails(c.delete(wrong([7.5])), "TypeError", "ids");
    await fails(c.search(wrong("vector")), "TypeError", "vector");
  },

  async "ids and metadata have one entry for each row"({ store }) {
    const c = await vectorCollection(store);
    await fails(c.add([axis(0)], { ids: ["a", "b"] }), "ValueError", "ids");
    await fails(c.add([axis(0), axis(1)], { metadata: [{}] }), "ValueError", "metadata");
  },

  async "metadata comes back as it went in, and with the partition key"({ store }) {
    const c = await vectorCollection(store);
    const own = JSON.parse('{"scope":"s","deep":{"a":[1,2,{"b":null}]},"__proto__":{"x":1},"e":"é\\u0000","n":0.1}');
    await c.add([axis(0), axis(1), axis(2)], { ids: ["own", "partial", "none"], metadata: [own, { n: 1 }, null] });
    const { ids, metadata } = await c.search(axis(0), { withMetadata: true });
    const of = (id: string) => metadata![ids.indexOf(id)];
    expect(JSON.stringify(of("own"))).toBe(JSON.stringify(own));
    expect(of("partial")).toEqual({ n: 1, scope: "default" });
    expect(of("none")).toBeNull();
    expect(await c.ids(Eq("scope", "default"))).toEqual(["partial", "none"]);
    expect(({} as { x?: number }).x).toBeUndefined();
  },

  async "metadata beyond its limits is a ValueError"({ store }) {
    const c = await vectorCollection(store);
    const add = (metadata: Record<string, unknown>) => c.add([axis(0)], { metadata: [metadata] });
    const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
    await add({ text: "x".repeat(65_000) });
    await add(nested(16));
    await fails(add({ text: "x".repeat(65_536) }), "ValueError", "65536");
    await fails(add(nested(17)), "ValueError", "16 levels");
    await fails(add({ n: Number.NaN }), "ValueError", "NaN");
    await fails(add({ n: 2 ** 53 }), "ValueError", /2\^53/);
  },
};
