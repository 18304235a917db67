/** Hits that hardly fit: they come without texts, and a notice says when even the first is one. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Row } from "../../src/store/collection.ts";
import { weakHits } from "../../src/texts/confidence.ts";
import { weakFirst } from "../../src/texts/notices.ts";
import { notes, TestMemory } from "../fixture.ts";

let memory: TestMemory;
const search = (args: object, verb: "search" | "search_lexical" = "search") =>
  memory.call(verb, { collection: "notes", with_text: true, ...args });

beforeAll(async () => {
  memory = await TestMemory.open();
  const rows = notes();
  await memory.call("upsert", {
    collection: "notes",
    texts: rows.map(({ text }) => text),
    ids: rows.map(({ id }) => id),
  });
  await memory.call("upsert", {
    collection: "one",
    texts: ["The staging database is restored every Sunday."],
    ids: ["a"],
  });
});
afterAll(() => memory.close());

test("a hit is weak by itself, or beside a better one, in no number of hits", () => {
  const rows = (scores: number[]) => scores.map((score) => ({ score }) as Row);
  expect(weakHits(rows([8, 7, 3, 1]), [0.9, 0.5, 0.2, 0.1])).toEqual([false, false, true, true]);
  expect(weakHits(rows([8, 3, 3]), [0.9, 0.8, 0.1])).toEqual([false, false, true]);
  expect(weakHits(rows([8, 7]), [0.9, 0.1])).toEqual([false, false]);
  expect(weakHits(rows([8, 7]), [0.2, 0.6])).toEqual([true, false]);
  expect(weakHits(rows([0]), [0.9])).toEqual([false]);
  expect(weakHits([], [])).toEqual([]);
  const turn = { score: 1, metadata: { session: "monday" } } as unknown as Row;
  expect(weakHits([...rows([8]), turn], [0.9, 0])).toEqual([false, false]);
});

test("as many hits as were asked for; weak ones say so and have no text", async () => {
  const first = notes()[0]!;
  const { hits, notice } = await search({ query: first.text, top_k: 5 });
  expect(hits.length).toBe(5);
  expect(hits[0]).toMatchObject({ id: first.id, text: first.text });
  expect(hits[0]).not.toHaveProperty("weak");
  const weak = hits.filter((hit: { weak?: boolean }) => hit.weak);
  expect(weak.length).toBeGreaterThan(0);
  for (const hit of weak) expect(hit).not.toHaveProperty("text");
  expect(notice).toBeUndefined();
});

test("a notice where even the first is weak, also in a collection of one row", async () => {
  const query = "which orchid did grandmother paint on the porcelain teapot";
  const { hits, notice } = await search({ query, top_k: 3 });
  expect(hits.length).toBe(3);
  expect(hits.every((hit: { weak?: boolean }) => hit.weak)).toBe(true);
  expect(notice).toContain(weakFirst());
  const one = await search({ collection: "one", query, top_k: 3 });
  expect(one).toMatchObject({ hits: [{ id: "a", weak: true }] });
  expect((await search({ collection: "one", query: "when is staging restored?" })).hits[0].text).toContain("Sunday");
});

test("not without texts, and not by words alone", async () => {
  const query = "which orchid did grandmother paint on the porcelain teapot, staging";
  const { hits, notice } = await search({ query, with_text: false });
  expect(hits.some((hit: { weak?: boolean }) => hit.weak)).toBe(false);
  expect(notice ?? "").not.toContain(weakFirst());
});
