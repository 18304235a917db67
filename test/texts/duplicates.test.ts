/** Texts that are there already are found by their bytes: in files, deltas and the call itself, and no others. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Collection } from "../../src/store/collection.ts";
import { duplicatesOf } from "../../src/texts/duplicates.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { fileWith, flipBits, sectionsOf } from "../collection-files.ts";
import { native, openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 4;
const put = (c: Collection, ids: readonly string[], texts: readonly string[] | undefined) =>
  c.upsert({ ids, texts, vectors: unitVectors(ids.length, DIM, random(ids.length)) });
const found = (c: Collection, texts: readonly string[], ids = texts.map((_, i) => `new${i}`), replaces = false) =>
  duplicatesOf(c, { ids, texts }, replaces).map(({ index, of }) => [index, of]);

test("texts are the same byte for byte, wherever the rows are", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  const texts = ["caf\u00e9", "cafe\u0301", "blue green", "Blue green", "blue green ", "", "a\0b", "\u{1f600}"];
  await put(c, ["other"], ["before"]);
  expect(found(c, texts)).toEqual([]);
  await put(c, ["vector"], undefined);
  await put(
    c,
    texts.map((_, i) => `row${i}`),
    texts,
  );
  const all = texts.map((_, i) => [i, `row${i}`]);
  for (const state of ["in a delta", "in the base", "in both"]) {
    if (state === "in the base") await c.compact();
    if (state === "in both") await put(c, ["row0", "row3"], [texts[0]!, texts[3]!]);
    expect(found(c, texts)).toEqual(all);
    expect(found(c, ["blue", "BLUE GREEN", " ", "caf", "blue green\n"])).toEqual([]);
  }
  await c.delete(["row2", "row6"]);
  await put(c, ["row4"], ["something else"]);
  expect(found(c, texts)).toEqual(all.filter(([i]) => ![2, 4, 6].includes(i as number)));
});

test("in the call itself the first one counts; of an id that stands twice the last row", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  expect(found(c, ["a", "b", "a", "a"])).toEqual([
    [2, "new0"],
    [3, "new0"],
  ]);
  expect(found(c, ["a", "a"], ["x", "x"], true)).toEqual([]);
  expect(found(c, ["a", "a", "b"], ["x", "y", "x"], true)).toEqual([]);
  await put(c, ["x", "y"], ["a", "b"]);
  // Under its own id a text is not a duplicate, and what the call replaces does not count.
  expect(found(c, ["a", "b"], ["x", "z"], true)).toEqual([[1, "y"]]);
  expect(found(c, ["c", "a"], ["x", "z"], true)).toEqual([]);
  expect(found(c, ["b", "a"], ["x", "y"], true)).toEqual([]);
  await put(c, ["x2", "x3"], ["a", "a"]);
  expect(found(c, ["c", "a", "d"], ["x", "z", "x2"], true)).toEqual([[1, "x3"]]);
});

test("ten thousand texts among rows of one length, against a map", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  const next = random(5);
  const text = () => `note ${String(Math.floor(next() * 4000)).padStart(6, "0")}`;
  const rows = Array.from({ length: 3000 }, text);
  await put(
    c,
    rows.map((_, i) => `r${i}`),
    rows,
  );
  await c.compact();
  const more = Array.from({ length: 1000 }, text);
  await put(
    c,
    more.map((_, i) => `m${i}`),
    more,
  );
  const known = new Map<string, Set<string>>();
  for (const [i, t] of rows.entries()) known.set(t, (known.get(t) ?? new Set()).add(`r${i}`));
  for (const [i, t] of more.entries()) known.set(t, (known.get(t) ?? new Set()).add(`m${i}`));
  const asked = Array.from({ length: 10_000 }, text);
  const answers = new Map(
    duplicatesOf(c, { ids: asked.map((_, i) => `n${i}`), texts: asked }, false).map((d) => [d.index, d.of]),
  );
  const first = new Map<string, number>();
  for (const [i, t] of asked.entries()) {
    if (known.has(t)) expect(known.get(t)).toContain(answers.get(i)!);
    else expect(answers.get(i)).toBe(first.has(t) ? `n${first.get(t)}` : undefined);
    if (!first.has(t)) first.set(t, i);
  }
});

test("a base whose checksums of texts are damaged hides rows at most", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  const texts = Array.from({ length: 20 }, (_, i) => `text number ${i}`);
  await put(
    c,
    texts.map((_, i) => `r${i}`),
    texts,
  );
  await c.compact();
  const dir = join(store.dir, "c");
  await store.close();
  const path = fileWith(dir, "base-");
  const { offset } = sectionsOf(path).find(({ id }) => id === 26)!;
  flipBits(path, offset + 4); // of the second row's
  const again = await openStore(store.dir);
  const answers = found(again.open("c"), texts);
  expect(answers).toEqual(texts.flatMap((_, i) => (i === 1 ? [] : [[i, `r${i}`]])));
});

test("what is not added twice: only new rows are left out, and only where asked", async () => {
  const store = await openStore();
  const embedder = new MultigramEmbedder((await native()).kernel);
  const { profile } = embedder;
  const c = store.create("c", { dim: profile.dimension, embedderProfile: profile });
  const texts = ["one", "two", "three", "one"];
  const ids = ["a", "b", "c", "d"];
  const metadata = [{ n: 1 }, null, { n: 3 }, { n: 4 }];
  const first = await putTexts(c, embedder, "add", { texts, ids, metadata }, {}, true);
  expect([first.inserted, [...first.skipped], c.ids()]).toEqual([3, [3], ["a", "b", "c"]]);
  const rows = { texts: ["two", "new", "one"], ids: ["a", "e", "f"], metadata: [{ n: 9 }, { n: 5 }, null] };
  const second = await putTexts(c, embedder, "upsert", rows, {}, true);
  // The row of the live id is replaced, so that "one" is gone and comes back.
  expect(second.duplicates).toEqual([{ index: 0, of: "b" }]);
  expect([second.inserted, second.replaced, second.skipped.size]).toEqual([2, 1, 0]);
  expect(c.get(["a", "e", "f"]).map(({ text, metadata: m }) => [text, m?.n])).toEqual([
    ["two", 9],
    ["new", 5],
    ["one", undefined],
  ]);
  const third = await putTexts(c, embedder, "upsert", { texts: ["new", "x", "y"], ids: ["g", "g", "h"] }, {}, true);
  expect([third.duplicates, c.get(["g"])[0]!.text]).toEqual([[], "x"]);
  // The last row of an id is a duplicate: no earlier one takes its place.
  const fourth = await putTexts(c, embedder, "upsert", { texts: ["z", "y"], ids: ["i", "i"] }, {}, true);
  expect([fourth.inserted, [...fourth.skipped], c.get(["i"])[0]!.found]).toEqual([0, [1], false]);
  const raw = { texts: ["new", "p"], ids: ["j", "k"] };
  const outside = {
    profile,
    embedDocuments: embedder.embedDocuments.bind(embedder),
    embedQueries: embedder.embedQueries.bind(embedder),
  };
  expect((await putTexts(c, outside, "add", raw, {}, true)).inserted).toBe(1);
  expect(c.get(["k"], { vector: true })[0]!.vector).toEqual(await embedder.embedDocuments(["p"]));
});
