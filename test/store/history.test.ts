/** What saves have changed, as the store reads it: in every process, and through rewrites. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { OSError, ValueError } from "../../src/errors.ts";
import { originJson, readOrigin, withOrigin } from "../../src/origin.ts";
import type { Collection } from "../../src/store/collection.ts";
import { fileWith, flipBits, sectionsOf } from "../collection-files.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER };
const rows = (ids: string[], text: string) => ({
  ids,
  vectors: unitVectors(ids.length, DIM, random(ids.length)),
  texts: ids.map((id) => `${text} of ${id}`),
  metadata: ids.map((id) => ({ id, text })),
});
const savesOf = (c: Collection) =>
  c.saves().map(({ save, added, replaced, deleted }) => ({ save, added, replaced, deleted }));
const changesOf = (c: Collection) =>
  c.changes(ALL, { text: true, metadata: true }).map(({ save, id, kind, before }) => [save, id, kind, before?.text]);
const aside = (c: Collection) => c.compactAside(new AbortController().signal, 60_000);

test("saves and what they changed are the same in every process, before and after a compaction by itself", async () => {
  const a = await openStore();
  const c = a.create("c", { dim: DIM });
  const from = Date.now();
  await c.add(rows(["x", "y", "z"], "first"));
  await c.upsert(rows(["y", "new"], "second"));
  const b = (await openStore(a.dir)).open("c");
  await b.delete(["z", "x", "unknown"]);
  await b.delete(["unknown"]);
  await b.upsert(rows(["x"], "third"));
  const saves = [
    { save: 4, added: 1, replaced: 0, deleted: 0 },
    { save: 3, added: 0, replaced: 0, deleted: 2 },
    { save: 2, added: 1, replaced: 1, deleted: 0 },
    { save: 1, added: 3, replaced: 0, deleted: 0 },
  ];
  const changes = [
    [1, "x", "added", undefined],
    [1, "y", "added", undefined],
    [1, "z", "added", undefined],
    [2, "y", "replaced", "first of y"],
    [2, "new", "added", undefined],
    [3, "z", "deleted", "first of z"],
    [3, "x", "deleted", "first of x"],
    [4, "x", "added", undefined],
  ];
  const all = c.changes(ALL, { vector: true, times: true, metadata: true });
  const times = c.saves().map(({ time }) => time);
  expect(times).toEqual([...times].sort().reverse());
  expect(times.at(-1)).toBeGreaterThanOrEqual(from);
  for (const step of ["delta", "history", "both"]) {
    for (const one of [c, b, (await openStore(a.dir)).open("c")]) {
      expect([step, savesOf(one)]).toEqual([step, saves]);
      expect(changesOf(one)).toEqual(changes as never);
      const again = one.changes(ALL, { vector: true, times: true, metadata: true });
      expect(again.slice(0, all.length)).toEqual(all);
      expect(one.saves().map(({ time }) => time)).toContainAllValues(times);
    }
    if (step === "delta") expect(await aside(c)).toBe(true);
    if (step === "history") {
      await b.upsert(rows(["x"], "fourth"));
      saves.unshift({ save: 6, added: 0, replaced: 1, deleted: 0 });
      changes.push([6, "x", "replaced", "third of x"]);
      times.unshift(b.saves()[0]!.time);
    }
  }
  expect(c.saves({ before: 4, limit: 2 }).map(({ save }) => save)).toEqual([3, 2]);
  expect(c.changes({ from: 3, to: 6, id: "x" }, {}).map(({ index }) => index)).toEqual([]);
  expect(c.changes({ from: 3, to: 7, id: "x" }, {}).map(({ index, save }) => [index, save])).toEqual([[6, 3]]);
  expect(c.changes({ ...ALL, limit: 2 }, {}).map(({ index }) => index)).toEqual([0, 1]);
  // Queries see live rows only.
  expect([c.ids().sort(), c.count()]).toEqual([["new", "x", "y"], 3]);
  expect(c.get(["z"])[0]!.found).toBe(false);
});

test("a compaction of a caller removes the history and its file, unless it is to stay", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  await c.add(rows(["x", "y"], "first"));
  await c.delete(["x"]);
  await c.compact(undefined, true);
  expect(savesOf(c).map(({ save }) => save)).toEqual([2, 1]);
  const files = () =>
    readdirSync(join(store.dir, "c"))
      .filter((file) => file.endsWith(".slab"))
      .sort();
  expect(files()).toEqual(["base-0000000000000003.slab", "history-0000000000000003.slab"]);
  await c.buildLexical(1.2, 0.6).catch(() => undefined); // a collection without it
  await c.buildIvf(1, 0.9);
  expect(savesOf(c).map(({ save }) => save)).toEqual([2, 1]);
  await c.compact();
  expect([c.saves(), c.changes(ALL, {})]).toEqual([[], []]);
  expect(files().some((file) => file.startsWith("history"))).toBe(false);
});

test("vectors of the history are those that were stored, to the bit", async () => {
  const store = await openStore();
  const ids = ["a", "b", "c", "d", "e", "f"];
  const kinds = [
    ...(["f32", "f16", "int8", "int4"] as const).map((dtype) => [dtype, "inner_product"] as const),
    ["f32", "cosine"] as const,
    ["int8", "l2"] as const,
  ];
  for (const [dtype, metric] of kinds) {
    const c = store.create(`${dtype}-${metric}`, { dim: 40, dtype, metric });
    // The first row is sparse, the last one has whole numbers.
    const vectors = unitVectors(6, 40, random(3)).map((x, i) => (i < 30 ? 0 : i < 200 ? x : (i % 7) - 3));
    await c.add({ ids, vectors });
    if (metric === "l2") await c.compact(undefined, true);
    const before = c.get(ids, { vector: true }).map(({ vector }) => vector);
    await c.upsert({ ids, vectors: unitVectors(6, 40, random(4)) });
    for (const _ of ["delta", "history", "copied"]) {
      const found = c.changes({ from: 6, to: 12 }, { vector: true }).map(({ before: row }) => row?.vector);
      expect([c.name, found]).toEqual([c.name, before]);
      await aside(c);
    }
  }
});

describe("origins", () => {
  test("belong to the calls around a change, and stand where they differ from those before", async () => {
    const a = await openStore();
    const c = a.create("c", { dim: DIM });
    await c.add(rows(["a"], "none"));
    const b = (await openStore(a.dir)).open("c");
    await withOrigin({ client: "one", tool: "t" }, () => c.add(rows(["b"], "x")));
    await withOrigin({ client: "two" }, () => withOrigin({ session: "s" }, () => b.add(rows(["c"], "x"))));
    await withOrigin({ client: "one", tool: "t" }, () => c.add(rows(["d"], "x")));
    await withOrigin({ client: "one", tool: "t" }, () => c.add(rows(["e"], "x")));
    await c.add(rows(["f"], "x"));
    await withOrigin({ client: "one", tool: "t" }, () => b.add(rows(["g"], "x")));
    await Promise.all(
      ["p", "q"].map((client) => withOrigin({ client }, async () => void (await c.add(rows([client], "x"))))),
    );
    const expected = ["q", "p", "one", undefined, "one", "one", "two", "one", undefined];
    for (const step of [0, 1, 2]) {
      for (const one of [c, b, (await openStore(a.dir)).open("c")]) {
        const found = one.saves().map(({ origin }) => readOrigin(origin));
        expect([step, found.map(({ client }) => client)]).toEqual([step, expected]);
        const at = expected.indexOf("two");
        expect(found[at]).toMatchObject({ session: "s", tool: undefined });
      }
      if (step === 0) await aside(b);
      if (step === 1) {
        await withOrigin({ client: "last" }, () => c.delete(["a"]));
        expected.unshift("last");
      }
    }
  });

  test("one that is too large is not stored, and no text is trusted", async () => {
    const c = (await openStore()).create("c", { dim: DIM });
    await withOrigin({ client: "x".repeat(4097) }, () => c.add(rows(["a"], "x")));
    await withOrigin({ client: "é".repeat(2000) }, () => c.add(rows(["b"], "x")));
    expect(c.saves().map(({ origin }) => readOrigin(origin).client)).toEqual(["é".repeat(2000), undefined]);
    await aside(c);
    expect(c.saves().map(({ origin }) => readOrigin(origin).client)).toEqual(["é".repeat(2000), undefined]);
    expect(originJson()).toBeUndefined();
    expect(Object.values(readOrigin('{"client":5,"undoes":[[1]],"row":null,"tool":["x"]}'))).toEqual(
      Array(7).fill(undefined),
    );
    for (const wrong of ["", "{", "null", "[]", '"client"', "5"]) expect(readOrigin(wrong).client).toBeUndefined();
    expect(readOrigin('{"undoes":[[1,2],[5,5]]}').undoes).toEqual([
      [1, 2],
      [5, 5],
    ]);
    expect(readOrigin('{"undoes":[[1,2],[5,"5"]]}').undoes).toBeUndefined();
  });
});

describe("a purge", () => {
  test("removes rows and all that the folder has of them", async () => {
    const store = await openStore();
    const c = store.create("c", { dim: DIM, lexical: true });
    const folder = join(store.dir, "c");
    const holding = (word: string) =>
      readdirSync(folder).filter((file) => readFileSync(join(folder, file)).includes(word));
    await c.add(rows(["keep", "secret-1", "secret-2"], "zebra"));
    await c.upsert(rows(["secret-1", "keep"], "quagga"));
    await aside(c);
    await c.delete(["secret-1"]);
    await c.upsert(rows(["secret-2"], "okapi"));
    expect(holding("quagga of secret-1").length).toBeGreaterThan(0);
    expect(await c.purge(["secret-1", "secret-2", "never there"])).toBe(1);
    for (const word of ["secret-1", "secret-2", "okapi"]) expect([word, holding(word)]).toEqual([word, []]);
    expect(holding("zebra of keep").length).toBe(1);
    expect(c.ids()).toEqual(["keep"]);
    expect(changesOf(c)).toEqual([
      [1, "keep", "added", undefined],
      [2, "keep", "replaced", "zebra of keep"],
    ]);
    expect(savesOf(c)).toEqual([
      { save: 2, added: 0, replaced: 1, deleted: 0 },
      { save: 1, added: 1, replaced: 0, deleted: 0 },
    ]);
    await c.add(rows(["secret-1"], "again"));
    expect(changesOf(c).at(-1)).toEqual([c.generation, "secret-1", "added", undefined]);
    expect(await c.purge(["keep", "secret-1"])).toBe(2);
    expect([c.saves(), readdirSync(folder).filter((file) => file.startsWith("history"))]).toEqual([[], []]);
    await expect(c.purge(["x".repeat(5000)])).rejects.toThrow(ValueError);
  });
});

describe("a damaged history", () => {
  const damage = async (section: number) => {
    const store = await openStore();
    const c = store.create("c", { dim: DIM });
    await c.add(rows(["x", "y"], "first"));
    await c.upsert(rows(["x"], "second"));
    await aside(c);
    const file = fileWith(join(store.dir, "c"), "history-");
    await store.close();
    const { offset, bytes } = sectionsOf(file).find(({ id }) => id === section)!;
    flipBits(file, offset + (bytes >> 1));
    const again = await openStore(store.dir);
    return { c: again.open("c"), file, store: again };
  };

  test("is an OSError that names the file and the remedy; rows and changes go on, and a rewrite mends it", async () => {
    for (const section of [1, 2, 3]) {
      const { c, file } = await damage(section);
      expect(c.get(["x"])[0]!.text).toBe("second of x");
      await c.add(rows(["z"], "third"));
      for (const read of [() => c.saves(), () => c.changes(ALL, {})]) {
        expect(read).toThrow(OSError);
        expect(read).toThrow(/^collection 'c' is damaged: history-0{15}3\.slab: .*'svc mem check c --repair'/);
      }
      expect(c.damages()).toMatchObject([{ part: "history", file: file.split("/").at(-1) }]);
      await c.compact(undefined, true);
      // What was saved since stays.
      expect([savesOf(c).map(({ save }) => save), c.ids(), c.damages()]).toEqual([[4], ["x", "y", "z"], []]);
      await c.verify();
    }
  });

  test("where only a row is damaged, that row has no version before, also after a rewrite", async () => {
    const { c } = await damage(4);
    for (const step of [0, 1]) {
      expect([step, ...changesOf(c).slice(2)]).toEqual([step, [2, "x", "replaced", undefined]]);
      await c.compact(undefined, true);
    }
    expect(c.get(["x"])[0]!.text).toBe("second of x");
  });

  test("one that is missing", async () => {
    const { c, file, store } = await damage(1);
    await c.close();
    rmSync(file);
    const again = (await openStore(store.dir)).open("c");
    expect(again.ids()).toEqual(["x", "y"]);
    expect(() => again.saves()).toThrow(/history-0{15}3\.slab is damaged or missing: the history cannot be read/);
    await again.upsert(rows(["x"], "third"));
    await aside(again);
    expect(again.count()).toBe(2);
  });
});
