/** Rows that are put with times of their own keep them: in other processes, and through a compaction. */
import { expect, test } from "bun:test";
import type { Collection } from "../../src/store/collection.ts";
import { packRows, type Rows } from "../../src/store/pack.ts";
import { Put, type PutMode } from "../../src/store/writer.ts";
import { putDated } from "../../src/texts/dated.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native, openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const NEW = Date.UTC(2026, 10, 22);
const OLD = NEW - 86_400_000;

const rowsOf = (ids: readonly string[], seed = 1): Rows => ({
  ids,
  vectors: unitVectors(ids.length, DIM, random(seed)),
  texts: ids.map((id) => `text of ${id}`),
  metadata: ids.map((id) => ({ id })),
});
const put = (c: Collection, mode: PutMode, rows: Parameters<typeof putDated>[2]) =>
  c.change((t) => putDated(t, mode, rows));
const timesOf = (c: Collection, ids: readonly string[]) =>
  c.get(ids, { times: true }).map(({ times }) => [times?.created, times?.updated]);

test("created and updated are as given, in every process and through a compaction", async () => {
  const [a, b] = [await openStore(), await openStore()];
  const elsewhere = await openStore(a.dir);
  for (const pack of [false, true]) {
    const c = (pack ? b : a).create("c", { dim: DIM });
    const rows = rowsOf(["x", "y", "z"]);
    const dates = { created: [OLD, NEW, undefined], updated: [NEW, NEW, OLD] };
    const given = pack ? packRows(rows, c.schema.filterColumns) : rows;
    expect(await put(c, Put.ADD, { ...given, ...dates })).toEqual({ inserted: 3, replaced: 0 });
    const expected = [
      [OLD, NEW],
      [NEW, NEW],
      [OLD, OLD],
    ];
    expect(timesOf(c, ["x", "y", "z"])).toEqual(expected);
    expect(c.ids()).toEqual(["x", "y", "z"]);
    expect(c.saves()).toMatchObject([{ added: 3, replaced: 0, deleted: 0 }]);
    expect(c.get(["x"])[0]).toMatchObject({ text: "text of x", metadata: { id: "x" } });
    expect(c.get(["y"], { vector: true })[0]!.vector).toEqual(rows.vectors!.subarray(DIM, 2 * DIM));
    if (!pack) expect(timesOf(elsewhere.open("c"), ["x", "y", "z"])).toEqual(expected);
    await c.compact();
    expect(timesOf(c, ["x", "y", "z"])).toEqual(expected);
    if (!pack) expect(timesOf(elsewhere.open("c"), ["x", "y", "z"])).toEqual(expected);
  }
  for (const store of [a, b, elsewhere]) await store.close();
});

test("the kernel embeds the texts of dated rows, and nothing of their first put is found", async () => {
  const store = await openStore();
  const embedder = new MultigramEmbedder((await native()).kernel);
  const { dimension: dim } = embedder.profile;
  const c = store.create("c", { dim, embedderProfile: embedder.profile });
  const plain = store.create("plain", { dim, embedderProfile: embedder.profile });
  const rows = { ids: ["x", "y"], texts: ["blue green deploys", "retro is on Friday"], model: embedder.kernelModel };
  await put(c, Put.ADD, { ...rows, created: [OLD, undefined], updated: [NEW, undefined] });
  await plain.add(rows);
  const question = { by: "both", text: "deploys", model: embedder.kernelModel } as const;
  const [dated, known] = [await c.ask(question, { topK: 5 }), await plain.ask(question, { topK: 5 })];
  expect(dated.rows.map(({ id, score }) => [id, score])).toEqual(known.rows.map(({ id, score }) => [id, score]));
  expect(c.count()).toBe(2);
  expect(timesOf(c, ["x"])).toEqual([[OLD, NEW]]);
  const [[created, updated] = []] = timesOf(c, ["y"]);
  expect(created).toBe(updated!);
  expect(created).toBeGreaterThan(OLD - 365 * 86_400_000);
});

test("a row that replaces a live one keeps that one's created, and is not older", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  await put(c, Put.ADD, { ...rowsOf(["x", "y"]), created: [NEW, OLD], updated: [NEW, NEW] });
  const again = { ...rowsOf(["x", "y", "z"], 2), created: [OLD, NEW, OLD], updated: [OLD, NEW + 5, NEW] };
  expect(await put(c, Put.UPSERT, again)).toEqual({ inserted: 1, replaced: 2 });
  expect(timesOf(c, ["x", "y", "z"])).toEqual([
    [NEW, NEW],
    [OLD, NEW + 5],
    [OLD, NEW],
  ]);
  expect(c.changes({ from: 2, to: 5 }, { times: true }).map(({ id, before }) => [id, before?.times?.updated])).toEqual([
    ["x", NEW],
    ["y", NEW],
    ["z", undefined],
  ]);
  const update = { ...rowsOf(["y"], 3), created: [NEW], updated: [NEW + 9] };
  expect(await put(c, Put.UPDATE, update)).toEqual({ inserted: 0, replaced: 1 });
  expect(timesOf(c, ["y"])).toEqual([[OLD, NEW + 9]]);
});

test("what cannot be put leaves nothing", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  const dates = { created: [OLD, OLD], updated: [NEW, NEW] };
  await put(c, Put.ADD, { ...rowsOf(["x", "y"]), ...dates });
  const before = c.generation;
  expect(put(c, Put.ADD, { ...rowsOf(["new", "x"]), ...dates })).rejects.toThrow("'x'");
  for (const wrong of [-1, 1.5, 2 ** 48, Number.NaN]) {
    const rows = { ...rowsOf(["new"]), created: [undefined], updated: [wrong] };
    await expect(put(c, Put.UPSERT, rows)).rejects.toThrow(`updated of row 0 is ${wrong}: give whole milliseconds`);
  }
  expect([c.ids(), c.generation]).toEqual([["x", "y"], before]);
});
