/** Rows of one collection into another one: what they are, how often they are written, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ContentIds } from "../../src/formats/input/content-ids.ts";
import type { ForeignSchema } from "../../src/formats/input/row.ts";
import { type ImportRow, importRows } from "../../src/memory/transfer.ts";
import { guardRow } from "../../src/secrets/policy.ts";
import { DTYPES, METRICS } from "../../src/store/schema.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native, openStore, TestMemory } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

let m: TestMemory;
beforeAll(async () => {
  m = await TestMemory.open();
});
afterAll(() => m.close());

const DIM = 48;
const OLD = Date.UTC(2020, 1, 2);
const row = (id: string, text: string | undefined, more: Partial<ImportRow> = {}): ImportRow => ({
  ...{ id, where: `line of ${id}` },
  ...(text !== undefined && { text }),
  ...more,
});

/** All that an export has of a collection. */
async function exported(collection: string) {
  const { schema } = await (await m.memory.terminal()).export_head({ collection });
  const { ids } = await m.call("ids", { collection });
  const { rows } = await (await m.memory.terminal()).export_rows({ collection, ids, with_vectors: true });
  return { schema, rows };
}

const imported = async (collection: string, rows: readonly ImportRow[], source?: ForeignSchema, more: object = {}) =>
  (await m.memory.terminal()).import_rows({ collection, rows, source, schema: {}, times: true, ...more }, {});
const generation = async (collection: string) =>
  (await (await m.memory.terminal()).export_head({ collection })).generation;

describe("what was exported comes back as it was", () => {
  for (const dtype of DTYPES) {
    for (const metric of METRICS) {
      test(`raw vectors of ${dtype}, ${metric}`, async () => {
        const name = `${dtype}-${metric}`;
        const store = await openStore(m.dir);
        const c = store.create(name, { dim: DIM, dtype, metric, partitionBy: "team", filterColumns: ["k"] });
        const ids = Array.from({ length: 40 }, (_, i) => `${i}`);
        const vectors = unitVectors(ids.length, DIM, random(7)).map((x) => (metric === "cosine" ? x : x * 3.7));
        await c.add({ ids, vectors, metadata: ids.map((k) => ({ k, team: "a" })), defaultPartition: "default" });
        await c.upsert({ ids: ["3"], vectors: vectors.slice(0, DIM), metadata: [{ team: "b" }] });
        await store.close();
        const { schema, rows } = await exported(name);
        rows[5]!.created = OLD;
        const given = rows.map((one) => row(one.id, undefined, one));
        const copy = `copy-${name}`;
        expect(await imported(copy, given, schema)).toMatchObject({ inserted: 40, embedded_again: 0 });
        const back = await exported(copy);
        // The sixteen levels of int4 are fitted again: all but the last digit is the same.
        const rounded = (row: (typeof rows)[number]) =>
          dtype === "int4" ? { ...row, vector: [...row.vector!].map((x) => x.toFixed(5)) } : row;
        expect(back.rows.map(rounded)).toEqual(rows.map(rounded));
        expect(back.schema).toEqual(schema);
        expect(back.schema).toMatchObject({ dim: DIM, dtype, metric, partition_by: "team", filter_columns: ["k"] });
        const before = await generation(copy);
        expect(await imported(copy, given, schema)).toMatchObject({ inserted: 0, unchanged: 40 });
        expect(await generation(copy)).toBe(before);
      });
    }
  }

  test("texts with their vectors, and rows of both kinds in turn", async () => {
    await m.call("create_collection", { name: "texts", filter_columns: ["n"], lexical: true });
    const texts = ["blue green", "ünïcode 東京 \u202e", "x".repeat(5000)];
    const metadata = [{ n: 1 }, { scope: "s", deep: { a: [1, null, "b"] } }, { n: 1.5 }];
    await m.call("add", { collection: "texts", texts, ids: ["a", "c", "d"], metadata });
    // The tools refuse an empty text; an import keeps it.
    await imported("texts", [row("b", "")]);
    await m.call("upsert", { collection: "texts", texts: ["blue"], ids: ["a"] });
    const { schema, rows } = await exported("texts");
    const given = rows.map((one) => row(one.id, one.text, one));
    expect(await imported("texts2", given, schema)).toMatchObject({ inserted: 4, embedded_again: 0 });
    expect(await exported("texts2")).toEqual({ schema, rows });
    // Every second row without its vector, which is made of the text again: the same.
    const mixed = given.map((one, i) => (i % 2 === 0 ? one : { ...one, vector: undefined }));
    await imported("texts3", mixed, schema);
    expect(await exported("texts3")).toEqual({ schema, rows });
  });

  test("times, where they are not to be passed over", async () => {
    const rows = [row("a", "x", { created: OLD, updated: OLD + 5 }), row("b", "y", { created: OLD }), row("c", "z")];
    const began = Date.now();
    await imported("dated", rows);
    const times = (await exported("dated")).rows.map(({ created, updated }) => [created, updated]);
    expect(times.slice(0, 2)).toEqual([
      [OLD, OLD + 5],
      [OLD, OLD],
    ]);
    expect(times[2]![0]).toBeGreaterThanOrEqual(began);
    await imported("undated", rows, undefined, { times: false });
    for (const { created } of (await exported("undated")).rows) expect(created).toBeGreaterThanOrEqual(began);
  });
});

describe("repeating", () => {
  test("a row that is there as it is given is left alone, another one is replaced", async () => {
    const rows = [row("a", "one", { metadata: { n: 1 } }), row("b", "two"), row("c", "three", { updated: OLD })];
    expect(await imported("again", rows)).toMatchObject({ inserted: 3, replaced: 0, unchanged: 0 });
    const before = await generation("again");
    expect(await imported("again", rows)).toMatchObject({ inserted: 0, replaced: 0, unchanged: 3 });
    expect(await generation("again")).toBe(before);
    const changed = [row("a", "one", { metadata: { n: 2 } }), row("b", "two!"), rows[2]!];
    expect(await imported("again", changed)).toMatchObject({ inserted: 0, replaced: 2, unchanged: 1 });
  });

  test("of an id that stands twice the last counts, whatever is there", async () => {
    const rows = [row("a", "first"), row("b", "x"), row("a", "last")];
    for (let round = 0; round < 3; round++) {
      await imported("twice", rows);
      expect((await exported("twice")).rows.map(({ id, text }) => [id, text])).toEqual([
        ["a", "last"],
        ["b", "x"],
      ]);
    }
  });
});

describe("whose vectors", () => {
  const profile = { provider: "p", model_id: "m", model_version: "1", dimension: 3, distance: "cosine" };
  const other = { ...profile, dtype: "f32", normalization: "l2", pooling: "mean", tokenizer_hash: "t" };
  const embedder = { ...other, projection_version: "1" };
  const vector = new Float32Array([0.5, 0.5, 0]);

  test("those of another embedder make a collection of that one, and nothing else may be put there", async () => {
    const first = await imported("foreign", [row("a", "text", { vector })], { embedder });
    expect(first).toMatchObject({ inserted: 1, embedded_again: 0 });
    expect((await exported("foreign")).schema).toMatchObject({ dim: 3, metric: "cosine", embedder });
    await expect(imported("foreign", [row("b", "text")], { embedder })).rejects.toThrow(
      /^line of b: .*embedded by m version 1/,
    );
  });

  test("in a collection of this embedder their texts are embedded, and without a text they are refused", async () => {
    expect(await imported("ours", [row("a", "text")])).toMatchObject({ embedded_again: 0 });
    const again = await imported("ours", [row("b", "text", { vector })], { embedder });
    expect(again).toMatchObject({ inserted: 1, embedded_again: 1 });
    await expect(imported("ours", [row("c", undefined, { vector })])).rejects.toThrow(
      "line of c: it has no text, and its vector",
    );
  });

  test("texts of another embedder without their vectors are embedded by this one", async () => {
    expect(await imported("embedded", [row("a", "text")], { embedder })).toMatchObject({ inserted: 1 });
    expect((await exported("embedded")).schema.embedder).toMatchObject({ model_id: "multigram" });
  });

  test("vectors of another length and rows without one are refused in a collection of raw vectors", async () => {
    await imported("raw", [row("a", undefined, { vector })]);
    const long = row("b", undefined, { vector: new Float32Array(4) });
    await expect(imported("raw", [long])).rejects.toThrow(/^line of b: vector has/);
    await expect(imported("raw", [row("c", "text")])).rejects.toThrow("line of c: it has no vector");
    expect((await exported("raw")).rows).toHaveLength(1);
  });
});

describe("refusals", () => {
  const BAD: [string, Partial<ImportRow>, string][] = [
    ["a time before 1970", { updated: -1 }, "updated is -1"],
    ["a time of no millisecond", { created: 2 ** 48 }, "created is 281474976710656"],
    ["metadata that is too long", { metadata: { a: "x".repeat(70_000) } }, "metadata has 70008 bytes"],
    ["a text that is too long", { text: "x".repeat(16 * 1024 * 1024 + 1) }, "text has 16777217 bytes"],
  ];
  test.each(BAD)("%s: the place is named, and nothing of the call is written", async (_, part, message) => {
    const rows = [row("good", "text"), row("bad", "text", part)];
    const failure = imported("refused", rows);
    await expect(failure).rejects.toThrow(`line of bad: ${message}`);
    expect((await m.call("list_collections", {})).collections).not.toContain("refused");
    const bad: string[] = [];
    const onBad = (error: Error) => bad.push(error.message);
    const name = `lenient ${message.slice(0, 8)}`;
    expect(await imported(name, rows, undefined, { onBad })).toMatchObject({ inserted: 1, bad: 1 });
    expect(bad[0]).toStartWith(`line of bad: ${message}`);
  });

  test("flags that a collection does not agree with", async () => {
    await imported("fixed", [row("a", "text")]);
    for (const [schema, remedy] of [
      [{ partition_by: "team" }, "partitioned by 'scope': leave --partition-by out"],
      [{ filter_columns: ["x"] }, "without filter column 'x': 'svc mem alter fixed --filter-column x'"],
      [{ lexical: true }, "without lexical search: 'svc mem alter fixed --lexical' adds it"],
    ] as const) {
      await expect(imported("fixed", [row("b", "text")], undefined, { schema })).rejects.toThrow(remedy);
    }
    // What it has beside that is not a reason to refuse.
    await imported("more", [row("a", "text")], undefined, { schema: { filter_columns: ["x", "y"], lexical: true } });
    await imported("more", [row("b", "text")], undefined, { schema: { filter_columns: ["y"] } });
    await imported("fixed", [row("b", "text")], undefined, { schema: { partition_by: "scope", filter_columns: [] } });
  });

  test("flags win over what the export says, and an export of no rows makes its collection", async () => {
    const source = { partition_by: "team", filter_columns: ["k"], lexical: true, description: "what we know" };
    await imported("flagged", [row("a", "text")], source, { schema: { partition_by: "who" } });
    expect((await exported("flagged")).schema).toMatchObject({ ...source, partition_by: "who" });
    await imported("none", [], source);
    expect((await m.call("list_collections", {})).collections).toContain("none");
    expect((await exported("none")).schema).toMatchObject(source);
    await imported("none", [row("a", "text")], { description: "another" });
    expect((await exported("none")).schema).toMatchObject(source);
  });
});

test("what a file says of its collection is kept free of credentials as its rows are", async () => {
  const token = "gh" + "p_A1b2C3d4E5f6G7h8J9k0LmNpQrStUvWxYz01";
  const { kernel } = await native();
  const store = await openStore();
  const put = (policy: "refuse" | "mask", collection: string) =>
    importRows(
      store,
      new MultigramEmbedder(kernel),
      {
        ...{ collection, rows: [row("a", "text")], schema: {}, times: true },
        source: { description: `see ${token}` },
      },
      {},
      (one) => guardRow(policy, one),
    );
  await expect(put("refuse", "refused")).rejects.toThrow(
    "the description of the collection: its text holds a credential",
  );
  expect(await put("mask", "masked")).toMatchObject({ inserted: 1, masked: 1 });
  expect(store.overview(["masked"])[0]!.description).toBe("see [GitHub token removed]");
  expect(store.list()).toEqual(["masked"]);
});

describe("ids of content", () => {
  test("equal rows have ids of their own, the same each time, and no other row changes them", () => {
    const rows = [row("", "a"), row("", "b"), row("", "a"), row("", "a", { metadata: { n: 1 } }), row("", "a")];
    const [once, twice] = [new ContentIds(), new ContentIds()];
    const ids = rows.map((one) => once.of(one));
    expect(new Set(ids).size).toBe(5);
    expect(rows.map((one) => twice.of(one))).toEqual(ids);
    const apart = new ContentIds();
    expect([apart.of(rows[1]!), apart.of(rows[0]!)]).toEqual([ids[1]!, ids[0]!]);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("a vector beside a text changes no id, one without a text is the content", () => {
    const vector = new Float32Array([1, 2]);
    expect(new ContentIds().of(row("", "a", { vector }))).toBe(new ContentIds().of(row("", "a")));
    const ids = new ContentIds();
    const alone = [vector, new Float32Array([2, 1]), vector].map((one) => ids.of(row("", undefined, { vector: one })));
    expect(new Set(alone).size).toBe(3);
  });

  test("many", () => {
    const ids = new ContentIds();
    const made = new Set(Array.from({ length: 20_000 }, (_, i) => ids.of(row("", `text ${i % 15_000}`))));
    expect(made.size).toBe(20_000);
  });
});
