/** Labels: hidden terms of rows whose texts are not kept, and questions that ask for them. */
import { beforeEach, expect, test } from "bun:test";
import { ValueError } from "../../src/errors.ts";
import type { Collection, Question } from "../../src/store/collection.ts";
import type { Rows } from "../../src/store/pack.ts";
import type { Store } from "../../src/store/store.ts";
import { Put } from "../../src/store/writer.ts";
import type { Embedder } from "../../src/texts/embedder.ts";
import { BigramEmbedder } from "../../src/texts/kernel.ts";
import { searchTexts } from "../../src/texts/search.ts";
import { native, openStore } from "../fixture.ts";

let store: Store;
let embedder: Embedder;
let code: Collection;

beforeEach(async () => {
  store = await openStore();
  embedder = new BigramEmbedder((await native()).kernel);
  const { profile } = embedder;
  code = store.create("code", { dim: profile.dimension, lexical: true, embedderProfile: profile });
});

const TEXTS = {
  caller: "render twice: renderPage(view); renderPage(view)",
  defining: "function renderPage(view) { return view.html }",
  other: "nothing of the kind, but long enough to be a text",
};
const LABELS = [[], ["renderPage", "view"], ["RenderPage"]];

function put(more: Partial<Rows> = {}): Promise<unknown> {
  const [ids, texts] = [Object.keys(TEXTS), Object.values(TEXTS)];
  const rows = { ids, texts, model: embedder.kernelModel, dropText: true, labels: LABELS, ...more };
  return code.change((t) => t.put(Put.ADD, rows));
}

async function ask(question: Partial<Question>): Promise<string[]> {
  const { rows } = await code.ask({ by: "words", text: "", ...question }, { topK: 3 });
  return rows.map(({ id }) => id);
}

test("a label is found by its exact bytes, beside the text's words, before and after a rewrite", async () => {
  await put();
  await code.buildLexical(1.2, 0.6);
  await put({ ids: ["late"], texts: ["of the newest rows"], labels: [["late_label", "view"]] });
  for (let round = 0; round < 2; round++) {
    expect(await ask({ labels: ["renderPage"] })).toEqual(["defining"]);
    expect(await ask({ labels: ["RenderPage"] })).toEqual(["other"]);
    expect(await ask({ labels: ["late_label"] })).toEqual(["late"]);
    expect((await ask({ labels: ["view", "view", "nobody's"] })).sort()).toEqual(["defining", "late"]);
    expect(await ask({ labels: ["renderpage", "render"] })).toEqual([]);
    expect(await ask({ text: "renderPage" })).toEqual(["caller", "defining"]);
    expect(await ask({ text: "renderPage", labels: ["renderPage"], labelShare: 1.5 })).toEqual(["defining", "caller"]);
    expect(await ask({ text: "RenderPage late_label" })).not.toContain("other");
    if (round === 0) await code.compact();
  }
});

test("the shares explain a label by its name, and weigh it", async () => {
  await put();
  await code.buildLexical(1.2, 0.6);
  const shareOf = async (labelShare?: number) => {
    const options = { topK: 1, explain: true };
    const found = await code.ask({ by: "words", text: "absentword", labels: ["view", "none"], labelShare }, options);
    expect(found).toMatchObject({ words: 1, known: 1, replaced: [] });
    const [term, ...more] = found.rows[0]!.terms!;
    expect(more).toEqual([]);
    expect(term).toMatchObject({ term: "view", tf: 1, instead: undefined });
    expect(found.rows[0]!.score).toBe(term!.share);
    return term!.share;
  };
  expect((await shareOf(3)) / (await shareOf())).toBeCloseTo(3, 5);
});

test("a search of texts passes them on", async () => {
  await put();
  const search = (labels?: string[]) =>
    searchTexts(code, embedder, "nothing long enough to be a text", { topK: 1, labels, labelShare: 50 });
  expect((await search()).rows[0]!.id).toBe("other");
  expect((await search(["renderPage"])).rows[0]!.id).toBe("defining");
});

test("what cannot be a label is refused, and nothing is written", async () => {
  const long = "é".repeat(129);
  await expect(put({ labels: [[], ["a\0b"], []] })).rejects.toThrow(new ValueError('a label holds a NUL: "a\\u0000b"'));
  await expect(put({ labels: [[], [""], []] })).rejects.toThrow("a label has 0 bytes");
  await expect(put({ labels: [[long], [], []] })).rejects.toThrow("a label has 258 bytes, allowed are 1 to 256");
  await expect(put({ labels: [["a"]] })).rejects.toThrow("an entry for each of 3 rows");
  await expect(put({ dropText: false })).rejects.toThrow("rows whose texts are not kept");
  expect(code.count()).toBe(0);
  await put();
  await code.buildLexical(1.2, 0.6);
  await expect(ask({ labels: ["a\0b"] })).rejects.toThrow(ValueError);
  await expect(ask({ labels: [long] })).rejects.toThrow("a label has 258 bytes");
  await expect(ask({ labels: ["a"], labelShare: 0 })).rejects.toThrow("label_share must be above 0");
  const vector = new Float32Array(embedder.profile.dimension);
  await expect(ask({ by: "vector", vector, labels: ["a"] })).rejects.toThrow("labels are for rankings by words");
  const plain = store.create("plain", { dim: 2 });
  const row = { ids: ["a"], vectors: new Float32Array(2), dropText: true, labels: [["a"]] };
  await expect(plain.change((t) => t.put(Put.ADD, row))).rejects.toThrow("a lexical index");
});
