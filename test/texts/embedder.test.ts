import { expect, test } from "bun:test";
import { TEXT_EMBED_BYTES_MAX } from "../../src/limits.ts";
import { checkSpace, spaceId } from "../../src/texts/embedder.ts";
import { BigramEmbedder, MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native } from "../fixture.ts";

const kernel = (await native()).kernel;
const norm = (x: Float32Array) => Math.sqrt(x.reduce((sum, v) => sum + v * v, 0));

for (const embedder of [new MultigramEmbedder(kernel), new BigramEmbedder(kernel)]) {
  const { dimension, model_id } = embedder.profile;

  test(`${model_id}: unit rows, the same every time, whatever stands beside them`, async () => {
    const texts = ["hello world", "Ünïcödé 向量 🙂", "x".repeat(5000), "hello world"];
    const out = await embedder.embedDocuments(texts);
    expect(out.length).toBe(texts.length * dimension);
    const row = (i: number) => out.subarray(i * dimension, (i + 1) * dimension);
    for (let i = 0; i < texts.length; i++) expect(norm(row(i))).toBeCloseTo(1, 4);
    expect(row(0)).toEqual(row(3));
    expect(await embedder.embedDocuments(["hello world"])).toEqual(row(0).slice());
  });

  test(`${model_id}: odd texts give finite rows`, async () => {
    const odd = [
      "",
      " ".repeat(1_000_000),
      "\0",
      "\u0301\u0301",
      "👩‍👩‍👧‍👦",
      "مرحبا",
      "a".repeat(TEXT_EMBED_BYTES_MAX * 2),
    ];
    const out = await embedder.embedDocuments(odd);
    expect(out.every(Number.isFinite)).toBe(true);
  });
}

test("of a long text the first MiB is embedded", async () => {
  const embedder = new MultigramEmbedder(kernel);
  const start = "lorem ipsum ".repeat(TEXT_EMBED_BYTES_MAX / 12 + 1).slice(0, TEXT_EMBED_BYTES_MAX);
  const whole = await embedder.embedDocuments([start]);
  expect(await embedder.embedDocuments([`${start} and what follows is not`])).toEqual(whole);
  expect(await embedder.embedDocuments([`zebra ${start}`])).not.toEqual(whole);
});

test("every CPU path embeds to the same bits", async () => {
  const embedder = new MultigramEmbedder(kernel);
  const best = kernel.activeIsa();
  const texts = ["The quick brown fox", "getUserById(request_id)", "Über den Wolken", "向量检索"];
  const truth = await embedder.embedDocuments(texts);
  try {
    for (const isa of kernel.isas()) {
      expect(kernel.forceIsa(isa)).toBe(true);
      expect(kernel.activeIsa()).toBe(isa);
      expect(await embedder.embedDocuments(texts)).toEqual(truth);
    }
    expect(kernel.forceIsa("no-such-path")).toBe(false);
  } finally {
    kernel.forceIsa(best);
  }
});

test("another space is refused, and the error says what to do", () => {
  const embedder = new MultigramEmbedder(kernel);
  const other = { ...embedder.profile, model_version: "0" };
  expect(spaceId(embedder.profile)).toMatch(/^sha256:[0-9a-f]{16}$/);
  checkSpace("c", { ...embedder.profile }, embedder);
  expect(() => checkSpace("c", other, embedder)).toThrow(/svc mem export/);
  expect(() => checkSpace("c", null, embedder)).toThrow(/raw vectors/);
});
