/** Terms of texts by their hashes, what they weigh in a query, and the digest of the live ids. */
import { beforeEach, expect, test } from "bun:test";
import type { Collection, Question } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { Put } from "../../src/store/writer.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
let store: Store;
let notes: Collection;

beforeEach(async () => {
  store = await openStore();
  notes = store.create("notes", { dim: DIM, lexical: true, filterColumns: ["kind"] });
});

function rows(ids: string[], texts: string[], scope = "a") {
  const metadata = ids.map((_, i) => ({ scope, kind: i % 2 }));
  return { ids, texts, metadata, vectors: unitVectors(ids.length, DIM, random(7)) };
}
const where = (column: string, value: string | number) => ({ column, value });

test("a query's terms are weighed among the rows of its partition", async () => {
  await notes.add(rows(["1", "2", "3"], ["keel keel", "keel and mast", "mast of oak"]));
  await notes.add(rows(["4"], ["anchor"], "b"));
  await notes.buildLexical(1.2, 0.6);
  const text = "The anchor keel, a MAST: keels";
  const weigh = async (question: Partial<Question>, scope?: string) => {
    const options = { topK: 1, weights: true, where: scope === undefined ? undefined : where("scope", scope) };
    return (await notes.ask({ by: "words", text, ...question }, options)).weights;
  };
  const [terms] = notes.termsOf([text]);
  const weights = await weigh({});
  expect(weights.map(({ hash }) => hash)).toEqual([...new Set(terms)]);
  expect(weights.map(({ known }) => known)).toEqual([false, true, true, false, true]);
  const idf = (docs: number, df: number) => Math.log(1 + (docs - df + 0.5) / (df + 0.5));
  const [the, anchor, keel] = [idf(4, 0), idf(4, 1), idf(4, 2)].map((rarity, i) => weights[i]!.weight / rarity);
  expect([the! < 0.3, anchor! > 0.6 && anchor! <= 1, keel! > 0.6 && keel! <= 1]).toEqual([true, true, true]);
  const inA = await weigh({ by: "both", vector: new Float32Array(DIM).fill(1) }, "a");
  expect(inA[1]).toEqual({ hash: weights[1]!.hash, known: false, weight: expect.closeTo(anchor! * idf(3, 0), 12) });
  expect(inA[2]).toEqual({ hash: weights[2]!.hash, known: true, weight: expect.closeTo(keel! * idf(3, 2), 12) });
  expect(await weigh({ text: "" })).toEqual([]);
  expect(await weigh({ by: "vector", vector: new Float32Array(DIM).fill(1) })).toEqual([]);
  const unasked = await notes.ask({ by: "words", text: "keels masst" }, { topK: 1, explain: true });
  expect(unasked).toMatchObject({ weights: [], replaced: [{ word: "masst", partners: ["mast"] }] });
  const both = await notes.ask({ by: "words", text: "keels masst" }, { topK: 1, explain: true, weights: true });
  expect(both).toMatchObject({ rows: unasked.rows, replaced: unasked.replaced });
  expect(both.weights.map(({ known }) => known)).toEqual([true, false]);
});

test("each row has its score in each ranking", async () => {
  await notes.add(rows(["1", "2"], ["keel", "mast"]));
  const vector = unitVectors(1, DIM, random(3));
  const found = await notes.ask({ by: "both", text: "keel", vector, denseWeight: 0.3 }, { topK: 2, scores: true });
  const scores = new Map(found.rows.map(({ id, scores }) => [id, scores!]));
  expect(scores.get("1")!.words).toBeGreaterThan(0);
  expect(scores.get("2")!.words).toBeNaN();
  expect([...scores.values()].map((s) => Math.abs(s.vector) <= 1)).toEqual([true, true]);
});

test("the terms of texts are those of each text alone, however many are asked for", () => {
  const long = "wombat ".repeat(300_000);
  const texts = ["", "src/net/http_client.ts", "東京は大きい", "x", long, "", "Running runs", "\ud800"];
  const terms = notes.termsOf(texts);
  expect(terms.map((t) => t.length)).toEqual([
    0,
    expect.any(Number),
    expect.any(Number),
    1,
    300_000,
    0,
    2,
    expect.any(Number),
  ]);
  expect(terms).toEqual(texts.map((text) => notes.termsOf([text])[0]!));
  expect(new Set(terms[4]).size).toBe(1);
  expect(new Set(terms[6]).size).toBe(1);
  expect(terms[1]!.length).toBeGreaterThan(4);
  expect(notes.termsOf([])).toEqual([]);
  const many = Array.from({ length: 20_000 }, (_, i) => `packages/core/src/file_${i}.ts`);
  const all = notes.termsOf(many);
  expect([all.length, all[19_999]]).toEqual([20_000, notes.termsOf([many[19_999]!])[0]!]);
});

test("a digest tells sets of live ids apart, and nothing else", async () => {
  const empty = notes.digest();
  expect(empty).toEqual({ count: 0, digest: "0000000000000000" });
  await notes.add(rows(["1", "2", "3"], ["a", "b", "c"]));
  const first = notes.digest();
  expect(first.digest).toMatch(/^[0-9a-f]{16}$/);
  await notes.add(rows(["4"], ["d"], "b"));
  expect(notes.digest()).not.toEqual(first);
  expect(notes.digest(where("scope", "a"))).toEqual(first);
  expect(notes.digest(where("scope", "c"))).toEqual(empty);
  const even = notes.digest(where("kind", 0));
  expect(even.count).toBe(3);
  await notes.change((t) => t.put(Put.UPSERT, rows(["1"], ["another text"])));
  await notes.delete(["4"]);
  expect(notes.digest()).toEqual(first);
  await notes.compact();
  expect(notes.digest()).toEqual(first);
  expect(notes.digest(where("kind", 0))).not.toEqual(even);
  const copy = store.create("copy", { dim: DIM });
  await copy.add(rows(["3", "1", "2"], ["x", "y", "z"], "elsewhere"));
  expect(copy.digest()).toEqual(first);
});
