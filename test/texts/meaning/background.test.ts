import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { Store } from "../../../src/store/store.ts";
import { BackgroundFiller } from "../../../src/texts/meaning/background.ts";
import { fill } from "../../../src/texts/meaning/fill.ts";
import { native, scratchDir } from "../../fixture.ts";
import { call } from "../../memory/calls.ts";
import { closedAtEnd } from "../../opened.ts";
import { encoder, hasModel, opened, sentences, until } from "./fixture.ts";

const background = { background: true };
const notes = { collection: "notes" };

/** A store on a memory, in which nothing is filled by itself. */
async function looker(dir: string) {
  const store = closedAtEnd(new Store(dir, (await native()).env, "0.0.0-test"));
  return () => store.open("notes").stats();
}

test.skipIf(!hasModel)("a process that stays fills what it uses, while no call runs", async () => {
  const dir = scratchDir();
  const memory = await opened(dir, { filling: background });
  await call(memory, "add", { ...notes, texts: sentences(300) });
  const look = await looker(dir);
  expect(look()).toMatchObject({ text_rows: 300, meaning_rows: 0 });
  await until(() => look().meaning_rows === 300);
});

test.skipIf(!hasModel)("a call stops it, and it goes on afterwards", async () => {
  const dir = scratchDir();
  const memory = await opened(dir, { filling: background });
  const long = Array.from(
    { length: 60 },
    (_, i) =>
      `${sentences(60)
        .slice(i, i + 40)
        .join(". ")} ${i}`,
  );
  await call(memory, "add", { ...notes, texts: long });
  const look = await looker(dir);
  await Bun.sleep(700);
  await call(memory, "search", { ...notes, query: "who painted the fence" });
  await call(memory, "delete", { ...notes, ids: ["none"] });
  await until(() => look().meaning_rows === look().text_rows);
  expect(look().text_rows).toBe(60);
});

test.skipIf(!hasModel)("two processes that fill one collection do each row once, or give way", async () => {
  const dir = scratchDir();
  const [one, two] = [await opened(dir, { filling: background }), await opened(dir, { filling: background })];
  await call(one, "add", { ...notes, texts: sentences(600) });
  await call(two, "count", notes);
  const look = await looker(dir);
  await until(() => look().meaning_rows === 600);
  // A record of each row, with the heads of the file's blocks.
  expect(look().meaning_bytes).toBeLessThan(600 * 144 + 2048);
});

test.skipIf(!hasModel)("a process that ends fills the rows that it put, the last first", async () => {
  const dir = scratchDir();
  const first = await opened(dir);
  await call(first, "add", { ...notes, texts: sentences(20) });
  await first.close();
  const look = await looker(dir);
  expect(look()).toMatchObject({ text_rows: 20, meaning_rows: 0 });
  const second = await opened(dir, { filling: { atClose: true } });
  await call(second, "add", { ...notes, texts: sentences(11) });
  await second.close();
  expect(look()).toMatchObject({ text_rows: 31, meaning_rows: 11 });
  const reader = await opened(dir, { filling: { atClose: true } });
  await call(reader, "count", notes);
  await reader.close();
  expect(look()).toMatchObject({ meaning_rows: 11 });
});

test.skipIf(!hasModel)("a full disk fails no call: it is reported once, and the collection is as it was", async () => {
  const dir = scratchDir();
  const { env } = await native();
  const failures: [string, unknown][] = [];
  const filling = { background: true, onFailed: (name: string, error: unknown) => failures.push([name, error]) };
  const memory = await opened(dir, { filling });
  await call(memory, "add", { ...notes, texts: sentences(9) });
  env.testFail(1, constants.errno.ENOSPC, true);
  try {
    await until(() => failures.length > 0);
    await Bun.sleep(700);
  } finally {
    env.testFail(0, 0, false);
  }
  expect(failures).toEqual([
    ["notes", expect.objectContaining({ message: expect.stringContaining("the disk is full") })],
  ]);
  expect(await call(memory, "search", { ...notes, query: "plumber", top_k: 1 })).toMatchObject({ hits: [{}] });
  expect((await looker(dir))()).toMatchObject({ text_rows: 9, meaning_rows: 0 });
});

test.skipIf(!hasModel)("a collection that another process holds, or drops, is left alone", async () => {
  const dir = scratchDir();
  const memory = await opened(dir);
  await call(memory, "add", { ...notes, texts: sentences(10) });
  const { env } = await native();
  const [ours, theirs] = [0, 1].map(() => closedAtEnd(new Store(dir, env, "0.0.0-test")));
  const filler = new BackgroundFiller(await encoder(), {
    background: true,
    onFailed: (_, error) => expect(error).toBeUndefined(),
  });
  const [collection, other] = [ours!.open("notes"), theirs!.open("notes")];
  await other.stage((t) => t.delete([other.ids()[0]!]));
  filler.used(collection);
  await Bun.sleep(1200);
  expect(collection.stats().meaning_rows).toBe(0);
  await other.save();
  await until(() => collection.stats().meaning_rows === 9);
  theirs!.discard("notes");
  filler.used(collection);
  await Bun.sleep(700);
  await filler.close(0);
});

test.skipIf(!hasModel)("a collection of format 7 is read, and filled", async () => {
  const dir = scratchDir();
  cpSync(join(import.meta.dir, "../../format/golden/7/texts/notes"), join(dir, "notes"), { recursive: true });
  const store = closedAtEnd(new Store(dir, (await native()).env, "0.0.0-test"));
  const collection = store.open("notes");
  const { text_rows, meaning_rows } = collection.stats();
  expect([text_rows > 0, meaning_rows]).toEqual([true, 0]);
  await expect(fill(collection, await encoder())).rejects.toThrow("it has another embedder, or none");
  await (await encoder()).load();
  const batch = await collection.encodeMeaning(text_rows, new Uint32Array(1), false);
  await collection.change(async (t) => t.putMeaning(batch));
  expect(collection.stats().meaning_rows).toBe(text_rows);
});
