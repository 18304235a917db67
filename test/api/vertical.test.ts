/** A text collection's base has its codes by dimension as long as every row is the embedder's; answers never tell. */
import { beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalCollection } from "../../src/api/local-collection.ts";
import type { LocalStore } from "../../src/api/local-store.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { localStore } from "./fixture.ts";

/** Sections of a base (FORMAT.md): its rows' codes by dimension, or beside the rows. */
const LINES = 19;
const BLOCKS = 16;
const ROWS = 200;
const TOP = [1, 10, 250];

let dir: string;
let store: LocalStore;
let notes: LocalCollection;
let questions: Float32Array[];
/** By id, in the order of insertion. */
let rows: Map<string, Float32Array>;

beforeEach(async () => {
  dir = scratchDir();
  store = await localStore(dir);
  notes = await store.createCollection("notes", { embedder: "multigram" });
  const next = random(7);
  const words = Array.from({ length: 60 }, () => Math.floor(next() * 36 ** 5).toString(36));
  const text = () =>
    Array.from({ length: 2 + Math.floor(next() * 12) }, () => words[Math.floor(next() * 60)]).join(" ");
  const texts = Array.from({ length: ROWS }, text);
  texts[150] = texts[3]!; // two rows of the same score
  const ids = texts.map((_, i) => `note ${i}`);
  const embedder = new MultigramEmbedder((await native()).kernel);
  const vectors = await embedder.embedDocuments(texts);
  const dim = embedder.profile.dimension;
  rows = new Map(ids.map((id, i) => [id, vectors.subarray(i * dim, (i + 1) * dim)]));
  const asked = await embedder.embedQueries([
    words[5]!,
    `${words[1]} ${words[2]} ${words[9]}`,
    texts[3]!,
    "unknown",
    "",
  ]);
  questions = Array.from({ length: 5 }, (_, i) => asked.subarray(i * dim, (i + 1) * dim));
  questions.push(unitVectors(1, dim, next)); // every dimension
  await notes.addTexts(texts, { ids });
});

/** The ids of the sections of the saved base. */
function sections(): number[] {
  const base = readdirSync(join(dir, "notes")).filter((name) => /^base-.*\.slab$/.test(name));
  expect(base.length).toBe(1);
  const bytes = readFileSync(join(dir, "notes", base[0]!));
  return Array.from({ length: bytes.readUInt32LE(16) }, (_, i) => bytes.readUInt32LE(64 + i * 32));
}
const layout = () => sections().filter((id) => id === LINES || id === BLOCKS);

/** Every answer, each that of a look at every row: its scores, best first, and equal ones by insertion. */
async function answers() {
  const out = [];
  for (const question of questions) {
    const truth = new Map([...rows].map(([id, row]) => [id, row.reduce((sum, x, i) => sum + x * question[i]!, 0)]));
    const best = [...truth.values()].sort((a, b) => b - a);
    const order = [...rows.keys()];
    for (const topK of TOP) {
      const { ids, scores } = await notes.search(question, { topK });
      expect(ids.length).toBe(Math.min(topK, rows.size));
      expect(new Set(ids).size).toBe(ids.length);
      for (const [i, id] of ids.entries()) {
        expect(Math.abs(scores[i]! - truth.get(id)!)).toBeLessThan(1e-5);
        expect(Math.abs(scores[i]! - best[i]!)).toBeLessThan(1e-5);
        if (i > 0 && scores[i] === scores[i - 1]) expect(order.indexOf(id)).toBeGreaterThan(order.indexOf(ids[i - 1]!));
        if (i > 0) expect(scores[i]!).toBeLessThanOrEqual(scores[i - 1]!);
      }
      out.push({ ids, scores });
    }
  }
  return out;
}

test("a row put by vector changes the layout of the base and no answer, and so does its deletion", async () => {
  const unsaved = await answers();
  await notes.save();
  await notes.compact();
  expect(layout()).toEqual([LINES]);
  expect(await answers()).toEqual(unsaved);

  const dense = unitVectors(1, questions[0]!.length, random(11));
  rows.set("by vector", dense);
  await notes.add(dense, { ids: ["by vector"] });
  const beside = await answers(); // not its codes, in a delta by dimension
  expect(beside).not.toEqual(unsaved);
  await notes.save();
  expect(layout()).toEqual([LINES]);
  expect(await answers()).toEqual(beside);
  await notes.compact();
  expect(layout()).toEqual([BLOCKS]);
  expect(await answers()).toEqual(beside);

  rows.delete("by vector");
  await notes.delete(["by vector"]);
  expect(await answers()).toEqual(unsaved);
  await notes.save();
  await notes.compact();
  expect(layout()).toEqual([LINES]);
  expect(await answers()).toEqual(unsaved);
});
