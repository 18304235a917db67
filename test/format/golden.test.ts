/** Stores that earlier versions and this one have written are opened, searched, changed and compacted. */
import { expect, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openStore, scratchDir } from "../fixture.ts";
import { type Expected, GOLDEN, goldenStores, hitsOf, idsWith, NAME, rowsOf, UNKNOWN_KEYS } from "./golden.ts";
import { canRead, readByPython } from "./python.ts";

const stores = goldenStores();

function copied(name: string): { dir: string; expected: Expected } {
  const dir = scratchDir();
  cpSync(join(GOLDEN, name), dir, { recursive: true });
  return { dir, expected: JSON.parse(readFileSync(join(dir, "expected.json"), "utf8")) };
}

async function check(dir: string, expected: Expected): Promise<void> {
  const store = await openStore(dir);
  const notes = store.open(NAME);
  expect(JSON.parse(JSON.stringify(rowsOf(notes)))).toEqual(expected.rows);
  for (const { ids, scores, ...asked } of expected.hits) expect(await hitsOf(notes, asked)).toEqual({ ids, scores });
  for (const { word, ids } of expected.words) expect(await idsWith(notes, word)).toEqual(ids);
  await notes.verify();
  await store.close();
}

test("there are golden stores of this version", () => {
  expect(stores.filter((name) => name.startsWith("7/")).length).toBeGreaterThanOrEqual(13);
});

test.each(stores)("%s is read as it was written", async (name) => {
  const { dir, expected } = copied(name);
  await check(dir, expected);
});

test.each(stores)("%s is changed and compacted", async (name) => {
  const { dir, expected } = copied(name);
  const { dim } = JSON.parse(readFileSync(join(dir, NAME, "collection.json"), "utf8"));
  const store = await openStore(dir);
  const notes = store.open(NAME);
  await notes.add({ ids: ["new"], vectors: new Float32Array(dim).fill(0.5), texts: ["quite new"] });
  expect(notes.ids()).toEqual([...expected.rows.map(({ id }) => id), "new"]);
  expect(await notes.delete(["new"])).toBe(1);
  await notes.compact();
  await store.close();
  await check(dir, expected);
  const manifest = JSON.parse(readFileSync(join(dir, NAME, "collection.json"), "utf8"));
  expect(manifest).toMatchObject(UNKNOWN_KEYS);
  expect(manifest.generation).toBe(expected.generation + 3);
});

test.skipIf(!canRead).each(stores)("%s is read from the files alone (needs python3 with numpy)", async (name) => {
  const { dir, expected } = copied(name);
  const { said, rows } = await readByPython(join(dir, NAME));
  expect(said).toBe("");
  expect(rows.map(({ id, text, created }) => ({ id, text, created }))).toEqual(
    expected.rows.map(({ id, text, created }) => ({ id, text, created })),
  );
});
