/** Near copies of stored notes are found, and notes about the same thing are not: 60 pairs of each. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Embedder } from "../../src/texts/embedder.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { isNearCopy } from "../../src/texts/similar/near-copy.ts";
import { similarRows } from "../../src/texts/similar/similar.ts";
import { native, notes, openStore } from "../fixture.ts";

interface Pair {
  kind: "reworded" | "updated" | "extended" | "related";
  stored: string;
  new: string;
}

const PAIRS: Pair[] = readFileSync(join(import.meta.dir, "../data/note-pairs.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

async function stored(texts: readonly string[]) {
  const store = await openStore();
  const embedder: Embedder = new MultigramEmbedder((await native()).kernel);
  const schema = { dim: embedder.profile.dimension, partitionBy: "scope", embedderProfile: embedder.profile };
  const ids = texts.map((_, i) => `${i}`);
  const collection = await store.createWith("notes", schema, async (made) => {
    await putTexts(made, embedder, "add", { texts, ids }, {});
    return made;
  });
  return async (text: string) => {
    const [found] = await similarRows(collection, embedder, { texts: [text], ids: ["new"] }, false);
    return found?.text;
  };
}

for (const [name, others] of [
  ["among each other", []],
  ["among other notes", notes().map(({ text }) => text)],
] as const) {
  test(`most near copies are found, and no related note is one: ${name}`, async () => {
    const near = await stored([...new Set(PAIRS.map((pair) => pair.stored)), ...others]);
    const found: Record<Pair["kind"], number> = { reworded: 0, updated: 0, extended: 0, related: 0 };
    for (const pair of PAIRS) {
      const text = await near(pair.new);
      if (pair.kind === "related" ? text !== undefined : text === pair.stored) found[pair.kind]++;
    }
    expect(found.reworded).toBeGreaterThanOrEqual(16);
    expect(found.updated).toBeGreaterThanOrEqual(18);
    expect(found.extended).toBeGreaterThanOrEqual(18);
    expect(found.related).toBe(0);
  });
}

test("a stored text that is extended or shortened is found from either side", async () => {
  const pairs = PAIRS.filter(({ kind }) => kind === "extended");
  const near = await stored(pairs.map((pair) => pair.new));
  let found = 0;
  for (const pair of pairs) if ((await near(pair.stored)) === pair.new) found++;
  expect(found).toBeGreaterThanOrEqual(18);
});

test("the notes that this project ships have no near copies", async () => {
  const texts = notes().map(({ text }) => text);
  for (const [i, text] of texts.entries()) {
    const near = await stored(texts.filter((_, other) => other !== i));
    expect(await near(text)).toBeUndefined();
  }
});

test("order and length of texts count", () => {
  const both = (share: number) => ({ firstShare: share, secondShare: share });
  const [first, second] = ["the port of staging is 8080", "the port of staging is 8443"];
  expect(isNearCopy(first, second, both(0.55))).toBe(true);
  expect(isNearCopy(first, "staging has the port that is 8443", both(0.55))).toBe(false);
  expect(isNearCopy(first, second, both(0.45))).toBe(false);
  expect(isNearCopy("take care, bye", "bye, take care", both(1))).toBe(false);
  expect(isNearCopy(first, `${first}, behind the proxy`, { firstShare: 1, secondShare: 0.35 })).toBe(true);
  expect(isNearCopy(first, `${first}, behind the proxy`, { firstShare: 1, secondShare: 0.25 })).toBe(false);
  expect(isNearCopy("", "", both(1))).toBe(false);
  // Scripts without spaces have a word for each character.
  expect(isNearCopy("\u4f1a\u8bae\u661f\u671f\u4e94", "\u4f1a\u8bae\u661f\u671f\u56db", both(0.7))).toBe(true);
});
