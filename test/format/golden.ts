/**
 * Golden stores: what a released version of the format has written, with what is in it. They are never made again: a
 * later version opens those of every version before. `bun test/format/golden.ts --make` makes those of this version,
 * once, when it is released, and refuses where there are some.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Put } from "../../ffi/ty_collection.ts";
import type { Collection } from "../../src/store/collection.ts";
import { Store } from "../../src/store/store.ts";
import { BigramEmbedder, MultigramEmbedder } from "../../src/texts/kernel.ts";
import { SentenceEncoder } from "../../src/texts/meaning/encoder.ts";
import type { Native } from "../../src/trust/runtime/libraries.ts";
import { compactKeeping, textOf } from "../fault/stores.ts";
import { random, unitVectors } from "../random.ts";
import { type Remembered, rememberedBy } from "./saves.ts";
import { sealed } from "./seal.ts";

export const GOLDEN = join(import.meta.dir, "golden");
export const VERSION = 8;
export const NAME = "notes";
const DIM = 8;
/** A key that no program knows, and the reserved one. */
export const UNKNOWN_KEYS = { description: "a golden store", x_other: { kept: [1, "two", null] } };

/** What is asked of a store, with the answer: exact hits by vector with their scores, and the rows that hold a word. */
export interface Expected {
  rows: { id: string; metadata?: unknown; text?: string; vector: string; created: number; updated: number }[];
  hits: { query: number[]; where?: { column: string; value: string | number }; ids: string[]; scores: number[] }[];
  words: { word: string; ids: string[] }[];
  generation: number;
  /** SHA-256 of the vectors of meaning of `rows`, where there are some. */
  meaning?: string | undefined;
  /** From version 8 on. */
  saves?: Remembered[];
}

/** A row as it stands beside the store; a long vector by a digest. */
export function rowsOf(notes: Collection): Expected["rows"] {
  return notes
    .get(notes.ids(), { metadata: true, text: true, vector: true, times: true })
    .map(({ id, metadata, text, vector, times }) => {
      const bytes = new Uint8Array(vector!.buffer, vector!.byteOffset, vector!.byteLength);
      const digest = () => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      const shown = vector!.length <= DIM ? Buffer.from(bytes).toString("hex") : digest();
      return { id, metadata, text, vector: shown, created: times!.created, updated: times!.updated };
    });
}

/** SHA-256 of the rows' vectors of meaning; undefined where no row has one. */
export function meaningOf(notes: Collection): string | undefined {
  const vectors = notes.meaningOf(notes.ids());
  return vectors.some((byte) => byte !== 0) ? new Bun.CryptoHasher("sha256").update(vectors).digest("hex") : undefined;
}

/** The exact answer by vector. */
export async function hitsOf(notes: Collection, { query, where }: Omit<Expected["hits"][0], "ids" | "scores">) {
  const vector = new Float32Array(notes.schema.dim);
  vector.set(query); // the other dimensions are 0
  const { rows } = await notes.ask({ by: "vector", vector }, { topK: 6, where, targetRecall: 1 });
  return { ids: rows.map(({ id }) => id), scores: rows.map(({ score }) => score) };
}

/** The rows that hold a word, sorted: how they are ranked may change. */
export async function idsWith(notes: Collection, word: string): Promise<string[]> {
  const { rows } = await notes.ask({ by: "words", text: word }, { topK: 100 });
  return rows.map(({ id }) => id).sort();
}

export interface Recipe {
  name: string;
  dtype: string;
  metric: string;
  /** Texts of an embedder of the kernel; else vectors, with texts beside them. */
  model?: "bigram" | "multigram";
  dim: number;
  rows: number;
  /** Words of a text. */
  words: number;
}

const VECTORS = { dim: DIM, rows: 32, words: 4 };
/** Each layout, element type and metric, and each addition of version 8; those of version 7 are more alike. */
export const RECIPES: Recipe[] = [
  { name: "f32-l2", dtype: "f32", metric: "l2", ...VECTORS },
  { name: "f16-cosine", dtype: "f16", metric: "cosine", ...VECTORS },
  { name: "int8-inner_product", dtype: "int8", metric: "inner_product", ...VECTORS },
  { name: "int4-cosine", dtype: "int4", metric: "cosine", ...VECTORS },
  { name: "texts", dtype: "f32", metric: "inner_product", model: "bigram", dim: 0, rows: 70, words: 4 },
  // Sparse runs, coded texts and vectors of meaning; then signs, which need 64 dimensions and more rows.
  { name: "texts-coded", dtype: "f32", metric: "inner_product", model: "multigram", dim: 0, rows: 400, words: 40 },
  { name: "signs", dtype: "int8", metric: "cosine", dim: 64, rows: 600, words: 4 },
];

/** Makes one, with expected.json beside the collection. */
export async function make(folder: string, recipe: Recipe, native: Native, seed: number): Promise<void> {
  const { dtype, metric, model, rows, words: length } = recipe;
  const store = new Store(folder, native.env, "1.0.0");
  const next = random(seed);
  const Embedder = model === "multigram" ? MultigramEmbedder : BigramEmbedder;
  const embedder = model ? new Embedder(native.kernel) : undefined;
  const dim = embedder?.profile.dimension ?? recipe.dim;
  const given = { dim, dtype, partitionBy: "scope", filterColumns: ["scope", "kind"], lexical: true };
  const notes = store.create(NAME, { ...given, metric, embedderProfile: embedder?.profile ?? null });
  const meaning = model === "multigram";
  if (meaning && !(await new SentenceEncoder(native).load()))
    throw new Error("the sentence encoder's model is missing");
  const put = (from: number, count: number) =>
    notes.change(async (t) => {
      const numbers = Array.from({ length: count }, (_, i) => from + i);
      const added = {
        ids: numbers.map((i) => `row ${i}`),
        texts: numbers.map((i) => `${textOf(next, length)} é${i % 3}`),
        metadata: numbers.map((i) =>
          i % 6 === 5 ? undefined : { scope: `s${i % 2}`, kind: i % 3 === 0 ? "a" : i % 4 },
        ),
      };
      const vectors = embedder ? undefined : unitVectors(count, dim, next);
      await t.put(Put.UPSERT, embedder ? { ...added, model: embedder.kernelModel, meaning } : { ...added, vectors });
      t.note("golden:log", { upTo: from + count });
      t.note("history", { days: 36_500, percent: 25 });
    });
  await put(0, rows);
  if (!model) await notes.buildIvf(8, 0.9);
  await notes.buildLexical(1.1, 0.5);
  await store.close();

  const manifest = join(folder, NAME, "collection.json");
  const lines = Object.entries(UNKNOWN_KEYS).map(
    ([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`,
  );
  writeFileSync(
    manifest,
    sealed(readFileSync(manifest, "utf8").replace(/^ {2}"format_version"/m, `${lines.join("")}$&`)),
  );

  const again = new Store(folder, native.env, "1.0.0");
  const changed = again.open(NAME);
  if (meaning) {
    const batch = await changed.encodeMeaning(20, new Uint32Array(1), false);
    await changed.change(async (t) => t.putMeaning(batch));
  }
  await changed.delete(["row 1", "row 4"]);
  await changed.change(async (t) => {
    const texts = ["the one that came later é", "replaced é"];
    const others = { ids: ["later", "row 2"], texts, metadata: [{ scope: "s1" }, { scope: "s0", kind: true }] };
    const vectors = embedder ? undefined : unitVectors(2, dim, next);
    await t.put(Put.UPSERT, embedder ? { ...others, model: embedder.kernelModel, meaning } : { ...others, vectors });
  });
  await changed.delete(["row 6"]);
  if (metric === "cosine") await compactKeeping(changed); // what the deltas remember becomes a history

  const { generation } = changed;
  const [meant, saves] = [meaningOf(changed), rememberedBy(changed)];
  const expected: Expected = { rows: rowsOf(changed), hits: [], words: [], generation, meaning: meant, saves };
  const queries = unitVectors(3, dim, next);
  for (let i = 0; i < 3; i++) {
    const query = Array.from(queries.subarray(i * dim, i * dim + Math.min(dim, 32)), (x) => Math.round(x * 64) / 64);
    for (const where of [undefined, { column: "scope", value: "s1" }, { column: "kind", value: "a" }]) {
      expected.hits.push({ query, where, ...(await hitsOf(changed, { query, where })) });
    }
  }
  const words = new Set(expected.rows.flatMap(({ text }) => text!.split(" ")));
  for (const word of [...words].slice(0, 6)) expected.words.push({ word, ids: await idsWith(changed, word) });
  await again.close();
  writeFileSync(join(folder, "expected.json"), `${JSON.stringify(expected)}\n`);
  for (const name of [".ballast", ".lock"]) rmSync(join(folder, NAME, name), { force: true }); // a save makes them
}

/** Golden stores of all versions: a folder each, which is a memory directory with expected.json beside. */
export function goldenStores(): string[] {
  if (!existsSync(GOLDEN)) return [];
  return readdirSync(GOLDEN).flatMap((version) =>
    readdirSync(join(GOLDEN, version)).map((name) => join(version, name)),
  );
}

if (import.meta.main) {
  const { openBuiltNative } = await import("../native.ts");
  const folder = join(GOLDEN, String(VERSION));
  if (process.argv[2] !== "--make" || existsSync(folder)) {
    console.error(`golden.ts takes --make, where ${folder} is not there: stores of a version that was released stay`);
    process.exit(2);
  }
  const native = await openBuiltNative();
  for (const [i, recipe] of RECIPES.entries()) {
    mkdirSync(join(folder, recipe.name), { recursive: true });
    await make(join(folder, recipe.name), recipe, native, i + 1);
  }
}
