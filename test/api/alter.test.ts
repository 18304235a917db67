/** Collections that get lexical search or other filter columns: every row stays as it was, or nothing changes. */
import { beforeEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { LocalStore } from "../../src/api/local-store.ts";
import { CancelledError, ValueError } from "../../src/errors.ts";
import { DTYPES, METRICS } from "../../src/store/schema.ts";
import { openNative } from "../../src/trust/runtime/libraries.ts";
import { builtLibraries } from "../native.ts";
import { random, unitVectors } from "../random.ts";
import { freshStore, localStore } from "./fixture.ts";

const DIM = 24;
const ENOSPC = 28;
let dir: string;
let store: LocalStore;

beforeEach(async () => {
  ({ dir, store } = await freshStore());
});

const everything = { withVector: true, withTimes: true } as const;
const idsOf = (n: number) => Array.from({ length: n }, (_, i) => `row ${i}`);

/** All that a row has. */
async function rowsOf(name: string, of = store) {
  const collection = await of.openCollection(name);
  return collection.get(await collection.ids(), everything);
}

const kinds = DTYPES.flatMap((dtype) => METRICS.map((metric) => [dtype, metric] as const));
test.each(kinds)("rows of %s and %s are the same, to the bit", async (dtype, metric) => {
  const n = 300;
  const made = await store.createCollection("c", { dim: DIM, dtype, metric, filterColumns: ["old"] });
  const vectors = unitVectors(n, DIM, random(7)).map((x) => x * 3);
  const metadata = idsOf(n).map((_, i) =>
    i % 5 === 0 ? null : { scope: `s${i % 3}`, lang: i % 2 ? "de" : 2, old: true },
  );
  await made.add(vectors, { ids: idsOf(n), metadata });
  await made.save();
  if (metric !== "l2") await made.compact();
  await made.upsert(vectors.slice(0, DIM * 10), { ids: idsOf(10) });
  await made.delete(idsOf(20).slice(15));
  await made.save();
  const before = await rowsOf("c");
  const answer = await store.alterCollection("c", { addColumns: ["lang"], dropColumns: ["old"] });
  expect(answer).toEqual({
    name: "c",
    altered: true,
    rows: n - 5,
    lexical: false,
    filter_columns: ["scope", "lang"],
    meaning: false,
    history: { days: 30, percent: 25 },
  });
  const after = await rowsOf("c");
  if (dtype === "int4") {
    // Coded again: of some rows other codes decode to nearly the same.
    const least = (row: (typeof after)[number], i: number) =>
      Math.max(...row.vector!.map((x, d) => Math.abs(x - before[i]!.vector![d]!)));
    expect(Math.max(...after.map(least))).toBeLessThan(0.2);
    for (const [i, row] of after.entries()) row.vector = before[i]!.vector!;
  }
  expect(after).toEqual(before);
  expect(made.schema).toMatchObject({ dtype, metric, filterColumns: ["scope", "lang"] });
  expect(await made.count({ lang: "de" })).toBe(before.filter((row) => row.metadata?.lang === "de").length);
  expect(readdirSync(dir)).toEqual(["c"]);
});

test.each(["f32", "f16", "int8"] as const)(
  "a row of %s that was scaled to unit length is not scaled again",
  async (dtype) => {
    for (const dim of [3, 8]) {
      const name = `c${dim}`;
      const made = await store.createCollection(name, { dim, dtype, metric: "cosine" });
      await made.add(unitVectors(400, dim, random(dim)), { ids: idsOf(400) });
      await made.save();
      const before = await rowsOf(name);
      await store.alterCollection(name, { addColumns: ["lang"] });
      expect(await rowsOf(name)).toEqual(before);
    }
    // Near it is not at it.
    const near = await store.createCollection("near", { dim: 2, dtype, metric: "cosine" });
    await near.add([[1.002, 0]], { ids: ["a"] });
    expect((await near.get(["a"], { withVector: true }))[0]!.vector![0]).toBeCloseTo(1, 6);
  },
);

test("a collection of texts is searched by word alone, and keeps times, notes, description and indexes", async () => {
  const made = await store.createCollection("c", { embedder: "multigram", partitionBy: "team" });
  // Otherwise the background reads the texts again after the change.
  await store.alterCollection("c", { meaning: false });
  await made.addTexts(["we deploy blue green", "", "the retro is on Friday"], {
    ids: ["deploy", "empty", "retro"],
    metadata: [{ team: "ops", lang: "en" }, null, { team: "dev" }],
  });
  await made.save();
  await Bun.sleep(5);
  await made.upsertTexts(["the retro is on Monday"], { ids: ["retro"], metadata: [{ team: "dev" }] });
  await made.buildIvf({ minRows: 1, targetRecall: 0.9 });
  await made.describe("how we work");
  const [before, words] = [await rowsOf("c"), await made.searchText("retro on monday", { withMetadata: true })];
  expect(before[2]!.updated!).toBeGreaterThan(before[2]!.created!);
  const progress: number[] = [];
  const onProgress = (done: number, total: number) => void progress.push(done / total);
  const answer = await store.alterCollection("c", { lexical: true, addColumns: ["lang"], onProgress });
  expect(answer).toMatchObject({ altered: true, lexical: true, filter_columns: ["team", "lang"] });
  expect(progress.at(-1)).toBe(1);
  expect(await rowsOf("c")).toEqual(before);
  expect(await made.searchText("retro on monday", { withMetadata: true })).toEqual(words);
  expect((await made.searchLexical("monday")).ids).toEqual(["retro"]);
  expect(await made.count({ lang: "en" })).toBe(1);
  expect(made.description).toBe("how we work");
  const stats = await made.stats();
  expect(stats).toMatchObject({ default_target_recall: 0.9, ivf_partitions: 3, delta_rows: 0 });
  // Again: nothing to do.
  expect(await store.alterCollection("c", { lexical: true, addColumns: ["lang"] })).toMatchObject({ altered: false });
});

test("parameters of an index, and of one that was never built, stay", async () => {
  for (const [name, k1] of [
    ["built", 0.9],
    ["not", undefined],
  ] as const) {
    const made = await store.createCollection(name, { embedder: "multigram", lexical: true });
    await made.addTexts(["one two", "two three"]);
    await made.save();
    if (k1 !== undefined) await made.buildLexical({ k1, b: 0.2 });
    await store.alterCollection(name, { addColumns: ["x"] });
  }
  const index = async (name: string) => (await (await store.openCollection(name)).stats()).lexical_index;
  expect(await index("built")).toMatchObject({ k1: 0.9, b: 0.2 });
  expect(await index("not")).toBeNull();
});

test("the history stays, with the numbers of its saves, and can be undone", async () => {
  const made = await store.createCollection("c", { dim: DIM });
  const vectors = unitVectors(6, DIM, random(3));
  await made.add(vectors, { ids: idsOf(6), metadata: idsOf(6).map((id) => ({ id })) });
  await made.save();
  const first = await rowsOf("c");
  await made.upsert(unitVectors(3, DIM, random(4)), { ids: idsOf(3) });
  await made.save();
  await made.delete(["row 5"]);
  await made.save();
  const saves = () => [...made.saves()];
  const before = saves();
  expect(before.map(({ save }) => save)).toEqual([3, 2, 1]);
  const versions = () =>
    made.versions("row 1").map(({ save, kind, row }) => [save.save, kind, row?.metadata, row?.times]);
  const known = versions();
  await using other = await localStore(dir);
  expect([...(await other.openCollection("c")).saves()]).toEqual(before);
  for (const change of [{ addColumns: ["x"] }, { lexical: true }, { dropColumns: ["x"] }]) {
    await store.alterCollection("c", change);
    expect(saves()).toEqual(before);
    expect([...(await other.openCollection("c")).saves()]).toEqual(before);
    expect(versions()).toEqual(known);
  }
  const { restored, first: undone } = await made.undo();
  expect([restored, undone, saves()[0]!.save > 3]).toEqual([["row 5"], 3, true]);
  await made.undo();
  const timeless = ({ updated, ...row }: (typeof first)[number]) => row;
  expect((await rowsOf("c")).map(timeless)).toEqual(first.map(timeless));
  expect((await store.check()).map(({ sound, leftovers }) => [sound, leftovers])).toEqual([[true, []]]);
});

test("a collection without a history gets none: its rows do not count as added", async () => {
  for (const [name, change] of [
    ["plain", { addColumns: ["x"] }],
    ["lexical", { lexical: true }],
    ["indexed", { addColumns: ["x"] }],
  ] as const) {
    const made = await store.createCollection(name, { dim: DIM });
    await made.add(unitVectors(40, DIM, random(3)), { ids: idsOf(40) });
    await made.compact();
    if (name === "indexed") await made.buildIvf({ minRows: 1 });
    await store.alterCollection(name, change);
    expect([name, ...made.saves()]).toEqual([name]);
    await made.delete(["row 1"]);
    await made.save();
    expect([...made.saves()].map(({ added, deleted }) => [added, deleted])).toEqual([[0, 1]]);
    await made.undo();
    await expect(made.undo()).rejects.toThrow("every save is undone already");
    expect(made.size).toBe(40);
  }
});

test("how much history is kept is changed in place, and applies at once", async () => {
  const made = await store.createCollection("c", { dim: DIM });
  await made.add(unitVectors(4, DIM, random(3)), { ids: idsOf(4) });
  await made.save();
  const alter = (options: object) => store.alterCollection("c", options);
  expect(await alter({ historyDays: 0 })).toMatchObject({ altered: true, history: { days: 0, percent: 25 } });
  expect([...made.saves()]).toEqual([]);
  await expect(made.undo()).rejects.toThrow(
    "collection 'c' keeps no history, so there is nothing to undo: 'svc mem alter c --history-days 30' shows what is still there, and keeps it",
  );
  expect(await alter({ historyDays: 0 })).toMatchObject({ altered: false });
  await made.delete(["row 0"]);
  await made.compact();
  expect(await alter({ historyDays: 90, historyPercent: 40 })).toMatchObject({ history: { days: 90, percent: 40 } });
  expect(await alter({ historyPercent: 0 })).toMatchObject({ history: { days: 90, percent: 0 } });
  expect([...made.saves()]).toEqual([]);
  await made.delete(["row 1"]);
  await made.save();
  expect(await alter({ addColumns: ["x"] })).toMatchObject({ history: { days: 90, percent: 0 } });
  expect((await made.undo()).restored).toEqual(["row 1"]);
  for (const [options, what] of [
    [{ historyDays: -1 }, "-1 days of history cannot be kept: give a whole number from 0 to 36500"],
    [{ historyDays: 1.5 }, "1.5 days of history cannot be kept"],
    [{ historyPercent: 1001 }, "1001 percent of history cannot be kept: give a whole number from 0 to 1000"],
  ] as const) {
    await expect(alter(options)).rejects.toThrow(what);
  }
});

test("another handle sees the new schema, and its write waits", async () => {
  const made = await store.createCollection("c", { dim: DIM });
  await made.add(unitVectors(2000, DIM, random(1)), { ids: idsOf(2000) });
  await made.save();
  await using other = await localStore(dir);
  const theirs = await other.openCollection("c");
  expect(theirs.size).toBe(2000);
  const altering = store.alterCollection("c", { addColumns: ["lang"] });
  const write = async () => {
    await theirs.delete(["row 1"]);
    await theirs.save();
  };
  // It waits, and is made of the new one or told to call again: the old one is gone.
  const [, written] = await Promise.all([altering, write().catch((error) => error)]);
  if (written !== undefined) expect(String(written)).toContain("with another filter_columns: call again");
  await theirs.delete(["row 1"]);
  await theirs.save();
  expect([made.size, theirs.schema.filterColumns]).toEqual([1999, ["scope", "lang"]]);
});

test("what cannot be changed is refused, and a cancelled or failed call changes nothing", async () => {
  const made = await store.createCollection("c", { dim: DIM, filterColumns: ["a"] });
  await made.add(unitVectors(50, DIM, random(1)), { ids: idsOf(50) });
  await made.save();
  const refused: [object, string][] = [
    [{ dropColumns: ["scope"] }, "column 'scope' is the partition key: it cannot be dropped"],
    [{ dropColumns: ["b"] }, "collection 'c' has no filter column 'b' to drop: it has 'a'"],
    [{ dropColumns: ["a"], addColumns: ["a"] }, "column 'a' is both added and dropped: name it once"],
    [{ addColumns: [""] }, "column name '' must have"],
    [{ addColumns: idsOf(31) }, "filter_columns has 33 with the partition key; the limit is 32"],
  ];
  for (const [options, message] of refused) {
    const error = await store.alterCollection("c", options).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ValueError);
    expect(error.message).toStartWith(message);
  }
  await expect(store.alterCollection("none", { lexical: true })).rejects.toThrow("collection 'none' does not exist");
  const before = await rowsOf("c");
  const stop = new AbortController();
  const cancelled = store.alterCollection("c", {
    lexical: true,
    signal: stop.signal,
    onProgress: (done, total) => done === total && stop.abort(),
  });
  await expect(cancelled).rejects.toBeInstanceOf(CancelledError);
  expect(await rowsOf("c")).toEqual(before);
  expect([made.schema.lexical, readdirSync(dir)]).toEqual([false, ["c"]]);
});

test("an empty collection, and one with unsaved changes, which are saved first", async () => {
  const empty = await store.createCollection("empty", { dim: DIM });
  await empty.save();
  await store.alterCollection("empty", { lexical: true });
  expect([empty.size, empty.schema.lexical]).toEqual([0, true]);
  await empty.add(unitVectors(1, DIM, random(1)), { ids: ["a"] });
  expect(await store.alterCollection("empty", { addColumns: ["x"] })).toMatchObject({ rows: 1 });
  expect(await (await store.openCollection("empty")).ids()).toEqual(["a"]);
});

test("whatever system call fails on a full disk, the collection is the old one or the new one", async () => {
  // Mapped once more, without the checks at a close: the system call that fails could be one of theirs.
  const { kernel, runtime } = await builtLibraries();
  const plain = openNative({ kernelPath: kernel, runtimePath: runtime });
  await using other = new LocalStore(dir, plain, "0.0.0-test");
  const made = await other.createCollection("c", { dim: DIM });
  await made.add(unitVectors(30, DIM, random(1)), { ids: idsOf(30) });
  await made.save();
  const before = await rowsOf("c", other);
  const { env } = plain;
  const failed: string[] = [];
  for (let nth = 1, isOver = false; !isOver; nth += 13) {
    const columns = made.schema.filterColumns;
    const change = columns.includes("x") ? { dropColumns: ["x"] } : { addColumns: ["x"] };
    env.testFail(nth, ENOSPC, false);
    const error = await other.alterCollection("c", change).catch((thrown) => thrown);
    isOver = env.testFail(0, 0, false) < nth;
    if (error instanceof Error) {
      expect(made.schema.filterColumns).toEqual(columns);
      failed.push(error.message);
    }
    expect(await rowsOf("c", other)).toEqual(before);
    expect(readdirSync(dir)).toEqual(["c"]);
  }
  expect(failed.length).toBeGreaterThan(5);
  expect(failed.some((message) => message.includes("free some space and try again"))).toBe(true);
});

test("two at once, and a drop meanwhile: one after the other", async () => {
  const made = await store.createCollection("c", { dim: DIM });
  await made.add(unitVectors(100, DIM, random(1)), { ids: idsOf(100) });
  await made.save();
  await using other = await localStore(dir);
  const both = [store.alterCollection("c", { addColumns: ["a"] }), other.alterCollection("c", { addColumns: ["b"] })];
  for (const one of await Promise.all(both)) expect(one.altered).toBe(true);
  expect([...made.schema.filterColumns].sort()).toEqual(["a", "b", "scope"]);
  const [altered] = await Promise.allSettled([
    store.alterCollection("c", { lexical: true }),
    other.dropCollection("c"),
  ]);
  if (altered!.status === "rejected") expect(String(altered!.reason)).toContain("collection 'c' does not exist");
  expect(await store.collections()).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});
