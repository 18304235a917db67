import { expect, test } from "bun:test";
import { SentenceEncoder } from "../../../src/texts/meaning/encoder.ts";
import { SentenceEmbedder } from "../../../src/texts/sentence.ts";
import { native } from "../../fixture.ts";
import { call } from "../../memory/calls.ts";
import { encoder, hasModel, opened } from "./fixture.ts";

const without = async (model: SentenceEncoder["load"] extends never ? never : object) =>
  new SentenceEncoder({ ...(await native()), ...model });

test("a process without a model says why, once for each collection", async () => {
  const message = "searches by meaning are off: sentence-encoder.bin is missing; run 'svc runtime install' again";
  const cases = [
    [{ model: undefined }, "searches by meaning are off: SVC_MEANING is off"],
    [{ model: async () => undefined }, "searches by meaning are off: this build of svc has no sentence encoder"],
    [{ model: async () => ({ fault: { reason: "missing" as const, message } }) }, message],
  ] as const;
  for (const [model, why] of cases) {
    const one = await without(model);
    expect(one.noticeFor("a")).toBeUndefined();
    expect([await one.load(), one.isReady, one.fault]).toEqual([false, false, why]);
    expect([one.noticeFor("a"), one.noticeFor("a"), one.noticeFor("b")]).toEqual([why, undefined, why]);
    await expect(SentenceEmbedder.open({ encoder: one })).rejects.toThrow(why);
  }
});

test("bytes that are not a model are refused with the remedy, and calls work as without one", async () => {
  const broken = { ...(await native()), model: async () => ({ bytes: new Uint8Array(4096) }) };
  const memory = await opened(undefined, { native: broken });
  await call(memory, "add", { collection: "notes", texts: ["the plumber repaired the tap"], ids: ["tap"] });
  expect(await call(memory, "search", { collection: "notes", query: "plumber" })).toMatchObject({
    hits: [{ id: "tap" }],
  });
  const one = await without(broken);
  expect(await one.load()).toBe(false);
  expect(one.fault).toMatch(/^searches by meaning are off: .*; run 'svc runtime install' again, then restart/);
});

test.skipIf(!hasModel)("the encoder as an embedder: unit vectors, near where texts mean the same", async () => {
  const embedder = await SentenceEmbedder.open({ encoder: await encoder() });
  expect(embedder.profile).toMatchObject({ provider: "svc", model_id: "sentence", dimension: 128 });
  const texts = [
    "how much does it cost",
    "what is the price of this",
    "the dog chased a cat",
    "",
    "\ud800",
    "😀".repeat(9),
  ];
  const all = await embedder.embedDocuments(texts);
  const row = (i: number) => all.subarray(i * 128, (i + 1) * 128);
  const dot = (a: number, b: number) => row(a).reduce((sum, x, i) => sum + x * row(b)[i]!, 0);
  for (const i of texts.keys()) expect(dot(i, i)).toBeCloseTo(1, 4);
  expect(dot(0, 1)).toBeGreaterThan(dot(0, 2) + 0.2);
  expect(await embedder.embedQueries([texts[1]!])).toEqual(row(1).slice());
  expect(await embedder.embedDocuments([])).toEqual(new Float32Array(0));
});
