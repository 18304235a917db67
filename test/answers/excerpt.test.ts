/** Which piece of a text is shown for a question. */
import { beforeAll, describe, expect, test } from "bun:test";
import { excerpt } from "../../src/answers/excerpt.ts";
import type { Collection } from "../../src/store/collection.ts";
import { Put } from "../../src/store/writer.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { native, openStore } from "../fixture.ts";
import { random } from "../random.ts";
import { brokenText, randomText } from "./texts.ts";

const ALL = Number.MAX_SAFE_INTEGER;
let texts: Collection;
beforeAll(async () => {
  const embedder = new MultigramEmbedder((await native()).kernel);
  const { profile } = embedder;
  texts = (await openStore()).create("texts", { dim: profile.dimension, embedderProfile: profile });
  await putTexts(texts, embedder, "add", { ids: ["a"], texts: ["something else"], metadata: [undefined] }, {});
});
/** By words that no row has are not looked for: the text is a row. */
async function passageOf(text: string, question: string) {
  await texts.change((t) =>
    t.put(Put.UPSERT, { ids: ["text"], texts: [text.toWellFormed()], vectors: new Float32Array(texts.schema.dim) }),
  );
  return texts.passages(question, undefined, [text])[0];
}
async function shown(text: string, question: string, bytes = 300, searched = ALL): Promise<string> {
  const { start, end } = excerpt(text, await passageOf(text.slice(0, searched), question), bytes);
  return text.slice(start, end);
}
const filler = (lines: number) =>
  Array.from({ length: lines }, (_, i) => `line ${i} of an old log that says nothing new about the system`).join("\n");

describe("the piece", () => {
  test("is the one with the question's words, wherever it is", async () => {
    for (const [before, after] of [
      [0, 400],
      [200, 200],
      [400, 0],
    ] as const) {
      const text = `${filler(before)}\nThe writer's lock times out after thirty seconds.\n${filler(after)}`;
      expect(await shown(text, "how long is the timeout of a writer lock")).toContain(
        "lock times out after thirty seconds",
      );
    }
  });

  test("counts a rare word more than common ones", async () => {
    const text = `${filler(100)}\nwe use sodium for old systems\n${filler(100)}`;
    expect(await shown(text, "an old log about the system sodium")).toContain("sodium");
  });

  test("prefers the line that has most of the words", async () => {
    const text = `error in module a\n${filler(60)}\ntimeout here\n${filler(60)}\nan error: timeout of module b\n${filler(60)}`;
    expect(await shown(text, "timeout error")).toContain("an error: timeout of module b");
  });

  test("of one line without any break is near its words too", async () => {
    const text = `${"lorem ipsum dolor sit amet ".repeat(4000)}the quokka sleeps ${"consectetur elit sed ".repeat(4000)}`;
    expect(await shown(text, "quokka")).toContain("the quokka sleeps");
    expect(await shown("x".repeat(50_000) + " quokka " + "y".repeat(50_000), "quokka")).toContain("quokka");
    expect(await shown(`${"话".repeat(9000)}数据库连接${"话".repeat(9000)}`, "数据库")).toContain("数据库连接");
    expect(await shown(`${"话".repeat(9000)}\n${"话".repeat(220)}数据库连接`, "数据库")).toContain("数据库连接");
  });

  test("begins at the beginning where no word is found, or none in the part that is searched", async () => {
    const text = filler(100);
    expect(text.startsWith(await shown(text, "zebra"))).toBe(true);
    const late = `${filler(300)}\nquokka`;
    expect(late.startsWith(await shown(late, "quokka", 300, 5000))).toBe(true);
  });

  test("begins and ends between lines where these are short, else between words", async () => {
    const text = `${filler(100)}\nthe quokka sleeps\n${filler(100)}`;
    const lines = text.split("\n").map((line) => `${line}\n`);
    for (const line of (await shown(text, "quokka", 900)).split(/(?<=\n)/)) expect(lines).toContain(line);
  });

  test("uses the room at the text's end", async () => {
    const text = `${filler(100)}\nthe quokka sleeps`;
    expect((await shown(text, "quokka", 1000)).length).toBeGreaterThan(800);
  });
});

test.each(Array.from({ length: 30 }, (_, seed) => seed))(
  "random text %d: in the text, within the bytes",
  async (seed) => {
    const next = random(seed);
    const question = randomText(next, 4);
    for (let round = 0; round < 40; round++) {
      const text = next() < 0.3 ? brokenText(next, 60) : randomText(next, 60);
      const bytes = Math.floor(next() * 700);
      const searched = next() < 0.5 ? text : text.slice(0, 500);
      const { start, end } = excerpt(text, await passageOf(searched, question), bytes);
      expect(start).toBeGreaterThanOrEqual(0);
      expect(end).toBeGreaterThanOrEqual(start);
      const piece = text.slice(start, end);
      expect(Buffer.byteLength(JSON.stringify(piece)) - 2).toBeLessThanOrEqual(bytes);
      if (text.isWellFormed()) expect(piece.isWellFormed()).toBe(true);
    }
  },
);

test("what costs most ends soon: a text of 8 MB with every word of the question everywhere", async () => {
  const query = Array.from({ length: 48 }, (_, i) => `word${i}x`).join(" ");
  const text = `${query} `.repeat(Math.ceil((8 << 20) / (query.length + 1)));
  expect((await shown(text, query, 1000)).length).toBeGreaterThan(500);
});
