/** Turns of conversations rank by the turns beside them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { localStore } from "../api/fixture.ts";
import { TestMemory } from "../fixture.ts";

let m: TestMemory;
beforeAll(async () => {
  m = await TestMemory.open();
});
afterAll(() => m.close());

type Row = [id: string, text: string, metadata: object | null];
let made = 0;

/** A new collection of rows, inserted in their order. */
async function chat(rows: readonly Row[], many = 150) {
  const collection = `chat ${made++}`;
  const noise = Array.from({ length: many }, (_, i): Row => [`noise ${i}`, `message ${i} about the weather`, null]);
  const all = [...noise, ...rows];
  await m.call("create_collection", { name: collection, lexical: true, filter_columns: ["kind"] });
  const [ids, texts, metadata] = [0, 1, 2].map((at) => all.map((row) => row[at as 0 | 1 | 2]));
  await m.call("add", { collection, ids, texts, metadata });
  await m.call("build_lexical", { collection });
  return collection;
}
const search = async (collection: string, args: object = {}) =>
  (await m.call("search", { collection, query: "weather quokka", with_score: true, top_k: 10, max_bytes: 0, ...args }))
    .hits as { id: string; score: number }[];
const placesOf = async (collection: string, args: object = {}) => (await search(collection, args)).map(({ id }) => id);

const ASKED = "What about the quokka?";
const ANSWER = "Nineteen, since Tuesday.";
const turn = (number: unknown, more: object = {}) => ({ session: "s", turn: number, ...more });

test("an answer that neither ranking lists is found by the question before it", async () => {
  const rows: Row[] = [
    ["asked", ASKED, turn(1)],
    ["answer", ANSWER, turn(2)],
    ["other", "Eighteen, since Monday.", { session: "t", turn: 1 }],
  ];
  const collection = await chat(rows);
  const hits = await search(collection);
  expect(hits.slice(0, 2).map(({ id }) => id)).toEqual(["asked", "answer"]);
  expect(hits.every(({ score }) => Number.isFinite(score))).toBeTrue();
  expect(hits.map(({ id }) => id)).not.toContain("other");
  expect(await placesOf(await chat(rows.map(([id, text]) => [id, text, null])))).not.toContain("answer");
  await m.call("compact", { collection });
  expect(await search(collection)).toEqual(hits);
});

test("turns are ordered by their numbers, however they were inserted, else by insertion", async () => {
  const numbered = await chat([
    ["4", "Four.", turn(4)],
    ["answer", ANSWER, turn(2)],
    ["5", "Five.", turn(5)],
    ["asked", ASKED, turn(1)],
    ["6", "Six.", turn(6)],
    ["3", "Three.", turn(3)],
  ]);
  expect((await placesOf(numbered)).slice(0, 3)).toEqual(["asked", "answer", "3"]);
  const rows: Row[] = ["asked", "answer", "2", "3", "4"].map((id) => [
    id,
    id === "asked" ? ASKED : `Row ${id}.`,
    turn(null),
  ]);
  expect((await placesOf(await chat(rows))).slice(0, 3)).toEqual(["asked", "answer", "2"]);
});

test("rows that are replaced keep their place", async () => {
  const collection = await chat([
    ["asked", "Not yet.", turn(undefined)],
    ["answer", ANSWER, turn(undefined)],
    ["later", "Later.", turn(undefined)],
    ["last", "Last.", turn(undefined)],
  ]);
  await m.call("upsert", { collection, ids: ["last"], texts: ["Still last."], metadata: [turn(undefined)] });
  await m.call("upsert", { collection, ids: ["asked"], texts: [ASKED], metadata: [turn(undefined)] });
  expect((await placesOf(collection)).slice(0, 3)).toEqual(["asked", "answer", "later"]);
});

test("explain has null for a row that no ranking lists", async () => {
  const collection = await chat([
    ["asked", ASKED, turn(1)],
    ["answer", ANSWER, turn(2)],
  ]);
  const store = await localStore(m.dir);
  const options = { explain: true, topK: 2 };
  const { ids, scores, explain } = await store.collection(collection).searchText("weather quokka", options);
  expect(ids).toEqual(["asked", "answer"]);
  expect(scores.every(Number.isFinite)).toBeTrue();
  expect(explain!.dense_scores![0]).toBeNumber();
  expect([explain!.dense_scores![1], explain!.lexical_scores![1]]).toEqual([null, null]);
});

test("sessions of one name in two partitions do not mix, and deleted and excluded rows stay away", async () => {
  const apart = await chat([
    ["asked", ASKED, { ...turn(1), scope: "a", kind: "x" }],
    ["elsewhere", ANSWER, { ...turn(2), scope: "b", kind: "x" }],
    ["gone", ANSWER, { ...turn(3), scope: "a", kind: "x" }],
    ["hidden", ANSWER, { ...turn(4), scope: "a", kind: "y" }],
    ["shown", ANSWER, { ...turn(5), scope: "a", kind: "x" }],
  ]);
  await m.call("delete", { collection: apart, ids: ["gone"] });
  expect((await placesOf(apart)).slice(0, 3)).toEqual(["asked", "hidden", "shown"]);
  expect((await placesOf(apart, { where: { kind: "x" } })).slice(0, 2)).toEqual(["asked", "shown"]);
  expect(await placesOf(apart, { where: { kind: "x" } })).not.toContain("hidden");
  expect(await placesOf(apart, { where: { scope: "b" }, query: "quokka" })).toEqual(["elsewhere"]);
});

test("sessions and turns of every kind are answered", async () => {
  const nested = { session: { name: "s" }, turn: 1 };
  const sessions = [1, 0, -5, 0.25, "", "x".repeat(1000), null, true, [], ["s"], {}, { s: { t: 1 } }, "\u{1f600}"];
  const turns = [1, 1, -3, 0.5, 2 ** 53 - 1, 1 - 2 ** 53, "7", null, {}, [], true];
  const rows: Row[] = [["nested", ASKED, nested]];
  for (const session of sessions)
    for (const [i, number] of turns.entries()) {
      rows.push([`${rows.length}`, i % 3 === 0 ? ASKED : ANSWER, { session, turn: number }]);
    }
  const collection = await chat(rows, 20);
  const hits = await search(collection, { top_k: 100 });
  expect(hits.length).toBe(100);
  expect(hits.every(({ score }) => Number.isFinite(score))).toBeTrue();
  await m.call("compact", { collection });
  expect(await search(collection, { top_k: 100 })).toEqual(hits);
  expect(await placesOf(await chat([["alone", ASKED, turn(1)]], 0))).toEqual(["alone"]);
});

test("ten thousand turns of one session", async () => {
  const rows = Array.from({ length: 10_000 }, (_, i): Row => [`${i}`, i % 100 === 7 ? ASKED : `Line ${i}.`, turn(i)]);
  const collection = await chat(rows.slice(0, 1), 0);
  for (let at = 1; at < rows.length; at += 5000) {
    const some = rows.slice(at, at + 5000);
    await m.call("add", {
      collection,
      ids: some.map(([id]) => id),
      texts: some.map(([, text]) => text),
      metadata: some.map(([, , metadata]) => metadata),
    });
  }
  for (const top_k of [10, 10_000]) {
    const hits = await search(collection, { query: "quokka", top_k });
    expect(hits.length).toBe(top_k);
    expect(new Set(hits.map(({ id }) => id)).size).toBe(top_k);
  }
});
