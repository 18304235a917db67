/** What an undo puts back, to the bit, and what it refuses. */
import { describe, expect, test } from "bun:test";
import type { Collection, Row } from "../../src/store/collection.ts";
import type { Rows } from "../../src/store/pack.ts";
import { Put } from "../../src/store/writer.ts";
import { putDated } from "../../src/texts/dated.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { planUndo, undo } from "../../src/texts/undo.ts";
import { native, openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const WORDS = "blue green deploy retro friday runbook canary rollback pager schema index vector memory agent".split(
  " ",
);
const textOf = (next: () => number) =>
  Array.from({ length: 6 }, () => WORDS[Math.floor(next() * WORDS.length)]!).join(" ");

async function textCollection(dtype = "f32", metric = "inner_product") {
  const store = await openStore();
  const embedder = new MultigramEmbedder((await native()).kernel);
  const { dimension: dim } = embedder.profile;
  const embedderProfile = { ...embedder.profile, distance: metric };
  const c = store.create("c", { dim, dtype: dtype as "f32", filterColumns: ["kind"], lexical: true, embedderProfile });
  const next = random(7);
  const rows = (ids: readonly string[]): Rows => ({
    ids,
    texts: ids.map(() => textOf(next)),
    metadata: ids.map((id, i) => (i % 4 === 3 ? undefined : { kind: id.charCodeAt(id.length - 1) % 3, scope: "s" })),
    defaultPartition: "default",
    model: embedder.kernelModel,
  });
  return { store, c, rows, model: embedder.kernelModel };
}

/** All that a client can see of rows, but for when they were put and in which order. */
async function seen(c: Collection, model: MultigramEmbedder["kernelModel"], ids: readonly string[]) {
  const rows = c.get(ids, { metadata: true, text: true, vector: true, times: true });
  const answers = [];
  for (const text of ["blue canary", "schema of the agent"]) {
    for (const where of [undefined, { column: "kind", value: 1 }, { column: "scope", value: "s" }]) {
      for (const by of ["vector", "words", "both"] as const) {
        const { rows: hits } = await c.ask({ by, text, model }, { topK: 50, where, weighted: false, scores: true });
        const all = hits.map(({ id, score, scores }) => JSON.stringify([id, score, scores?.vector, scores?.words]));
        answers.push(all.sort());
      }
    }
  }
  return {
    rows: rows.map(({ id, found, metadata, text, vector, times }) => {
      return { id, found, metadata, text, vector: vector && [...vector], created: times?.created };
    }),
    answers,
    count: c.count(),
  };
}

describe("rows come back as they were, to the bit", () => {
  const kinds = ["f32", "f16", "int8", "int4"].flatMap((dtype) =>
    ["inner_product", "cosine", "l2"].map((metric) => [dtype, metric] as const),
  );
  test.each(kinds)("%s %s", async (dtype, metric) => {
    const { c, rows, model } = await textCollection(dtype, metric);
    const ids = Array.from({ length: 24 }, (_, i) => `id${i}`);
    await c.add(rows(ids));
    await c.buildLexical(1.2, 0.6);
    const before = await seen(c, model, ids);
    const order = c.ids();
    for (const [aside, change] of [
      () => c.delete(ids.slice(3, 20)),
      () => c.upsert(rows(ids.slice(5, 22))),
      () => c.delete(ids),
    ].flatMap((change) => [false, true].map((aside) => [aside, change] as const))) {
      await change();
      if (aside) expect(await c.compactAside(new AbortController().signal, 60_000)).toBe(true);
      const from = Date.now();
      const plan = planUndo(c);
      const undone = await undo(c);
      expect(undone).toEqual(plan);
      expect(await seen(c, model, ids)).toEqual(before);
      const touched = [...undone.restored, ...undone.reverted];
      for (const { times } of c.get(touched, { times: true })) expect(times!.updated).toBeGreaterThanOrEqual(from);
      expect(c.ids({ since: from }).sort()).toEqual(touched.sort());
      // A replaced row never left its place.
      if (undone.restored.length === 0) expect(c.ids()).toEqual(order);
      order.splice(0, order.length, ...c.ids());
    }
  });

  test("raw vectors, with and without texts, in another process", async () => {
    const a = await openStore();
    const b = await openStore(a.dir);
    for (const dtype of ["f32", "int8", "int4"] as const) {
      const c = a.create(dtype, { dim: 24, dtype });
      const ids = Array.from({ length: 30 }, (_, i) => `id${i}`);
      await c.add({ ids, vectors: unitVectors(30, 24, random(3)) });
      await c.upsert({ ids: ["t"], vectors: unitVectors(1, 24, random(4)), texts: [""], metadata: [{ a: [1] }] });
      const all = () => c.get([...ids, "t"], { vector: true, text: true, metadata: true });
      const before = all();
      await c.delete(["t", ...ids.slice(0, 20)]);
      await undo(b.open(dtype));
      expect(all().map(({ birth, ...row }) => row)).toEqual(before.map(({ birth, ...row }) => row));
      expect(c.ids().slice(0, 10)).toEqual(ids.slice(20));
      expect(c.ids().slice(10)).toEqual([...ids.slice(0, 20), "t"]);
    }
  });
});

describe("refusals", () => {
  test("nothing to undo; twice, also after a compaction that keeps what is superseded; after a compaction", async () => {
    const { c, rows } = await textCollection();
    const nothing =
      "there is nothing to undo in collection 'c': no save has deleted or replaced rows since it was made";
    const twice = "of collection 'c' was undone already: you cannot undo an undo";
    await c.add(rows(["a", "b", "c"]));
    expect(() => planUndo(c)).toThrow(nothing);
    for (const change of [() => c.delete(["a", "b"]), () => c.upsert(rows(["b", "c", "new"]))]) {
      for (const aside of [false, true]) {
        await change();
        await undo(c);
        const was = c.generation;
        expect(undo(c)).rejects.toThrow(twice);
        await c.add(rows([Bun.randomUUIDv7()])); // takes nothing away
        if (aside) await c.compactAside(new AbortController().signal, 60_000);
        expect(() => planUndo(c)).toThrow(twice);
        await expect(undo(c, { force: true })).rejects.toThrow(twice);
        expect(c.generation).toBe(was + (aside ? 2 : 1));
      }
    }
    await c.delete(["a"]);
    await c.compact();
    await expect(undo(c)).rejects.toThrow(nothing);
    await c.delete(["b"]);
    expect((await undo(c)).restored).toEqual(["b"]);
  });

  test("an id that was added again since is replaced with force only, and gets its created back", async () => {
    for (const aside of [false, true]) {
      const { store, c, rows } = await textCollection();
      await c.add(rows(["a", "b", "c", "d", "e"]));
      const before = c.get(["a", "b", "c"], { text: true, times: true });
      await c.delete(["a", "b", "c"]);
      await Bun.sleep(2);
      await c.add(rows(["b", "f"]));
      if (aside) await c.compactAside(new AbortController().signal, 60_000);
      const generation = c.generation;
      const plan = planUndo(c);
      expect(plan).toMatchObject({ restored: ["a", "c"], reverted: [], changed: ["b"] });
      await expect(undo(c)).rejects.toThrow(
        "id 'b' of collection 'c' cannot be undone: this id was deleted and then added again; " +
          "with force (--force) an undo replaces the new rows",
      );
      expect(c.generation).toBe(generation);
      expect(await undo(c, { force: true })).toEqual(plan);
      expect(
        c.get(["a", "b", "c"], { text: true, times: true }).map(({ text, times }) => [text, times!.created]),
      ).toEqual(before.map(({ text, times }) => [text, times!.created]));
      expect(c.ids()).toEqual(["d", "e", "f", "a", "b", "c"]);
      await expect(undo(c)).rejects.toThrow("was undone already");
      await store.close();
    }
  });
});

describe("what was added with the destructive save or later stays, and is named", () => {
  test("after a delete, a replacement that adds as well, and an import; before and after a compaction", async () => {
    for (const aside of [false, true]) {
      const { store, c, rows } = await textCollection();
      const left = async () => {
        await Bun.sleep(2);
        if (aside) await c.compactAside(new AbortController().signal, 60_000);
        const plan = planUndo(c);
        expect(await undo(c)).toEqual(plan);
        return plan.left;
      };
      await c.add(rows(["a", "b", "c", "d"]));
      await Bun.sleep(2);
      await c.delete(["a", "c"]);
      expect(await left()).toEqual([]);
      await Bun.sleep(2); // rows of the same millisecond count as added with it
      await c.delete(["d", "b"]);
      await Bun.sleep(2);
      await c.add(rows(["e", "f"]));
      await c.add(rows(["g"]));
      expect(await left()).toEqual(["e", "f", "g"]);
      await Bun.sleep(2);
      await c.upsert(rows(["b", "h", "e", "i"]));
      expect(await left()).toEqual(["h", "i"]);
      await Bun.sleep(2);
      await c.delete(["h"]);
      await Bun.sleep(2);
      await c.add(rows(["j"]));
      const old = { ...rows(["old"]), created: [5], updated: [7] };
      await c.change((t) => putDated(t, Put.ADD, old, {}));
      expect(await left()).toEqual(["j", "old"]);
      await store.close();
    }
  });

  test("a row that an import replaced at the time that it had does not make its neighbours new", async () => {
    const { c, rows } = await textCollection();
    await c.add(rows(["a", "b", "c"]));
    await Bun.sleep(2);
    const [{ times }] = c.get(["a"], { times: true }) as [Row];
    const again = { ...rows(["a"]), created: [times!.created], updated: [times!.updated] };
    await c.change((t) => putDated(t, Put.UPSERT, again, {}));
    expect(planUndo(c)).toMatchObject({ reverted: ["a"], left: [] });
  });
});

test("an undo of something else than was planned is refused; rows that were added meanwhile stay", async () => {
  const { store, c, rows } = await textCollection();
  const other = await openStore(store.dir);
  await c.add(rows(["a", "b", "c"]));
  const b = other.open("c");
  for (const change of [() => b.delete(["b"]), () => b.add(rows(["a"])), () => b.upsert(rows(["c"]))]) {
    await c.delete(["a"]);
    const planned = planUndo(c);
    expect(planned).toMatchObject({ restored: ["a"], reverted: [], changed: [] });
    await change();
    const { generation } = b;
    const refusal = "collection 'c' was changed after its rows were listed";
    await expect(undo(c, { force: true, planned })).rejects.toThrow(refusal);
    expect(b.generation).toBe(generation);
    await c.upsert(rows(["a", "b"]));
  }
  await c.delete(["a", "c"]);
  const next = planUndo(c);
  await Bun.sleep(2);
  await b.add(rows(["d"]));
  expect(await undo(c, { planned: next })).toMatchObject({ restored: next.restored, left: ["d"] });
});

test("any life of changes and undos is that of a model", async () => {
  for (const seed of [1, 2]) {
    const { store, c, rows } = await textCollection(seed % 2 ? "f32" : "int4");
    const next = random(seed);
    const ids = Array.from({ length: 12 }, (_, i) => `id${i}`);
    const some = () => ids.filter(() => next() < 0.4);
    const live = new Map<string, string>();
    let lost: Map<string, string> | undefined;
    for (let step = 0; step < 50; step++) {
      const what = Math.floor(next() * 6);
      const before = new Map(live);
      if (what === 0) {
        await c.add(rows(some().filter((id) => !live.has(id))));
      } else if (what === 1) {
        await c.delete(some());
      } else if (what === 2) {
        await c.upsert(rows(some()));
      } else if (what === 3) {
        await c.compactAside(new AbortController().signal, 60_000);
      } else {
        const error = await undo(c, { force: true }).then(
          () => undefined,
          (failure: Error) => failure,
        );
        expect(error === undefined, `seed ${seed}, step ${step}`).toBe(lost !== undefined);
        for (const [id, text] of lost ?? []) live.set(id, text);
        lost = undefined;
      }
      const texts = new Map(c.get(ids, { text: true }).flatMap(({ id, found, text }) => (found ? [[id, text!]] : [])));
      if (what >= 4) {
        expect(texts).toEqual(live);
        continue;
      }
      const gone = [...before].filter(([id, text]) => texts.get(id) !== text);
      // A text that was replaced by the same words was replaced all the same.
      if (c.superseded() && (what === 1 || what === 2)) {
        const superseded = c.superseded()!.rows.map(({ id, text }): [string, string] => [id, text!]);
        for (const [id] of gone) expect(superseded.map(([other]) => other)).toContain(id);
        if (gone.length > 0) lost = new Map(superseded);
      }
      live.clear();
      for (const [id, text] of texts) live.set(id, text);
    }
    await store.close();
  }
});
