/** Long rows rank by their best passage as well, and an excerpt begins in it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { renderHits } from "../../src/cli/mem/render/hits.ts";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { searchTexts } from "../../src/texts/search.ts";
import { native, openStore, TestMemory } from "../fixture.ts";
import { random } from "../random.ts";
import { composed } from "./reference.ts";

let store: Store;
let embedder: MultigramEmbedder;
const next = random(5);

beforeAll(async () => {
  store = await openStore();
  embedder = new MultigramEmbedder((await native()).kernel);
});
afterAll(() => store.close());

const NOUNS = "harbour lamp meadow orchard quarry saddle tunnel velvet willow barrel cellar furnace".split(" ");
const VERBS = "moves holds covers paints follows borrows repairs counts".split(" ");
const any = (words: readonly string[]) => words[Math.floor(next() * words.length)]!;
/** Sentences about other things, so many. */
const filler = (sentences: number) =>
  Array.from({ length: sentences }, () => `The ${any(NOUNS)} ${any(VERBS)} the ${any(NOUNS)} near the ${any(NOUNS)}.`);

async function collectionOf(name: string, rows: Record<string, string>, metadata?: (object | null)[]) {
  const { profile } = embedder;
  const collection = store.create(name, { dim: profile.dimension, embedderProfile: profile, lexical: true });
  const ids = Object.keys(rows);
  const parts = { ids, texts: Object.values(rows), metadata: metadata as never };
  await putTexts(collection, embedder, "upsert", parts, {});
  await collection.buildLexical(1.2, 0.6);
  return collection;
}
const idsOf = async (collection: Collection, query: string, topK = 10) =>
  (await searchTexts(collection, embedder, query, { topK, now: 0 })).rows.map(({ id }) => id);
const others = (n: number, sentences: number) =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`other ${i}`, filler(sentences).join(" ")]));

test("a long row that says it in one place comes before one that has the words here and there", async () => {
  const words = ["The keeper", "painted", "his boat", "green"];
  const [scattered, together] = [filler(60), filler(60)];
  for (const [i, word] of words.entries()) scattered[5 + 14 * i] += ` ${word} was there.`;
  together[40] += ` ${words.join(" ")}.`;
  for (const [i] of words.entries()) together[5 + 14 * i] += " It was there.";
  const rows = { scattered: scattered.join(" "), together: together.join(" "), ...others(30, 50) };
  const long = await collectionOf("together", rows);
  expect((await idsOf(long, "who painted the boat green"))[0]).toBe("together");
});

test("a short line that has the fact comes before long rows that echo the question", async () => {
  const rows: Record<string, string> = { fact: "We keep invoices in PostgreSQL.", ...others(20, 4) };
  for (let i = 0; i < 25; i++) {
    const echo = `You asked where we keep the papers. ${filler(40).join(" ")} So much about papers, and where we keep them.`;
    rows[`echo ${i}`] = i % 5 === 0 ? echo.replaceAll("papers", "invoices") : echo;
  }
  const mixed = await collectionOf("echo", rows);
  expect((await idsOf(mixed, "Where do we keep the invoices?"))[0]).toBe("fact");
});

test("collections of short rows without sessions answer as the two rankings fused", async () => {
  const metadata = [{ a: 1 }, null, { note: "session", session: null }, { session: {} }, { session: "" }, { turn: 2 }];
  const rows = others(200, 3);
  const given = Object.keys(rows).map((_, i) => metadata[i % metadata.length]!);
  const short = await collectionOf("short", rows, given);
  for (const query of ["the lamp", "velvet tunnel near a quarry", "willow", "nothing of this"]) {
    const expected = await composed(short, embedder, query, { topK: 20 });
    const found = (await searchTexts(short, embedder, query, { topK: 20, now: 0 })).rows;
    expect(found.map(({ id, score }) => [id, score])).toEqual(expected.map(({ row }) => [row.id, row.score]));
  }
});

test("the excerpt of a hit is of the passage that it is ranked by", async () => {
  const m = await TestMemory.open();
  const sentences = filler(120);
  sentences[70] = "The quokka is kept in the northern enclosure because of its diet.";
  sentences[20] = "The enclosure has a fence.";
  const text = sentences.join(" ").replace("harbour", "h\u{1f600}rbour");
  await m.call("upsert", { collection: "zoo", ids: ["a", "b"], texts: [text, filler(90).join(" ")] });
  const query = "in which enclosure is the quokka";
  const { hits } = await m.call("search", { collection: "zoo", query, with_text: true, max_bytes: 1500, top_k: 2 });
  const [{ id, text: shown, start, truncated }] = hits;
  expect([id, truncated]).toEqual(["a", true]);
  expect(shown).toContain("The quokka is kept in the northern enclosure");
  expect(Buffer.from(text).subarray(start).toString()).toStartWith(shown);
  const lines = await m.call(
    "search",
    { collection: "zoo", query, with_text: true, max_bytes: 0, top_k: 1 },
    {
      textBytes: 140,
    },
  );
  expect(lines.hits[0].text).toContain("quokka");
  expect(Buffer.byteLength(lines.hits[0].text)).toBeLessThanOrEqual(140);
  expect(renderHits(lines.hits, { query })).toMatch(/^1\. a\n {3}….*quokka.*…$/);
});

test("texts of every kind are answered", async () => {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const hanzi = Array.from({ length: 22_000 }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7919) % 5000))).join("");
  const rows = {
    "one word": "harbour ".repeat(9000),
    lines: Array.from({ length: 30_000 }, (_, i) => letters[i % 26]).join("\n"),
    "no spaces": "harbour".repeat(9000),
    chinese: hanzi,
    "broken emoji": `harbour ${"\u{1f600}".repeat(20_000)}`.slice(0, -1),
    "16 MB": "The harbour is long. ".repeat((16 * 1024 * 1024) / 21),
    spaces: " ".repeat(60_000),
    empty: "",
    short: "A harbour.",
  };
  const odd = await collectionOf("odd", rows);
  const long = `harbour ${filler(2000).join(" ")}`.slice(0, 64 * 1024);
  for (const query of ["harbour", "a", hanzi.slice(500, 520), "\u{1f600}", "", " ", long]) {
    const { rows: found } = await searchTexts(odd, embedder, query, { topK: 20, text: true, now: 0 });
    expect(found.every(({ score }) => Number.isFinite(score))).toBeTrue();
    const places = odd.passages(query, undefined, Object.values(rows));
    for (const [i, { from, best, to, questionShare }] of places.entries()) {
      const bytes = Buffer.byteLength(Object.values(rows)[i]!);
      expect(from <= best && best <= to && to <= bytes && questionShare >= 0 && questionShare <= 1).toBeTrue();
    }
  }
  expect((await idsOf(odd, "harbour")).slice(0, 9)).toContain("short");
  const alone = await collectionOf("alone", { "16 MB": rows["16 MB"] });
  expect(await idsOf(alone, "harbour")).toEqual(["16 MB"]);
});
