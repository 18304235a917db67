/** A search of several collections answers as one collection that has the rows of all of them. */
import { expect, test } from "bun:test";
import { Put } from "../../ffi/ty_collection.ts";
import type { Metadata } from "../../src/checks/values.ts";
import { CancelledError } from "../../src/errors.ts";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { Collections, splitId } from "../../src/texts/collections.ts";
import { putDated } from "../../src/texts/dated.ts";
import type { Embedder } from "../../src/texts/embedder.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { fill } from "../../src/texts/meaning/fill.ts";
import { searchTexts, type TextOptions } from "../../src/texts/search.ts";
import { native, openStore } from "../fixture.ts";
import { random } from "../random.ts";
import { encoder, hasModel, sentences } from "./meaning/fixture.ts";

interface TestRow {
  id: string;
  text: string;
  metadata: Metadata;
  updated: number;
}

const COMMON = "the we have a new deploy server rollback canary database index cache alert on call retro budget".split(
  " ",
);
const RARE = Array.from({ length: 60 }, (_, i) => `codename${String.fromCharCode(97 + (i % 26))}${i}`);
const SINCE = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;

function textOf(next: () => number): string {
  const length = next() < 0.1 ? 400 : 4 + Math.floor(next() * 30);
  const word = () => (next() < 0.8 ? COMMON[Math.floor(next() ** 2 * COMMON.length)]! : RARE[Math.floor(next() * 60)]!);
  return `${Array.from({ length }, (_, i) => word() + (i % 9 === 8 ? "." : "")).join(" ")}.`;
}

/** Rows of collection `of`, some of them turns of conversations, that have happened on different days. */
function rowsOf(next: () => number, of: number, count: number, textAt = (_: number) => textOf(next)): TestRow[] {
  return Array.from({ length: count }, (_, i) => {
    const turn = next() < 0.3 ? { session: `s${of}-${i >> 3}`, turn: i } : {};
    const scope = next() < 0.6 ? "work" : `scope ${Math.floor(next() * 3)}`;
    const metadata = { scope, kind: next() < 0.5 ? "note" : "chat", ...turn };
    return { id: `r${of}-${i}`, text: textAt(i), metadata, updated: SINCE + Math.floor(next() * 300) * DAY };
  });
}

async function put(collection: Collection, embedder: Embedder, rows: readonly TestRow[]): Promise<void> {
  if (rows.length === 0) return;
  const updated = rows.map((row) => row.updated);
  const all = {
    ids: rows.map(({ id }) => id),
    texts: rows.map(({ text }) => text),
    metadata: rows.map(({ metadata }) => metadata),
    model: embedder.kernelModel!,
  };
  await collection.change((t) => putDated(t, Put.UPSERT, { ...all, updated, created: updated }));
}

/** Collections of a store, and in another one a collection with the rows of all of them. */
class Both {
  readonly parts: Collection[] = [];
  private constructor(
    readonly store: Store,
    private readonly embedder: Embedder,
    readonly one: Collection,
    private readonly schema: Parameters<Store["create"]>[1],
  ) {}

  static async with(embedder: Embedder): Promise<Both> {
    const { profile } = embedder;
    const schema = { dim: profile.dimension, embedderProfile: profile, partitionBy: "scope", filterColumns: ["kind"] };
    const [store, other] = [await openStore(), await openStore()];
    return new Both(store, embedder, other.create("one", schema), schema);
  }

  async add(rows: readonly TestRow[], more: object = {}): Promise<Collection> {
    const name = `part ${String(this.parts.length).padStart(3, "0")}`;
    const part = this.store.create(name, { ...this.schema, ...more });
    await part.save();
    await put(part, this.embedder, rows);
    await put(this.one, this.embedder, rows);
    this.parts.push(part);
    return part;
  }

  get model() {
    return this.embedder.kernelModel!;
  }

  async delete(part: Collection, ids: readonly string[]): Promise<void> {
    await part.delete(ids);
    await this.one.delete(ids);
  }

  /** Asks both, and compares all that they say. */
  async compare(query: string, options: Omit<TextOptions, "topK"> & { topK?: number } = {}): Promise<string[]> {
    const asked = { topK: 10, scores: true, text: true, metadata: true, times: true, ...options };
    const { where } = asked;
    const many = await searchTexts(new Collections(this.parts, where), this.embedder, query, asked);
    const one = await searchTexts(this.one, this.embedder, query, asked);
    const shown = (rows: typeof one.rows) => rows.map(({ birth: _, ...row }) => row);
    const own = many.rows.map((row) => ({ ...row, id: splitId(row.id).id }));
    expect({ query, options, rows: shown(own) }).toEqual({ query, options, rows: shown(one.rows) });
    const { words, known, replaced, meaningWeight, fused, trouble } = one;
    expect(many).toMatchObject({ words, known, replaced, meaningWeight, fused, trouble });
    const texts = one.rows.map(({ text }) => text!);
    const [these, those] = [new Collections(this.parts, where), this.one].map((c) => c.passages(query, where, texts));
    expect(these).toEqual(those);
    return many.rows.map(({ id }) => id);
  }
}

const QUERIES = [
  "rollback of the canary",
  "codenamea0 codenameb1",
  "codenamec3 database", // not a word of the rows
  "the",
  "alrets on the databse", // misspelt
  "new budget retro on call alert cache index",
  "warenkorb zzzqq",
  "what was deployed in March 2026",
  "",
];

/** The last one matches no row. */
const CONDITIONS = [
  { column: "kind", value: "chat" },
  { column: "scope", value: "work" },
  { column: "scope", value: "scope 1" },
  { column: "scope", value: "nowhere" },
];

const embedder = async () => new MultigramEmbedder((await native()).kernel);

for (const count of [1, 2, 7]) {
  test(`${count} collections and one with their rows have the same hits, order and scores`, async () => {
    const next = random(count);
    const both = await Both.with(await embedder());
    for (let i = 0; i < count; i++) await both.add(rowsOf(next, i, i === 1 ? 0 : 40 + Math.floor(next() * 260)));
    let conditions = 0;
    const ask = async () => {
      for (const query of QUERIES) {
        const hits = await both.compare(query);
        if (query.includes("canary")) expect(hits).toHaveLength(10);
        await both.compare(query, { where: CONDITIONS[conditions++ % CONDITIONS.length] });
      }
    };
    await ask();
    await both.compare(QUERIES[0]!, { topK: 1000 });
    await both.compare(QUERIES[0]!, { topK: 1 });
    const recency = { field: "updated", halfLifeDays: 30, weight: 1, now: undefined };
    await both.compare(QUERIES[0]!, { recency });
    for (const part of both.parts) {
      const ids = part.ids().filter(() => next() < 0.2);
      await both.delete(part, ids);
      const again = ids.filter((_, i) => i % 3 === 0);
      const rows = rowsOf(next, 0, again.length).map((row, i) => ({ ...row, id: again[i]! }));
      // In the order of insertion, which ties follow.
      if (part === both.parts.at(-1)) for (const c of [part, both.one]) await put(c, await embedder(), rows);
    }
    await ask();
    await both.parts[0]!.compact();
    await ask();
    await both.one.compact();
    for (const part of both.parts) await part.compact();
    await ask();
  });
}

test("many collections are searched on a worker, which closing waits for, and can be cancelled", async () => {
  const next = random(40);
  const both = await Both.with(await embedder());
  for (let i = 0; i < 40; i++) await both.add(rowsOf(next, i, 3));
  for (const query of QUERIES) await both.compare(query);
  const ask = (signal?: AbortSignal) => {
    const target = new Collections(both.parts, undefined, signal);
    return target.ask({ by: "both", text: "the canary", model: both.model, denseWeight: 0.5 }, { topK: 5 });
  };
  const controller = new AbortController();
  const cancelled = ask(controller.signal).catch((error: Error) => error);
  controller.abort();
  expect(await cancelled).toSatisfy((one) => one instanceof CancelledError || "rows" in one);
  await both.delete(both.parts[0]!, ["r0-0"]); // nothing is locked
  const answer = ask();
  await both.store.close();
  expect((await answer).rows).toHaveLength(5);
});

test.skipIf(!hasModel)("ranking by meaning counts the rows of all collections", async () => {
  const next = random(5);
  const encoding = await encoder();
  const both = await Both.with(new MultigramEmbedder((await native()).kernel, encoding));
  const texts = sentences(210);
  for (let i = 0; i < 3; i++) await both.add(rowsOf(next, i, 70, (at) => texts[i * 70 + at]!));
  await encoding.load();
  for (const c of [both.one, ...both.parts]) await fill(c, encoding);
  for (const query of ["who fixed the faucet", "my sibling gave up her ship", "the plumber", "a doctor's helper"]) {
    const hits = await both.compare(query);
    expect(new Set(hits.map((id) => splitId(id).collection)).size).toBeGreaterThan(1);
    await both.compare(query, { where: { column: "scope", value: "work" } });
  }
});
