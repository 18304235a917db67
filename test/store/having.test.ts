/** Rows by what their metadata hold, and beginnings of texts. */
import { expect, test } from "bun:test";
import type { Metadata } from "../../src/checks/values.ts";
import { ValueError } from "../../src/errors.ts";
import type { Collection } from "../../src/store/collection.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const KINDS = ["decision", "preference", "open", "other"];
const having = (...kinds: string[]) => kinds.map((kind) => `"kind":"${kind}"`);

interface Model {
  id: string;
  metadata: Metadata;
}

/** Rows of several saves, some deleted and some replaced. */
async function filled(isCompacted: boolean): Promise<{ collection: Collection; model: Model[]; dir: string }> {
  const store = await openStore();
  const collection = store.create("c", { dim: DIM, partitionBy: "scope" });
  const next = random(3);
  const model = new Map<string, Metadata>();
  for (let save = 0; save < 6; save++) {
    if (save === 4 && isCompacted) await collection.compact();
    const ids = Array.from({ length: 200 }, () => `row ${Math.floor(next() * 600)}`).filter(
      (id, i, all) => all.indexOf(id) === i,
    );
    const metadata = ids.map(() => ({
      scope: `s${Math.floor(next() * 3)}`,
      ...(next() < 0.6 && { kind: KINDS[Math.floor(next() * KINDS.length)] }),
      about: { kind: "nested" },
    }));
    // A replaced row comes last in the order of updates, and stays in that of insertion.
    await collection.upsert({ ids, vectors: unitVectors(ids.length, DIM, next), metadata });
    for (const [i, id] of ids.entries()) model.set(id, metadata[i]!);
    const gone = ids.slice(0, 20);
    await collection.delete(gone);
    for (const id of gone) model.delete(id);
  }
  return { dir: store.dir, collection, model: [...model].map(([id, metadata]) => ({ id, metadata })) };
}

for (const isCompacted of [false, true]) {
  test(`rows whose metadata hold a text, ${isCompacted ? "in base and delta" : "in the delta"}`, async () => {
    const { collection, model } = await filled(isCompacted);
    const matching = (kinds: string[], scope?: string) =>
      model
        .filter(
          ({ metadata }) => kinds.includes(metadata.kind as string) && (scope ?? metadata.scope) === metadata.scope,
        )
        .map(({ id }) => id)
        .sort();
    for (const kinds of [["decision"], KINDS, ["open", "other"], ["none"]]) {
      expect(collection.ids({ having: having(...kinds) }).sort()).toEqual(matching(kinds));
      const where = { column: "scope", value: "s1" };
      expect(collection.ids({ where, having: having(...kinds) }).sort()).toEqual(matching(kinds, "s1"));
    }
    // Texts without a common beginning, and one that is deeper inside.
    expect(collection.ids({ having: [...having("open"), '"scope":"s2"'] }).sort()).toEqual(
      model
        .filter(({ metadata }) => metadata.kind === "open" || metadata.scope === "s2")
        .map(({ id }) => id)
        .sort(),
    );
    expect(collection.ids({ having: having("nested") })).toHaveLength(model.length);
    expect(collection.ids({ where: { column: "scope", value: "none" }, having: having("open") })).toEqual([]);
    // In the order of the listing, and paged through.
    const all = collection.ids({ having: having("open") });
    expect(collection.ids().filter((id) => all.includes(id))).toEqual(all);
    expect(collection.ids({ having: having("open"), after: all[4], limit: 3 })).toEqual(all.slice(5, 8));
    const newest = collection.ids({ newest: 10_000 });
    expect(collection.ids({ having: having("open"), newest: 7 })).toEqual(
      newest.filter((id) => all.includes(id)).slice(0, 7),
    );
    const rows = collection.list({ having: having("open"), newest: 2 }, { metadata: true, times: true });
    expect(rows.map(({ metadata }) => metadata!.kind)).toEqual(["open", "open"]);
    expect(rows[0]!.times!.updated).toBeGreaterThanOrEqual(rows[1]!.times!.updated);
    expect(() => collection.ids({ having: ["x", ""] })).toThrow(ValueError);
    expect(collection.ids({ having: [] })).toHaveLength(model.length);
  });

  test(`a first look-up of some ids finds what a later one finds, ${isCompacted ? "in base and delta" : "in the delta"}`, async () => {
    const { collection, model, dir } = await filled(isCompacted);
    const known = model.map(({ id }) => id);
    const asked = ["none", ...known.slice(0, 9), "", ...known.slice(-8), known[0]!];
    const found = () =>
      collection.get(asked, { metadata: true }).map(({ id, found, metadata }) => [id, found, metadata]);
    const expected = asked.map((id) => {
      const row = model.find((one) => one.id === id);
      return [id, row !== undefined, row?.metadata];
    });
    // The collection of another process: this one has looked ids up.
    const other = (await openStore(dir)).open("c");
    const first = other.get(asked, { metadata: true }).map(({ id, found, metadata }) => [id, found, metadata]);
    expect(first).toEqual(expected);
    for (let i = 0; i < 2; i++) expect(found()).toEqual(expected);
    await other.delete([known[0]!]);
    expect(other.get([known[0]!, known[1]!], {}).map(({ found }) => found)).toEqual([false, true]);
  });
}

test("beginnings of texts, whole characters, of rows as they are and as they were", async () => {
  const collection = (await openStore()).create("c", { dim: DIM });
  const texts = ["short", "a\u{1f600}b", "x".repeat(100_000), ""];
  const ids = ["a", "b", "c", "d"];
  await collection.upsert({ ids, vectors: unitVectors(4, DIM, random(1)), texts });
  for (const isCompacted of [false, true]) {
    if (isCompacted) await collection.compact();
    for (const [most, expected] of [
      [4, ["shor", "a", "xxxx", ""]],
      [5, ["short", "a\u{1f600}", "xxxxx", ""]],
      [0, texts],
    ] as const) {
      const textsOf = (rows: { text?: string | undefined }[]) => rows.map(({ text }) => text);
      expect(textsOf(collection.get(ids, { text: true }, most))).toEqual([...expected]);
      expect(textsOf(collection.list({}, { text: true }, most))).toEqual([...expected]);
    }
  }
  await collection.delete(ids);
  const before = collection.changes({ from: 0, to: 100 }, { text: true }, 5).map((change) => change.before?.text);
  expect(before).toEqual(["short", "a\u{1f600}", "xxxxx", ""]);
});
