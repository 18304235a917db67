/** Whatever its history, a collection answers as one made of its rows at once: rows, scores, and shares of terms. */
import { expect, test } from "bun:test";
import type { Collection, Row } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { searchTexts } from "../../src/texts/search.ts";
import { native, openStore } from "../fixture.ts";
import { random } from "../random.ts";

const STEPS = 14;
const WORDS = [
  "the",
  "of",
  "alpha",
  "running",
  "runs",
  "fooBar_baz",
  "тест",
  "тесты",
  "東京都",
  "👩‍👧",
  "مرحبا",
  "café",
];
const ODD = ["", "\0", "\u0301".repeat(50), "ferret ".repeat(3000), "x".repeat(70_000), "… ?!"];

interface Life {
  store: Store;
  other: Store;
  embedder: MultigramEmbedder;
  rows: Map<string, { text: string; scope: string }>;
  pick(n: number): number;
  text(): string;
}

async function begin(seed: number): Promise<Life> {
  const next = random(seed);
  const pick = (n: number) => Math.floor(next() * n);
  const words = [
    ...WORDS,
    ...Array.from({ length: 200 }, (_, i) => `w${String.fromCharCode(97 + (i % 26), 97 + i / 26)}`),
  ];
  const word = () => words[Math.floor(words.length * next() ** 3)]!;
  const text = () => (pick(12) === 0 ? ODD[pick(ODD.length)]! : Array.from({ length: 1 + pick(25) }, word).join(" "));
  const store = await openStore();
  const other = await openStore(store.dir);
  return { store, other, embedder: new MultigramEmbedder((await native()).kernel), rows: new Map(), pick, text };
}

function make({ store, embedder }: Life, name: string): Collection {
  const { profile } = embedder;
  return store.create(name, { dim: profile.dimension, embedderProfile: profile, lexical: true });
}

async function put({ embedder, rows }: Life, collection: Collection, ids: string[], mode: "add" | "upsert") {
  const some = ids.map((id) => rows.get(id)!);
  const metadata = some.map(({ scope }) => ({ scope }));
  await putTexts(collection, embedder, mode, { ids, texts: some.map(({ text }) => text), metadata }, {});
}

async function change(life: Life, collection: Collection): Promise<void> {
  const { rows, pick, text } = life;
  const what = rows.size === 0 ? 0 : pick(8);
  if (what < 4) {
    const ids = [...new Set(Array.from({ length: 1 + pick(120) }, () => `i${pick(400)}`))];
    // A row that is written again comes last, as it does in the collection.
    for (const id of ids) rows.delete(id);
    for (const id of ids) rows.set(id, { text: text(), scope: `s${pick(3)}` });
    await put(life, collection, ids, "upsert");
  } else if (what < 6) {
    const ids = [...rows.keys()].filter(() => pick(3) === 0);
    for (const id of ids) rows.delete(id);
    expect(await collection.delete(ids)).toBe(ids.length);
  } else if (what === 6) {
    await collection.compact();
  } else {
    await collection.buildLexical(1.2, 0.6);
  }
}

/** Rows with their scores, whatever the order of those that are equal. */
const lines = (rows: Row[]) =>
  rows.map(({ id, score, terms, scores }) => JSON.stringify([id, score, terms, scores])).sort();

async function expectSame(life: Life, lived: Collection, fresh: Collection): Promise<void> {
  const { embedder, pick, text } = life;
  for (let i = 0; i < 6; i++) {
    const query = text();
    const where = pick(3) === 0 ? { column: "scope", value: `s${pick(3)}` } : undefined;
    const options = { topK: 1000, where, explain: true };
    expect(lines(await lived.searchLexical(query, options))).toEqual(lines(await fresh.searchLexical(query, options)));
    const topK = [1, 3, 10][pick(3)]!;
    const scores = async (collection: Collection) =>
      (await collection.searchLexical(query, { topK, where })).map(({ score }) => score);
    expect(await scores(lived)).toEqual(await scores(fresh));
    const asked = { topK: 1000, where, scores: true };
    const [mine, theirs] = [
      await searchTexts(lived, embedder, query, asked),
      await searchTexts(fresh, embedder, query, asked),
    ];
    expect(lines(mine.rows)).toEqual(lines(theirs.rows));
  }
}

test.each([1, 2, 3, 4])("a life with seed %d", async (seed) => {
  const life = await begin(seed);
  const lived = make(life, "lived");
  await lived.save();
  await lived.buildLexical(1.2, 0.6);
  for (let step = 0; step < STEPS; step++) {
    // Some of it is done by another process.
    await change(life, life.pick(3) === 0 ? life.other.open("lived") : lived);
    if (step % 3 !== 2) continue;
    const fresh = make(life, `fresh-${step}`);
    await put(life, fresh, [...life.rows.keys()], "add");
    await fresh.buildLexical(1.2, 0.6);
    await expectSame(life, lived, fresh);
    await expectSame(life, life.other.open("lived"), fresh);
  }
  await lived.verify();
});
