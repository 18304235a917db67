/** Texts of a base that are coded with a table of symbols: when they are, for how long, and what damage of it costs. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check } from "../../src/api/check.ts";
import { OSError } from "../../src/errors.ts";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { duplicatesOf } from "../../src/texts/duplicates.ts";
import { localStore } from "../api/fixture.ts";
import { makeTexts } from "../bench/texts.ts";
import { changeFile, fileWith, sectionsOf } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 4;
const SYMBOLS = 29;
const AGAIN = 30;
const TEXTS = 12;

const put = (c: Collection, from: number, texts: readonly string[]) =>
  c.upsert({
    ids: texts.map((_, i) => `r${from + i}`),
    texts,
    vectors: unitVectors(texts.length, DIM, random(from + 1)),
  });

async function opened(): Promise<{ store: Store; dir: string; c: Collection }> {
  const store = await openStore();
  return { store, dir: join(store.dir, "notes"), c: store.create("notes", { dim: DIM, lexical: true }) };
}

function sectionOf(dir: string, id: number): Buffer | undefined {
  const path = fileWith(dir, "base-");
  const section = sectionsOf(path).find((s) => s.id === id);
  return section && readFileSync(path).subarray(section.offset, section.offset + section.bytes);
}

/** The head of the symbols: texts that the table was made for, texts that were added since, bytes of all texts. */
function headOf(dir: string): number[] | undefined {
  const head = sectionOf(dir, SYMBOLS);
  return head && [head.readUInt32LE(4), head.readUInt32LE(8), Number(head.readBigUInt64LE(16))];
}

const textsOf = (c: Collection, count: number) =>
  c
    .get(
      Array.from({ length: count }, (_, i) => `r${i}`),
      { text: true },
    )
    .map((row) => row.text);
const bytesOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

test("a table is kept as long as a new one is not better", async () => {
  const { store, dir, c } = await opened();
  const texts = makeTexts(900, 40, 3);
  await put(c, 0, texts.slice(0, 400));
  await c.compact();
  const symbols = sectionOf(dir, SYMBOLS)!.subarray(24);
  expect(headOf(dir)).toEqual([400, 0, bytesOf(texts.slice(0, 400))]);
  expect(sectionOf(dir, TEXTS)!.length).toBeLessThan(bytesOf(texts.slice(0, 400)) * 0.5);
  await put(c, 400, texts.slice(400, 700));
  // Read from both: those of the base coded, those of the delta not.
  expect(textsOf(c, 700)).toEqual(texts.slice(0, 700));
  await c.compact();
  expect(headOf(dir)).toEqual([400, 300, bytesOf(texts.slice(0, 700))]);
  expect(sectionOf(dir, SYMBOLS)!.subarray(24)).toEqual(symbols);
  expect(textsOf(c, 700)).toEqual(texts.slice(0, 700));
  await put(c, 700, texts.slice(700));
  await c.compact();
  // As many were added as it was made for: it was compared with a new one.
  expect(headOf(dir)).toEqual([900, 0, bytesOf(texts)]);
  expect(sectionOf(dir, SYMBOLS)!.subarray(24)).toEqual(symbols);
  expect(textsOf(c, 900)).toEqual(texts);
  // Texts of other words take their place, as many as there were.
  const others = makeTexts(900, 40, 4).map((text) => text.toUpperCase());
  await put(c, 0, others);
  await c.compact();
  expect(headOf(dir)).toEqual([900, 0, bytesOf(others)]);
  expect(sectionOf(dir, SYMBOLS)!.subarray(24)).not.toEqual(symbols);
  expect(sectionOf(dir, TEXTS)!.length).toBeLessThan(bytesOf(others) * 0.5);
  expect(textsOf(c, 900)).toEqual(others);
  expect(await check(store, {})).toMatchObject([{ sound: true, damages: [] }]);
});

test("what is coded is found, cut, told from others and remembered like what is not", async () => {
  const { dir, c } = await opened();
  const texts = makeTexts(400, 40, 4);
  // Of characters that the sample lacks, of all lengths, and one that is not in words.
  texts.push("", "x", "\u{1f600}".repeat(50), "日本語".repeat(4000), Buffer.from(texts.join("")).toString("base64"));
  await put(c, 0, texts);
  await c.buildLexical(1.2, 0.6);
  await c.compact();
  expect(headOf(dir)?.[0]).toBe(texts.length - 1);
  expect(textsOf(c, texts.length)).toEqual(texts);
  // Cut between characters, of four and of three bytes.
  for (const most of [1, 7, 100]) {
    const cut = c.get(["r402", "r403"], { text: true }, most).map(({ text }) => text);
    expect(cut).toEqual(["\u{1f600}".repeat(Math.floor(most / 4)), "日本語".repeat(12).slice(0, Math.floor(most / 3))]);
  }
  const asked = [texts[3]!, `${texts[3]} `, texts[403]!, "", texts[404]!.slice(1)];
  const same = duplicatesOf(c, { ids: asked.map((_, i) => `new${i}`), texts: asked }, false);
  expect(same.map(({ index, of }) => [index, of])).toEqual([
    [0, "r3"],
    [2, "r403"],
    [3, "r400"],
  ]);
  await put(c, 3, ["another text"]);
  await c.compact(undefined, true);
  expect(c.get(["r3"], { text: true })[0]?.text).toBe("another text");
});

test("texts that do not get much shorter, and few texts, are stored as they are", async () => {
  const { dir, c } = await opened();
  const next = random(8);
  const bytes = () => Uint8Array.from({ length: 300 }, () => Math.floor(next() * 256));
  const noise = Array.from({ length: 300 }, () => Buffer.from(bytes()).toString("base64"));
  await put(c, 0, noise);
  await c.compact();
  expect(headOf(dir)).toBeUndefined();
  expect(textsOf(c, 300)).toEqual(noise);
  const few = await opened();
  await put(few.c, 0, makeTexts(100, 40, 5));
  await few.c.compact();
  expect(headOf(few.dir)).toBeUndefined();
  expect(textsOf(few.c, 100)).toEqual(makeTexts(100, 40, 5));
});

/** A closed store whose collection has coded texts, of whose symbols bytes are changed: in these sections. */
async function damagedSymbols(
  change: (symbols: Buffer) => void,
  ids = [SYMBOLS, AGAIN],
): Promise<{ dir: string; texts: string[] }> {
  const { store, dir, c } = await opened();
  const texts = makeTexts(400, 40, 6);
  await put(c, 0, texts);
  await c.compact();
  await store.close();
  damaged(store.dir);
  const path = fileWith(dir, "base-");
  const places = sectionsOf(path).filter(({ id }) => ids.includes(id));
  expect(places).toHaveLength(ids.length);
  changeFile(path, (slab) => {
    for (const { offset, bytes } of places) change(slab.subarray(offset, offset + bytes));
  });
  return { dir: store.dir, texts };
}

test("damage of the symbols is named, and costs the texts alone", async () => {
  const { dir } = await damagedSymbols((symbols) => symbols.fill(7, 30, 60));
  const store = await openStore(dir);
  const again = store.open("notes");
  expect(() => again.get(["r1"], { text: true })).toThrow(OSError);
  expect(() => again.get(["r1"], { text: true })).toThrow(
    /the text of row 'r1' cannot be read, because the symbols that texts are coded with are damaged: base-\w+\.slab at offset \d+/,
  );
  expect(again.get(["r1"], {})[0]?.id).toBe("r1");
  expect((await again.search(unitVectors(1, DIM, random(2)), { topK: 5 })).rows).toHaveLength(5);
  await expect(again.compact()).rejects.toThrow(/the text of row 'r\d+' cannot be read/);
  const [checked] = await check(store, {});
  expect(checked!.damages.map(({ part, section, rows }) => [part, section, rows])).toEqual([
    ["texts", SYMBOLS, 400],
    ["texts", AGAIN, 400],
  ]);
  expect(checked!.damages[0]!.ids).toHaveLength(10);
});

test.each([SYMBOLS, AGAIN])(
  "without section %d the symbols are read from the other one, and made again",
  async (id) => {
    const { dir, texts } = await damagedSymbols((symbols) => symbols.fill(0), [id]);
    const store = await openStore(dir);
    expect(textsOf(store.open("notes"), 400)).toEqual(texts);
    const [checked] = await check(store, {});
    expect(checked!.damages.map(({ part, section, rows }) => [part, section, rows])).toEqual([["filter", id, 0]]);
    await store.close();
    const local = await localStore(dir);
    expect(await local.repair("notes")).toMatchObject({ action: "rebuilt", lost_rows: 0 });
    await local.close();
    const again = await openStore(dir);
    expect(textsOf(again.open("notes"), 400)).toEqual(texts);
    expect((await check(again, {}))[0]!.sound).toBe(true);
  },
);

test("a repair restores one changed bit of the symbols; without them it saves the rows without their texts", async () => {
  const bit = await damagedSymbols((symbols) => {
    symbols[40]! ^= 4;
  });
  const mended = await localStore(bit.dir);
  const done = await mended.repair("notes");
  expect(done).toMatchObject({ action: "salvaged", rows: 400, lost: [], lost_rows: 0, restored_bits: 2 });
  await mended.close();
  const whole = (await openStore(bit.dir)).open(done.to!);
  expect(textsOf(whole, 400)).toEqual(bit.texts);

  const all = await damagedSymbols((symbols) => symbols.fill(0));
  const wiped = await localStore(all.dir);
  const saved = await wiped.repair("notes");
  expect(saved).toMatchObject({ action: "salvaged", rows: 400, lost_rows: 400 });
  expect(saved.lost[0]!.parts).toEqual(["text"]);
  await wiped.close();
  const without = (await openStore(all.dir)).open(saved.to!);
  expect(textsOf(without, 400)).toEqual(all.texts.map(() => undefined));
  const vector = (await without.search(unitVectors(1, DIM, random(2)), { topK: 5 })).rows;
  expect(vector).toHaveLength(5);
});
