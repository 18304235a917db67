/** Texts of a base that are coded with a table of symbols: when they are, for how long, and what damage of it costs. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check } from "../../src/engine/check.ts";
import { OSError } from "../../src/errors.ts";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { duplicatesOf } from "../../src/texts/duplicates.ts";
import { makeTexts } from "../bench/texts.ts";
import { changeFile, fileWith, sectionsOf } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 4;
const SYMBOLS = 29;
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

test("a table is kept until as many texts were added as it was made for", async () => {
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
  expect(headOf(dir)).toEqual([900, 0, bytesOf(texts)]);
  expect(textsOf(c, 900)).toEqual(texts);
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

test("damage of the symbols is named, and costs the texts alone", async () => {
  const { store, dir, c } = await opened();
  const texts = makeTexts(400, 40, 6);
  await put(c, 0, texts);
  await c.compact();
  await store.close();
  damaged(dir);
  changeFile(fileWith(dir, "base-"), (slab) => {
    const { offset } = sectionsOf(fileWith(dir, "base-")).find(({ id }) => id === SYMBOLS)!;
    slab.fill(7, offset + 30, offset + 60);
  });
  const reopened = await openStore(store.dir);
  const again = reopened.open("notes");
  expect(() => again.get(["r1"], { text: true })).toThrow(OSError);
  expect(() => again.get(["r1"], { text: true })).toThrow(
    /the text of row 'r1' cannot be read, because the symbols that texts are coded with are damaged: base-\w+\.slab at offset \d+/,
  );
  expect(again.get(["r1"], {})[0]?.id).toBe("r1");
  expect((await again.search(unitVectors(1, DIM, random(2)), { topK: 5 })).rows).toHaveLength(5);
  await expect(again.compact()).rejects.toThrow(/the text of row 'r\d+' cannot be read/);
  const [checked] = await check(reopened, {});
  expect(checked!.damages.map(({ part, section, rows }) => [part, section, rows])).toEqual([["texts", SYMBOLS, 400]]);
  expect(checked!.damages[0]!.ids).toHaveLength(10);
});
