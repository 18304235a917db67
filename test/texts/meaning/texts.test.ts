/** Texts that no encoder expects, stored and asked: each row gets a vector, and every call answers. */
import { expect, test } from "bun:test";
import { TEXT_BYTES_MAX } from "../../../src/limits.ts";
import { call } from "../../memory/calls.ts";
import { hasModel, opened } from "./fixture.ts";

const LARGE = TEXT_BYTES_MAX / 4;
const TEXTS: Record<string, string> = {
  word: "a".repeat(LARGE),
  emoji: "😀".repeat(LARGE / 4),
  nul: "\0".repeat(LARGE),
  letters: Array.from({ length: 100_000 }, (_, i) => String.fromCharCode(97 + (i % 26))).join(" "),
  marks: `a${"\u0301".repeat(LARGE / 8)}`,
  ligatures: "\ufdfa".repeat(10_000),
  // What is read of a text ends within a character.
  cut: `${"x".repeat(8191)}😀`,
  marked: "\ufeff".repeat(100),
};

test.skipIf(!hasModel)("unusual texts get vectors, and work as texts and as questions", async () => {
  const memory = await opened();
  const [ids, texts] = [Object.keys(TEXTS), Object.values(TEXTS)];
  const notes = { collection: "notes" };
  await call(memory, "add", { ...notes, texts: ["the plumber repaired the kitchen tap"], ids: ["tap"] });
  await call(memory, "add", { ...notes, texts, ids });
  const built = await (await memory.terminal()).build_meaning(notes, {});
  expect(built).toMatchObject({ texts: texts.length + 1, with_meaning: texts.length + 1 });
  for (const text of texts) {
    for (const query of [text, `mended ${text}`]) {
      const { hits } = await call(memory, "search", { ...notes, query, with_score: true });
      for (const { score } of hits as { score: number }[]) expect(score).toBeFinite();
    }
  }
  const { hits } = await call(memory, "search", { ...notes, query: "who mended the water pipe", top_k: 1 });
  expect(hits).toMatchObject([{ id: "tap" }]);
  for (const half of ["\ud800", "\udc00 and a word"]) {
    const refused = "holds half of a surrogate pair, which UTF-8 cannot hold: remove it";
    await expect(call(memory, "add", { ...notes, texts: [half] })).rejects.toThrow(`texts[0] ${refused}`);
    await expect(call(memory, "search", { ...notes, query: half })).rejects.toThrow(`query ${refused}`);
  }
});
