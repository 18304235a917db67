/** Element types and metrics: what is stored is what a row is, and answers are exact with respect to that. */
import { expect } from "bun:test";
import type { CollectionApi, SearchResult } from "../../src/api/api.ts";
import { DTYPES, type Dtype, METRICS, type Metric } from "../../src/store/schema.ts";
import { random } from "../random.ts";
import { axis, type Cases, DIM, fails, type Subject } from "./collection.contract.ts";

const WIDE = 37;
const TOP_K = 12;
/** How far a stored number may be from the one that was given, where the largest of its row is 1. */
const PRECISION: Record<Dtype, number> = { f32: 0, f16: 2 ** -11, int8: 1 / 250, int4: 0.15 };

/** A history of changes with each element type and metric. */
const LIVES = DTYPES.flatMap((dtype) =>
  METRICS.map((metric): [string, Cases[string]] => [`${dtype} ranked by ${metric}`, (s) => live(s, dtype, metric)]),
);

export const TYPES: Cases = {
  ...Object.fromEntries(LIVES),

  async "stats name element type and metric, also of a collection without an embedder"({ store, other }) {
    const c = await store.createCollection("c", { dim: DIM, dtype: "int8", metric: "l2" });
    expect(await c.stats()).toMatchObject({ dtype: "int8", metric: "l2", embedder_profile: null });
    await c.save();
    await using again = await other();
    const opened = await again.openCollection("c");
    expect(await opened.stats()).toMatchObject({ dtype: "int8", metric: "l2", embedder_profile: null });
    await fails(opened.addTexts(["a"]), "ValueError", "without an embedder");
    await fails(c.searchText("a"), "ValueError", "without an embedder");
  },

  async "an unknown element type or metric is a ValueError that names the known ones"({ store }) {
    const create = (options: object) => store.createCollection("c", { dim: DIM, ...options });
    await fails(create({ dtype: "f64" }), "ValueError", "dtype must be one of f32, f16, int8, int4, got 'f64'");
    await fails(create({ metric: "dot" }), "ValueError", "metric must be one of inner_product, cosine, l2, got 'dot'");
    await fails(create({ metric: "" }), "ValueError", "inner_product, cosine, l2");
  },

  async "element type and metric are part of the schema"({ store }) {
    const options = { dim: DIM, dtype: "f16", metric: "cosine" };
    await store.createCollection("c", options);
    await store.createCollection("c", options);
    await fails(store.createCollection("c", { ...options, dtype: "f32" }), "ValueError", 'dtype is "f16", not "f32"');
    await fails(
      store.createCollection("c", { ...options, metric: "l2" }),
      "ValueError",
      'metric is "cosine", not "l2"',
    );
  },

  async "with an embedder the metric is the embedder's"({ store }) {
    const c = await store.createCollection("c", { embedder: "bigram", metric: "inner_product", dtype: "int4" });
    expect(await c.stats()).toMatchObject({ dtype: "int4", metric: "inner_product" });
    await c.addTexts(["a blue green deployment", "the cat sat on the mat"], { ids: ["deploy", "cat"] });
    expect((await c.searchText("deployments", { topK: 1 })).ids).toEqual(["deploy"]);
    await fails(store.createCollection("d", { embedder: "bigram", metric: "l2" }), "ValueError", "leave metric out");
  },

  async "a number that the element type cannot hold is a ValueError, and nothing of the call is written"({ store }) {
    const half = await store.createCollection("half", { dim: DIM, dtype: "f16" });
    await half.add([[65_504, -65_519, 1e-9, 0]]);
    const sentence =
      "vectors[1][2] is 70000, which f16 cannot hold (65504 at most): scale the vectors or use dtype f32";
    await fails(half.add([axis(0), [1, 2, 70_000, 4]]), "ValueError", sentence);
    await fails(half.upsert([[0, 0, 0, -65_520]]), "ValueError", "vectors[0][3] is -65520");
    expect(await half.ids()).toHaveLength(1);
    const four = await store.createCollection("four", { dim: DIM, dtype: "int4" });
    await fails(four.add([[0, 2e30, 0, 0]]), "ValueError", "vectors[0][1]");
    const unit = await store.createCollection("unit", { dim: DIM, dtype: "f16", metric: "cosine" });
    await unit.add([[70_000, 0, 0, 0]]);
    expect((await unit.search([3, 0, 0, 0])).scores).toEqual([1]);
    const eight = await store.createCollection("eight", { dim: DIM, dtype: "int8" });
    const most = 3.4028234663852886e38;
    await eight.add([[most, -most, 1, 0]], { ids: ["most"] });
    expect((await eight.search(axis(0))).ids).toEqual(["most"]);
  },

  async "by cosine lengths do not count, and a zero vector scores 0"({ store }) {
    const c = await store.createCollection("c", { dim: DIM, metric: "cosine" });
    const vectors = [
      [300, 0, 0, 0],
      [0.5, 0.5, 0, 0],
      [0, 0, 0, 0],
      [-2, 0, 0, 0],
    ];
    await c.add(vectors, { ids: ["along", "between", "zero", "against"] });
    for (const length of [1, 1e-20, 1e20]) {
      const { ids, scores } = await c.search([length, 0, 0, 0]);
      expect(ids).toEqual(["along", "between", "zero", "against"]);
      expect(scores[0]).toBeCloseTo(1, 6);
      expect(scores[1]).toBeCloseTo(Math.SQRT1_2, 6);
      expect(scores.slice(2)).toEqual([0, -1]);
    }
    expect((await c.search([0, 0, 0, 0])).scores).toEqual([0, 0, 0, 0]);
  },

  async "by l2 the nearest row is first, and scores are negative squared distances"({ store }) {
    const c = await store.createCollection("c", { dim: DIM, metric: "l2" });
    const vectors = [
      [100, 0, 0, 0],
      [1, 1, 0, 0],
      [3, 0, 0, 0],
    ];
    await c.add(vectors, { ids: ["far", "near", "there"] });
    expect(await c.search([3, 0, 0, 0])).toEqual({ ids: ["there", "near", "far"], scores: [0, -5, -9409] });
  },
};

/** Adds, replaces, deletes, saves, opens and compacts; after each step answers are those of looking at every row. */
async function live({ store, other }: Subject, dtype: Dtype, metric: Metric): Promise<void> {
  const next = random(METRICS.indexOf(metric) * 10 + DTYPES.indexOf(dtype) + 1);
  const rows = (n: number) =>
    Array.from({ length: n }, () => Float32Array.from({ length: WIDE }, () => next() * 2 - 1));
  const given = new Map<string, Float32Array>();
  const c = await store.createCollection("c", { dim: WIDE, dtype, metric });
  const put = async (how: "add" | "upsert", ids: string[]) => {
    const vectors = rows(ids.length);
    await c[how](vectors, { ids });
    for (const [i, id] of ids.entries()) given.set(id, vectors[i]!);
  };
  const remove = async (ids: string[]) => {
    expect(await c.delete(ids)).toBe(ids.length);
    for (const id of ids) given.delete(id);
  };
  const queries = rows(4);
  const check = async (before?: SearchResult[]) => {
    const unsaved = await answers(c, queries);
    await c.save();
    await using again = await other();
    const opened = await again.openCollection("c");
    const stored = new Map<string, Float32Array>();
    for (const { id, vector } of await opened.get([...given.keys()], { withVector: true })) stored.set(id, vector!);
    for (const [id, vector] of given) expectNear(stored.get(id)!, vector, dtype, metric);
    for (const [i, query] of queries.entries()) expectExact(unsaved[i]!, query, stored, metric);
    expect(await answers(c, queries)).toEqual(unsaved);
    expect(await answers(opened, queries)).toEqual(unsaved);
    expect(before ?? unsaved).toEqual(unsaved);
    return unsaved;
  };
  const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `row ${from + i}`);

  await put("add", ids(0, 50));
  await check();
  await put("upsert", ids(40, 75));
  await remove(ids(3, 20));
  const known = await check();
  await c.compact();
  await check(known);
  await put("add", ids(3, 6));
  await remove(ids(60, 62));
  await check();
}

async function answers(c: CollectionApi, queries: Float32Array[]): Promise<SearchResult[]> {
  return Promise.all(queries.map((query) => c.search(query, { topK: TOP_K })));
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0);
}

function expectNear(stored: Float32Array, given: Float32Array, dtype: Dtype, metric: Metric): void {
  const length = metric === "cosine" ? Math.sqrt(dot(given, given)) : 1;
  // By cosine the rounded row is brought back to unit length, which may double what rounding did to an element.
  const precision = metric === "cosine" ? (2 * PRECISION[dtype]) / length + 1e-6 : PRECISION[dtype];
  if (metric === "cosine" && dtype !== "f16") expect(Math.abs(dot(stored, stored) - 1)).toBeLessThan(1e-5);
  for (const [i, x] of given.entries()) expect(Math.abs(stored[i]! - x / length)).toBeLessThanOrEqual(precision);
}

/** That an answer is what a look at every stored row gives. */
function expectExact(
  found: SearchResult,
  query: Float32Array,
  stored: Map<string, Float32Array>,
  metric: Metric,
): void {
  const score = (row: Float32Array) => {
    if (metric === "l2") return -row.reduce((sum, x, i) => sum + (x - query[i]!) ** 2, 0);
    return dot(query, row) / (metric === "cosine" ? Math.sqrt(dot(query, query)) : 1);
  };
  const all = [...stored].map(([id, row]) => ({ id, score: score(row) })).sort((a, b) => b.score - a.score);
  const best = all.slice(0, TOP_K);
  expect(found.ids).toEqual(best.map(({ id }) => id));
  for (const [i, { score }] of best.entries()) expect(found.scores[i]!).toBeCloseTo(score, 4);
}
