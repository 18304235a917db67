import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../../src/api/local-store.ts";
import { Store } from "../../../src/store/store.ts";
import { fill } from "../../../src/texts/meaning/fill.ts";
import { isMeaningOn, setMeaning } from "../../../src/texts/meaning/setting.ts";
import { native, scratchDir } from "../../fixture.ts";
import { call } from "../../memory/calls.ts";
import { closedAtEnd } from "../../opened.ts";
import { encoder, hasModel, opened, sentences } from "./fixture.ts";

const files = (dir: string) => readdirSync(join(dir, "notes")).filter((name) => name.startsWith("meaning-"));
const statsOf = async (memory: Awaited<ReturnType<typeof opened>>) =>
  (await call(memory, "stats", { collection: "notes" })).stats as Record<string, unknown>;

test.skipIf(!hasModel)("short texts of a small call have their vectors at once, others not", async () => {
  const memory = await opened();
  await call(memory, "add", { collection: "notes", texts: sentences(8) });
  expect(await statsOf(memory)).toMatchObject({ meaning: "on", text_rows: 8, meaning_rows: 8 });
  await call(memory, "upsert", { collection: "notes", texts: ["a boat"], ids: ["boat"] });
  await call(memory, "update", { collection: "notes", texts: ["the boat is sold"], ids: ["boat"] });
  expect(await statsOf(memory)).toMatchObject({ text_rows: 9, meaning_rows: 9 });
  await call(memory, "add", { collection: "notes", texts: [sentences(30).join(" ")] });
  await call(memory, "add", { collection: "notes", texts: sentences(9) });
  expect(await statsOf(memory)).toMatchObject({ text_rows: 19, meaning_rows: 9 });
});

test.skipIf(!hasModel)("off removes the vectors and keeps others from being made; on makes them again", async () => {
  const dir = scratchDir();
  const memory = await opened(dir);
  await call(memory, "add", { collection: "notes", texts: sentences(3) });
  expect(files(dir)).toHaveLength(1);
  const terminal = await memory.terminal();
  await terminal.set_meaning({ collection: "notes", meaning: false }, {});
  expect(files(dir)).toEqual([]);
  await call(memory, "add", { collection: "notes", texts: sentences(3) });
  expect(await statsOf(memory)).toMatchObject({ meaning: "off", text_rows: 6, meaning_rows: 0, meaning_bytes: 0 });
  await expect(terminal.build_meaning({ collection: "notes" }, {})).rejects.toThrow(
    "meaning is off for collection 'notes': 'svc mem alter notes --meaning on' turns it on",
  );
  await call(memory, "compact", { collection: "notes" });
  await terminal.set_meaning({ collection: "notes", meaning: true }, {});
  expect(await terminal.build_meaning({ collection: "notes" }, {})).toEqual({
    meaning_built: "notes",
    texts: 6,
    with_meaning: 6,
    added: 6,
  });
});

test.skipIf(!hasModel)(
  "a process that is off makes no vectors, and what it answers does not depend on them",
  async () => {
    const dir = scratchDir();
    const memory = await opened(dir);
    const off = await opened(dir, { native: { ...(await native()), model: undefined } });
    await call(off, "add", { collection: "notes", texts: sentences(5), ids: ["a", "b", "c", "d", "e"] });
    expect(files(dir)).toEqual([]);
    const ask = () =>
      call(off, "search", { collection: "notes", query: "who mended the water pipe", with_score: true });
    const before = await ask();
    await (await memory.terminal()).build_meaning({ collection: "notes" }, {});
    expect(await statsOf(memory)).toMatchObject({ meaning_rows: 5 });
    expect(await ask()).toEqual(before);
    await expect((await off.terminal()).build_meaning({ collection: "notes" }, {})).rejects.toThrow(
      "SVC_MEANING is off",
    );
  },
);

test.skipIf(!hasModel)("collections of other embedders, of vectors and of repositories have none", async () => {
  const dir = scratchDir();
  const store = closedAtEnd(new LocalStore(dir, await native(), "0.0.0-test"));
  const words = await store.createCollection("words", { embedder: "bigram" });
  await words.addTexts(sentences(2));
  const meant = await store.createCollection("meant", { embedder: "sentence" });
  await meant.addTexts(sentences(2));
  await meant.save();
  expect((await meant.searchText("a plumber", { topK: 1 })).ids).toHaveLength(1);
  const raw = await store.createCollection("raw", { dim: 3 });
  await raw.add([[1, 2, 3]]);
  for (const one of [words, meant, raw]) {
    await one.save();
    const { meaning, meaning_rows, ...others } = await one.stats();
    expect([meaning, meaning_rows, "meaning_bytes" in others]).toEqual([undefined, undefined, false]);
    await expect(store.alterCollection(one.name, { meaning: true })).rejects.toThrow(
      `collection '${one.name}' cannot be searched by meaning: it has another embedder, or none`,
    );
    expect(await store.alterCollection(one.name, { meaning: false })).toMatchObject({ altered: false, meaning: false });
    expect(existsSync(join(dir, one.name, "collection.json"))).toBe(true);
  }
});

test.skipIf(!hasModel)(
  "compactions, copies, renames and restores keep the vectors, and an alteration keeps the setting",
  async () => {
    const dir = scratchDir();
    const store = closedAtEnd(new LocalStore(dir, await native(), "0.0.0-test"));
    const rowsOf = async (name: string) => (await store.collection(name).stats()).meaning_rows;
    const notes = await store.createCollection("notes", { embedder: "multigram" });
    await notes.addTexts(sentences(7));
    await notes.save();
    await notes.compact();
    expect(await rowsOf("notes")).toBe(7);
    const { explain } = await notes.searchText("who mended the water pipe", { topK: 2, explain: true });
    expect(explain).toMatchObject({ meaning_scores: [expect.any(Number), expect.any(Number)] });
    expect(explain!.meaning_weight).toBeGreaterThan(0);
    const copies = scratchDir();
    await store.backup(join(copies, "b"));
    await store.renameCollection("notes", "renamed");
    expect(await rowsOf("renamed")).toBe(7);
    await store.restore(join(copies, "b"));
    expect(await rowsOf("notes")).toBe(7);
    expect(await store.alterCollection("notes", { meaning: false })).toMatchObject({ altered: true, meaning: false });
    expect(await store.alterCollection("notes", { lexical: true })).toMatchObject({ altered: true, meaning: false });
    expect(await rowsOf("notes")).toBe(0);
  },
);

test.skipIf(!hasModel)("a stopped fill keeps what it has made", async () => {
  const dir = scratchDir();
  const memory = await opened(dir);
  await call(memory, "add", { collection: "notes", texts: sentences(20) });
  const collection = closedAtEnd(new Store(dir, (await native()).env, "0.0.0-test")).open("notes");
  const controller = new AbortController();
  const onProgress = (done: number) => done >= 10 && controller.abort();
  const filling = fill(collection, await encoder(), { signal: controller.signal, onProgress }, 5);
  await expect(filling).rejects.toThrow(/^interrupted; 10 of 20 texts have their vectors of meaning, which are saved$/);
  expect(await statsOf(memory)).toMatchObject({ text_rows: 20, meaning_rows: 10 });
});

test.skipIf(!hasModel)("meaning that another process turns off while one fills stays off", async () => {
  const dir = scratchDir();
  const memory = await opened(dir);
  await call(memory, "add", { collection: "notes", texts: sentences(20) });
  const { env } = await native();
  const [ours, theirs] = [0, 1].map(() => closedAtEnd(new Store(dir, env, "0.0.0-test")).open("notes"));
  const one = await encoder();
  await one.load();
  const batch = await ours!.encodeMeaning(5, new Uint32Array(1), false);
  await setMeaning(theirs!, false);
  expect(await ours!.putMeaningAside(batch, () => isMeaningOn(ours!))).toBe(0);
  expect([files(dir), ours!.stats().meaning_rows]).toEqual([[], 0]);
  await setMeaning(theirs!, true);
  let turned: Promise<void> | undefined;
  const onProgress = (done: number) => {
    if (done >= 10) turned ??= setMeaning(theirs!, false);
  };
  await expect(fill(ours!, one, { onProgress }, 5)).rejects.toThrow("'svc mem alter notes --meaning on' turns it on");
  await turned;
  expect([files(dir), await statsOf(memory)]).toMatchObject([[], { meaning: "off", text_rows: 20, meaning_rows: 0 }]);
});
