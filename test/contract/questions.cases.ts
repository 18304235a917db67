/** Searching by vector, and filters. */
import { expect } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { CollectionApi, FilterValue, StoreApi, Where } from "../../src/api/api.ts";
import { Eq } from "../../src/api/eq.ts";
import { damaged } from "../complete-check.ts";
import { axis, type Cases, fails, vectorCollection } from "./collection.contract.ts";

const KINDS = { number: 1, text: "1", yes: true, no: false, zero: 0, nothing: null, empty: "", proto: "__proto__" };

export const QUESTIONS: Cases = {
  async "search ranks by inner product, best first"({ store }) {
    const c = await vectorCollection(store);
    const vectors = [
      [1, 0, 0, 0],
      [3, 4, 0, 0],
      [-5, 0, 0, 0],
    ];
    await c.add(vectors, { ids: ["near", "far", "behind"] });
    expect(await c.search([1, 0.5, 0, 0])).toEqual({ ids: ["far", "near", "behind"], scores: [5, 1, -5] });
  },

  async "ten hits by default; topK is clamped to 1 … 100,000"({ store }) {
    const c = await vectorCollection(store);
    await c.add(Array.from({ length: 12 }, (_, i) => [i, 0, 0, 0]));
    const hits = async (topK?: number) => (await c.search(axis(0), { topK })).ids.length;
    expect(await hits()).toBe(10);
    expect(await hits(3)).toBe(3);
    expect(await hits(0)).toBe(1);
    expect(await hits(-7)).toBe(1);
    expect(await hits(1_000_000)).toBe(12);
    await fails(c.search(axis(0), { topK: "3" as never }), "TypeError", /topK|top_k/);
  },

  async "a collection without rows answers with no hits"({ store }) {
    const c = await vectorCollection(store);
    expect(await c.search(axis(0), { withMetadata: true, explain: true })).toMatchObject({
      ids: [],
      scores: [],
      metadata: [],
      explain: { mode: "exact", scored_rows: 0 },
    });
    await c.add([axis(0)], { metadata: [{ kind: "a" }] });
    expect(await c.search(axis(0), { where: Eq("kind", "b") })).toEqual({ ids: [], scores: [] });
  },

  async "explain says how the answer was found"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0), axis(1), axis(2)]);
    const { explain } = await c.search(axis(0), { explain: true, topK: 1 });
    expect(Object.keys(explain!).sort()).toEqual(["mode", "probed_lists", "scored_rows", "screened_rows"]);
    expect(explain).toMatchObject({ mode: "exact", screened_rows: 3, probed_lists: 0 });
    expect(explain!.scored_rows).toBeWithin(1, 4);
  },

  async "a query of another length or with NaN is a ValueError"({ store }) {
    const c = await vectorCollection(store);
    await fails(c.search([1, 2, 3]), "ValueError", "3 numbers");
    await fails(c.search([1, Number.NaN, 0, 0]), "ValueError", "NaN");
  },

  async "equality is typed: 1 equals 1.0, not '1', not true; null matches rows without a value"({ store }) {
    const c = await kinds(store);
    for (const [id, kind] of Object.entries(KINDS)) {
      const expected = kind === null ? ["nothing", "missing", "bare"] : [id];
      expect(await c.ids(Eq("kind", kind))).toEqual(expected);
      const found = await c.search(axis(0), { where: Eq("kind", kind) });
      expect(found.ids.toSorted()).toEqual(expected.toSorted());
    }
    expect(await c.ids(Eq("kind", 1.0))).toEqual(["number"]);
    expect(await c.ids(Eq("kind", -0))).toEqual(["zero"]);
    expect(await c.ids(Eq("kind", "true"))).toEqual([]);
    expect(await c.ids(Eq("scope", "default"))).toHaveLength(Object.keys(KINDS).length + 3);
  },

  async "arrays and objects are stored and never match"({ store }) {
    const c = await kinds(store);
    expect((await c.search(axis(0), { withMetadata: true, topK: 100 })).metadata).toContainEqual({
      kind: [1],
      scope: "default",
    });
    await fails(c.ids({ kind: [1] as never }), "ValueError", /kind.*array|array.*kind/);
    await fails(c.ids({ kind: {} as never }), "ValueError", "object");
  },

  async "a filter has exactly one key, and that is a filter column"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0)]);
    const wrong = async (where: Where, sentence: string) => {
      await fails(c.ids(where), "ValueError", sentence);
      await fails(c.search(axis(0), { where }), "ValueError", sentence);
    };
    await wrong({ kind: 1, scope: "x" }, "kind");
    await wrong(Eq("other", 1), "'other'");
    await wrong(Eq("__proto__", 1), "__proto__");
    await wrong({ kind: Number.NaN }, "NaN");
  },

  async "a filter without a key filters nothing, as null does"({ store }) {
    const c = await store.createCollection("c", { embedder: "bigram" });
    await c.addTexts(["one", "two"], { ids: ["a", "b"], metadata: [{ scope: "x" }, null] });
    const { dim } = await c.stats();
    for (const where of [{}, Object.create(null), null, undefined] as (Where | undefined)[]) {
      expect(await c.ids(where)).toEqual(["a", "b"]);
      expect((await c.searchText("one", { where })).ids).toEqual(["a", "b"]);
      expect((await c.search(new Float32Array(dim), { where })).ids).toHaveLength(2);
    }
    for (const where of [new Map([["scope", "x"]]), new Set(["scope"]), new (class {})()]) {
      await fails(c.ids(where as never), "ValueError", "0 keys");
    }
    for (const where of [[], "", "x", 7]) await fails(c.ids(where as never), "TypeError", "where");
  },

  async "a matrix of one row stands for the row"({ store }) {
    const c = await vectorCollection(store);
    await c.add([axis(0), axis(1)], { ids: ["a", "b"] });
    const expected = { ids: ["b"], scores: [1] };
    expect(await c.search([axis(1)], { topK: 1 })).toEqual(expected);
    expect(await c.search([Float32Array.from(axis(1))], { topK: 1 })).toEqual(expected);
    await fails(c.search([axis(0), axis(1), axis(2), axis(3)] as never), "TypeError", "vector[0] must be a number");
    await fails(c.search([[axis(0), axis(1), axis(2), axis(3)]] as never), "TypeError", "vector[0] must be a number");
    await fails(c.search([[1, 2, 3]]), "ValueError", "3 numbers");
    await fails(c.search([[1, Number.NaN, 0, 0]]), "ValueError", "vector[1]");
    const narrow = await store.createCollection("narrow", { dim: 1 });
    await narrow.add([[2]], { ids: ["a"] });
    expect(await narrow.search([3])).toEqual({ ids: ["a"], scores: [6] });
    expect(await narrow.search([[3]])).toEqual({ ids: ["a"], scores: [6] });
  },

  async "a column may be called __proto__"({ store }) {
    const c = await store.createCollection("c", { dim: 4, partitionBy: "__proto__", filterColumns: ["constructor"] });
    const metadata = [JSON.parse('{"__proto__":"p"}'), { constructor: "k" }];
    await c.add([axis(0), axis(1)], { ids: ["p", "k"], metadata });
    expect(await c.ids(Eq("__proto__", "p"))).toEqual(["p"]);
    expect(await c.ids(Eq("__proto__", "default"))).toEqual(["k"]);
    expect(await c.ids(Eq("constructor", "k"))).toEqual(["k"]);
    expect(await c.ids(Eq("constructor", null))).toEqual(["p"]);
  },

  async "what is damaged is said beside the answer and in the stats"({ store, dir, other }) {
    const maker = await other();
    const made = await maker.createCollection("c", { dim: 4 });
    const rows = Array.from({ length: 40 }, (_, i) => [Math.cos(i), Math.sin(i), i / 40, 1]);
    await made.add(rows, { ids: rows.map((_, i) => `r${i}`) });
    await made.buildIvf({ minRows: 10, targetRecall: 0.5 });
    const expected = await made.search(rows[3]!, { topK: 3, targetRecall: 1 });
    await maker.close();
    damaged(dir);
    const file = readdirSync(join(dir, "c")).find((name) => name.startsWith("ivf-"))!;
    rmSync(join(dir, "c", file));

    const c = await store.openCollection("c");
    expect(await c.search(rows[3]!, { topK: 3 })).toEqual({
      ...expected,
      notice:
        `the approximate index of 'c' is damaged (${file}): the answer is exact, and takes longer; ` +
        "'svc mem check c --repair' mends it",
    });
    expect((await c.stats()).damaged).toMatchObject({ count: 1, first: [{ file, offset: 0 }] });
    await c.compact();
    expect((await c.search(rows[3]!, { topK: 3 })).notice).toBeUndefined();
    expect(await c.stats()).not.toHaveProperty("damaged");
  },
};

/** One row for each value, and rows without one. */
async function kinds(store: StoreApi): Promise<CollectionApi> {
  const c = await vectorCollection(store);
  const values: [string, { kind?: FilterValue | number[] } | null][] = [
    ...Object.entries(KINDS).map(([id, kind]): [string, { kind: FilterValue }] => [id, { kind }]),
    ["missing", {}],
    ["list", { kind: [1] }],
    ["bare", null],
  ];
  await c.add(
    values.map(() => axis(0)),
    { ids: values.map(([id]) => id), metadata: values.map(([, metadata]) => metadata) },
  );
  return c;
}
