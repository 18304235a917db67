/** Small stores with everything in them, of each element type and metric: what damage is aimed at. */
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Put } from "../../ffi/ty_collection.ts";
import type { Collection } from "../../src/store/collection.ts";
import type { Rows } from "../../src/store/pack.ts";
import { Store } from "../../src/store/store.ts";
import { BigramEmbedder, MultigramEmbedder } from "../../src/texts/kernel.ts";
import type { Native } from "../../src/trust/runtime/libraries.ts";
import { random, unitVectors } from "../random.ts";

/** How a store is made. */
export interface Recipe {
  name: string;
  dtype: "f32" | "f16" | "int8" | "int4";
  metric: "inner_product" | "cosine" | "l2";
  /** Texts of an embedder of the kernel; else vectors, with texts beside them. */
  model?: "multigram" | "bigram";
  dim: number;
  rows: number;
  /** The elements of a row are whole multiples of a number, as 8-bit codes can hold them. */
  asCodes?: boolean;
  /** Least rows of a partition with an IVF index; none without. */
  ivf?: number;
  /** Words of a text. */
  words?: number;
}

/** Every way in which a base can be laid out. */
export const RECIPES: readonly Recipe[] = [
  { name: "f32", dtype: "f32", metric: "inner_product", dim: 16, rows: 90, ivf: 16 },
  { name: "f32-codes", dtype: "f32", metric: "l2", dim: 16, rows: 90, ivf: 16, asCodes: true },
  { name: "f16", dtype: "f16", metric: "cosine", dim: 16, rows: 90, ivf: 16 },
  { name: "int8", dtype: "int8", metric: "inner_product", dim: 16, rows: 90, ivf: 16 },
  { name: "int4", dtype: "int4", metric: "l2", dim: 16, rows: 90, ivf: 16 },
  { name: "texts", dtype: "f32", metric: "inner_product", model: "multigram", dim: 0, rows: 90 },
  { name: "texts-int8", dtype: "int8", metric: "inner_product", model: "bigram", dim: 0, rows: 90, ivf: 16 },
  { name: "texts-int4", dtype: "int4", metric: "inner_product", model: "bigram", dim: 0, rows: 90 },
  { name: "texts-f16", dtype: "f16", metric: "inner_product", model: "bigram", dim: 0, rows: 90 },
  { name: "blocks", dtype: "f32", metric: "inner_product", dim: 96, rows: 1400, ivf: 200, words: 30 },
];

/** Name of the collection in each store. */
export const NAME = "notes";

const LEXICON = Array.from({ length: 80 }, (_, i) => `${"bcdfgklmnprst"[i % 13]}${"aeiou"[i % 5]}${i.toString(36)}m`);

/** A text of the words that all texts are made of. */
export function textOf(next: () => number, words: number): string {
  return Array.from({ length: words }, () => LEXICON[Math.floor(next() ** 2 * LEXICON.length)]).join(" ");
}

/** Rows number `from` and up: of some metadata, texts and filter values are missing. */
function rowsOf(recipe: Recipe, from: number, count: number, next: () => number): Rows {
  const numbers = Array.from({ length: count }, (_, i) => from + i);
  const texts = numbers.map((i) => `${textOf(next, recipe.words ?? 6)} number${i}`);
  const vectors = recipe.model ? undefined : unitVectors(count, recipe.dim, next);
  if (vectors && recipe.asCodes)
    for (let i = 0; i < vectors.length; i++) vectors[i] = Math.round(vectors[i]! * 64) / 64;
  return {
    ids: numbers.map((i) => `row-${i}`),
    texts,
    vectors,
    metadata: numbers.map((i) =>
      i % 7 === 6 ? undefined : { scope: `part-${i % 3}`, kind: `k${i % 5}`, place: i % 4 === 0 ? i : null, n: i },
    ),
  };
}

/** Compacts as the program does by itself: what the last destructive save superseded stays. */
export async function compactKeeping(collection: Collection): Promise<void> {
  await collection.compactAside(new AbortController().signal, 60_000);
}

/** Where the states of a store while it was made are kept: `<dir>/<n>`, the last one is the store. */
export interface Made {
  recipe: Recipe;
  /** Memory directories, one for each state. */
  states: string[];
}

/** Makes a store below `dir`. Equal recipes with another seed differ in all rows and in no size that matters. */
export async function makeStore(dir: string, recipe: Recipe, native: Native, seed: number): Promise<Made> {
  const { kernel, env } = native;
  const work = join(dir, "work");
  const store = new Store(work, env, "0.0.0-test");
  const next = random(seed);
  const embedder =
    recipe.model === undefined
      ? undefined
      : new { multigram: MultigramEmbedder, bigram: BigramEmbedder }[recipe.model](kernel);
  const notes = store.create(NAME, {
    dim: embedder?.profile.dimension ?? recipe.dim,
    dtype: recipe.dtype,
    metric: recipe.metric,
    embedderProfile: embedder?.profile ?? null,
    partitionBy: "scope",
    filterColumns: ["scope", "kind", "place"],
    lexical: true,
  });
  const put = (from: number, count: number) =>
    notes.change(async (t) => {
      const rows = rowsOf(recipe, from, count, next);
      await t.put(Put.UPSERT, embedder ? { ...rows, model: embedder.kernelModel } : rows);
      t.note("read:log", { upTo: from + count, name: `file-${from}` });
    });
  const states: string[] = [];
  const keep = () => {
    states.push(join(dir, String(states.length)));
    mkdirSync(states.at(-1)!, { recursive: true });
    cpSync(join(work, NAME), join(states.at(-1)!, NAME), { recursive: true });
  };
  const { rows } = recipe;
  await put(0, rows);
  keep();
  if (recipe.ivf !== undefined) await notes.buildIvf(recipe.ivf, 0.9);
  await notes.buildLexical(1.2, 0.6);
  await notes.delete(["row-3", `row-${rows - 8}`]);
  keep();
  await put(rows, 5);
  await put(rows - 4, 6); // some replace rows of the base, some of the delta
  keep();
  await notes.delete([`row-${rows + 1}`, "row-10"]);
  await store.close();
  keep();
  return { recipe, states };
}
