/**
 * Odd texts, among ordinary ones and alone: nothing is lost, every score is a number, the best answer comes first, and
 * other rows are not affected: without a lexical index, with one, after changes, after a rewrite, in a new process.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Collection, Row } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts, updateTexts } from "../../src/texts/put.ts";
import { searchTexts } from "../../src/texts/search.ts";
import { native, notes, openStore, TestMemory } from "../fixture.ts";

const MEGABYTE = 1024 * 1024;
/** Two words nearly as long as a query may be that differ in one letter in the middle. */
const LONG = [`${"a".repeat(30_000)}b${"a".repeat(30_000)}`, "a".repeat(60_001)] as const;

/** Every row has a text of its own, none of which is about the notes. */
const ODD: Record<string, string> = {
  empty: "",
  blank: " ".repeat(1_000_000),
  breaks: "\r\n\t\u2028\u2029\u0085\u3000\ufeff".repeat(50),
  "long-b": LONG[0],
  "long-a": LONG[1],
  longest: "z".repeat(MEGABYTE + 1),
  nul: "narwhals\0swim\0northward\0",
  "nul-only": "\0\0\0",
  controls: "\u0001\u001b[31mxylophone\u001b[0m\u007f",
  family: "👩‍👩‍👧‍👦 met 👨🏿‍🚀 below 🏳️‍🌈",
  thumbs: "👍🏽👍🏿👍",
  flags: "🇩🇪🇫🇷🇯🇵",
  keycap: "1️⃣ ❤️ ©️",
  emoji: "🦑".repeat(5000),
  arabic: "الاجتماع الأسبوعي يوم الأربعاء في القاهرة",
  hebrew: "הפגישה השבועית ביום רביעי בתל אביב",
  mixed: "The codeword שלום means peace, مرحبا is a greeting",
  directed: "\u202eevoba\u202c \u2066quixotic\u2069 \u200fzephyr\u200e",
  nfc: "Čačak Évreux Ångström smørrebrød naïveté".normalize("NFC"),
  nfd: "Čačak Évreux Ångström smørrebrød naïveté".normalize("NFD"),
  marks: "\u0301".repeat(10_000),
  zalgo: `o${"\u0300\u0316\u0489".repeat(3000)}celot`,
  stuffed: "ferret ".repeat(10_000),
  answer: "Our ferret hides a turquoise marble behind the wardrobe.",
  replaced: Buffer.from([0x71, 0x75, 0x6f, 0x6b, 0x6b, 0x61, 0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]).toString(
    "utf8",
  ),
  ends: `\uffff\ufffe\u{10ffff}\ue000 wombat`,
  astral: "𠮷野家 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𓀀𓁐",
  chinese: "我们每周五下午部署新版本，然后观察五分钟。",
  japanese: "会議は来週の水曜日に東京で行われます。コーヒーもあります。",
  thai: "ร้านอาหารนี้เปิดทุกวันตั้งแต่เก้าโมงเช้า",
  korean: "연례 보고서는 다음 주 수요일에 서울에서 발표됩니다",
  hindi: "बैठक अगले बुधवार को दिल्ली में होगी",
  russian: "Резервное копирование базы данных выполняется каждую ночь",
  greek: "Η συνάντηση θα γίνει την Τετάρτη στην Αθήνα",
};

/** What is asked, and who has to come first, with every ranking that can know. */
const FOUND: [query: string, id: string][] = [
  [LONG[0], "long-b"],
  [LONG[1], "long-a"],
  ["narwhals", "nul"],
  ["northward\0narwhals\0", "nul"],
  ["xylophone", "controls"],
  ["👩‍👩‍👧‍👦", "family"],
  ["👨🏿‍🚀", "family"],
  ["👍", "thumbs"],
  ["👍🏻", "thumbs"],
  ["🇯🇵", "flags"],
  ["🦑", "emoji"],
  ["الأربعاء في القاهرة", "arabic"],
  ["الاربعاء", "arabic"],
  ["יום רביעי", "hebrew"],
  ["שָׁלוֹם", "mixed"],
  ["\u200fمرحبا\u200f", "mixed"],
  ["quixotic zephyr", "directed"],
  ["ocelot", "zalgo"],
  ["ferret turquoise marble wardrobe", "answer"],
  ["turquoise", "answer"],
  ["quokka", "replaced"],
  ["wombat", "ends"],
  ["𠮷野家", "astral"],
  ["部署新版本", "chinese"],
  ["水曜日に東京", "japanese"],
  ["こーひー", "japanese"],
  ["เปิดทุกวัน", "thai"],
  ["수요일에 서울", "korean"],
  ["दिल्ली में", "hindi"],
  ["копирование базы", "russian"],
  ["РЕЗЕРВНОЕ КОПИРОВАНИЕ", "russian"],
  ["συναντηση στην αθηνα", "greek"],
];

/** Queries about the notes, which are answered as if the odd rows did not exist. */
const ORDINARY: [query: string, id: string][] = [
  ["how hot should the water be for green tea", "tea"],
  ["password of the guest network", "wifi"],
  ["retry a payment without charging twice", "idempotency"],
  ["cache stampede", "cache-stampede"],
];

/** Without words, or with function words only. */
const HOLLOW = [
  "",
  " ",
  "\0",
  "\u0301\u0301",
  "\u202e\u200f",
  "?!…",
  "how to be or not to be of and the",
  "the ".repeat(500),
];
const UNKNOWN = ["qwxzjvk", "🪬", "ⵣⵣⵣ", "deadbeefqx"];

let store: Store;
let embedder: MultigramEmbedder;
beforeAll(async () => {
  store = await openStore();
  embedder = new MultigramEmbedder((await native()).kernel);
});
afterAll(() => store.close());

async function filled(name: string, texts: Record<string, string>): Promise<Collection> {
  const { dimension } = embedder.profile;
  const collection = store.create(name, { dim: dimension, embedderProfile: embedder.profile, lexical: true });
  await collection.save();
  const ids = Object.keys(texts);
  if (ids.length > 0) await putTexts(collection, embedder, "add", { ids, texts: Object.values(texts) }, {});
  return collection;
}

/** The hits of every ranking that there is, each of them checked for what holds of any answer. */
async function ask(collection: Collection, query: string, topK = 5) {
  const { rows, fused } = await searchTexts(collection, embedder, query, { topK, text: true });
  expect(fused).toBe(true);
  const depth = Math.max(100, topK * 3);
  const vector = await embedder.embedQueries([query]);
  const dense = (await collection.search(vector, { topK: depth, weighted: true })).rows;
  const isBuilt = collection.stats().lexical_built === 1;
  const lexical = isBuilt ? await collection.searchLexical(query, { topK: depth, explain: true }) : undefined;
  for (const ranking of [rows, dense, lexical ?? []]) checkOrder(ranking);
  expect(rows.length).toBe(Math.min(topK, collection.count()));
  for (const { score, terms } of lexical ?? []) {
    expect(score).toBeGreaterThan(0);
    expect(terms!.every(({ tf, idf, share }) => tf > 0 && Number.isFinite(idf) && Number.isFinite(share))).toBe(true);
    expect(terms!.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(score, 9);
  }
  return { fused: ids(rows), dense: ids(dense), lexical: lexical && ids(lexical), rows };
}

/** Rows without the numbers that a compaction gives out again. */
const plain = (rows: Row[]) => rows.map(({ birth: _, ...row }) => row);

function checkOrder(rows: Row[]): void {
  expect(rows.every(({ score }) => Number.isFinite(score))).toBe(true);
  expect(rows.every(({ score }, i) => i === 0 || score <= rows[i - 1]!.score)).toBe(true);
  expect(new Set(ids(rows)).size).toBe(rows.length);
}

const ids = (rows: readonly { id: string }[]) => rows.map((row) => row.id);

async function expectFirst(collection: Collection, query: string, id: string): Promise<void> {
  const { fused, dense, lexical } = await ask(collection, query);
  const about = query.slice(0, 40);
  expect([about, fused[0], dense[0], lexical?.[0] ?? id]).toEqual([about, id, id, id]);
}

/** The whole of what must hold of the collection, whatever was done to it. */
async function expectWhole(collection: Collection, texts: Record<string, string>): Promise<void> {
  expect(collection.ids().sort()).toEqual(Object.keys(texts).sort());
  for (const { id, text } of collection.get(Object.keys(texts))) expect(text === texts[id]).toBe(true);
  for (const [query, id] of [...FOUND, ...ORDINARY]) {
    if (id in texts) await expectFirst(collection, query, id);
  }
  for (const query of HOLLOW) await ask(collection, query);
  for (const query of UNKNOWN) expect((await ask(collection, query)).lexical ?? []).toEqual([]);
  if ("stuffed" in texts) {
    const { fused, dense, lexical } = await ask(collection, "ferret");
    for (const ranking of [fused, dense, lexical ?? ["stuffed"]]) expect(ranking.slice(0, 3)).toContain("stuffed");
  }
  if ("nfc" in texts && "nfd" in texts) await expectTwins(collection);
}

/** One word in two normal forms is one word: same hits, same scores, whichever form the query has. */
async function expectTwins(collection: Collection): Promise<void> {
  for (const word of ["Čačak", "Évreux", "Ångström", "SMØRREBRØD", "naivete"]) {
    const [composed, apart] = await Promise.all([
      ask(collection, word.normalize("NFC")),
      ask(collection, word.normalize("NFD")),
    ]);
    expect(composed).toEqual(apart);
    for (const ranking of [composed.fused, composed.dense, composed.lexical ?? ["nfc", "nfd"]]) {
      expect(ranking.slice(0, 2).sort()).toEqual(["nfc", "nfd"]);
    }
    const [one, two] = (await collection.search(await embedder.embedQueries([word]), { topK: 2, weighted: true })).rows;
    expect(one!.score).toBe(two!.score);
  }
}

test("odd texts among ordinary ones, through the life of a collection", async () => {
  const texts = { ...ODD };
  for (const { id, text } of notes()) texts[id] = text;
  const collection = await filled("life", texts);
  await expectWhole(collection, texts);

  await collection.buildLexical(1.2, 0.6);
  await expectWhole(collection, texts);

  // Odd texts change places with ordinary ones, and some go.
  const changes: Record<string, string> = {
    empty: "The orangutan reads a gazette.",
    answer: "",
    "long-a": "short",
    marks: "\u0301".repeat(20_000),
    stuffed: "",
  };
  await updateTexts(collection, embedder, { ids: Object.keys(changes), texts: Object.values(changes) }, {});
  const gone = ["long-b", "emoji", "zalgo", "blank", "nul-only"];
  expect(await collection.delete([...gone, "nobody"])).toBe(gone.length);
  const changed: Record<string, string> = { ...texts, ...changes };
  for (const id of gone) delete changed[id];
  const asked = async (at: Collection) => {
    expect(at.ids().sort()).toEqual(Object.keys(changed).sort());
    await expectFirst(at, "orangutan gazette", "empty");
    for (const query of [LONG[0], LONG[1], "🦑", "ocelot", "ferret", "turquoise"]) {
      expect([query.slice(0, 20), (await ask(at, query)).lexical ?? []]).toEqual([query.slice(0, 20), []]);
    }
    for (const [query, id] of [...FOUND, ...ORDINARY]) {
      if (changed[id] === texts[id]) await expectFirst(at, query, id);
    }
    await expectTwins(at);
    return Promise.all([...FOUND, ...ORDINARY].map(async ([query]) => plain((await ask(at, query, 10)).rows)));
  };
  const before = await asked(collection);
  await collection.compact();
  expect(await asked(collection)).toEqual(before);
  const later = await openStore(store.dir);
  expect(await asked(later.open("life"))).toEqual(before);
  await later.open("life").verify();
  await later.close();

  // And back again.
  await putTexts(collection, embedder, "upsert", { ids: Object.keys(texts), texts: Object.values(texts) }, {});
  await expectWhole(collection, texts);
  await collection.buildLexical(1.2, 0.6);
  await expectWhole(collection, texts);
}, 120_000);

describe("a collection of", () => {
  const sizes: [string, Record<string, string>][] = [
    ["nothing", {}],
    ["one note", { only: "green tea at 70 degrees" }],
    ["one empty text", { only: "" }],
    ["one text of marks", { only: ODD.marks! }],
    ["one word said often", { only: ODD.stuffed! }],
    ["texts without words", { a: "", b: "…", c: "\0" }],
  ];
  test.each(sizes)("%s", async (what, texts) => {
    const collection = await filled(what, texts);
    const count = Object.keys(texts).length;
    const queries = [...HOLLOW, ...UNKNOWN, "green tea", "ferret", LONG[0]];
    for (const round of ["unbuilt", "built", "compacted"]) {
      if (round === "built") await collection.buildLexical(1.2, 0.6);
      if (round === "compacted") await collection.compact();
      for (const query of queries) {
        const { fused, lexical } = await ask(collection, query, 100_000);
        expect(fused.length).toBe(count);
        const said = query.split(" ").some((word) => word.length > 4 && texts.only?.includes(word));
        if (round !== "unbuilt" && (said || texts.only === undefined)) expect(lexical).toEqual(said ? ["only"] : []);
      }
    }
    await collection.delete(Object.keys(texts));
    for (const query of queries) expect((await ask(collection, query)).fused).toEqual([]);
    await collection.buildLexical(1.2, 0.6);
    for (const query of queries) expect((await ask(collection, query)).fused).toEqual([]);
  });
});

test("a query as long as a book is answered, and by its words", async () => {
  const texts = Object.fromEntries(notes().map(({ id, text }) => [id, text]));
  const collection = await filled("long queries", texts);
  const letters = (n: number) =>
    Array.from(n.toString(26), (digit) => String.fromCharCode(97 + Number.parseInt(digit, 26)));
  const words = Array.from({ length: 140_000 }, (_, i) => `zqx${letters(i).join("")}`).join(" ");
  expect(words.length).toBeGreaterThan(MEGABYTE);
  for (const built of [false, true]) {
    if (built) await collection.buildLexical(1.2, 0.6);
    await expectFirst(collection, `${texts.bread} `.repeat(Math.ceil(MEGABYTE / texts.bread!.length)), "bread");
    // Beyond its first megabyte a query counts by word only.
    const { lexical } = await ask(collection, `${words} sourdough`);
    expect(lexical ?? ["bread"]).toEqual(["bread"]);
    await ask(collection, `${"\u0301".repeat(MEGABYTE)}`);
  }
});

test("half of a surrogate pair is refused by name, wherever it stands, and nothing is written", async () => {
  const m = await TestMemory.open();
  await m.call("add", { collection: "c", texts: ["an otter"], ids: ["otter"] });
  for (const half of ["\ud83d", "\ude00", "otter \udc00 otter", "\ude00\ud83d"]) {
    const said = /holds half of a surrogate pair, which UTF-8 cannot hold: remove it$/;
    await expect(m.call("add", { collection: "c", texts: ["fine", half] })).rejects.toThrow(said);
    await expect(m.call("upsert", { collection: "c", texts: [half], ids: ["otter"] })).rejects.toThrow(said);
    await expect(m.call("update", { collection: "c", texts: [half], ids: ["otter"] })).rejects.toThrow(said);
    await expect(m.call("search", { collection: "c", query: half })).rejects.toThrow(said);
    await expect(m.call("search_lexical", { collection: "c", query: half })).rejects.toThrow(said);
    const one = await filled(`half ${half.length}${half.charCodeAt(0)}`, { otter: "an otter" });
    expect((await ask(one, `otter ${half}`)).fused).toEqual(["otter"]);
  }
  expect(await m.call("get", { collection: "c", ids: ["otter"] })).toMatchObject({ rows: [{ text: "an otter" }] });
  expect((await m.call("count", { collection: "c" })).count).toBe(1);
});
