/** Stores that earlier versions and this one have written are opened, searched, changed, undone and compacted. */
import { expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ValueError } from "../../src/errors.ts";
import type { Collection } from "../../src/store/collection.ts";
import { undo } from "../../src/texts/history/undo.ts";
import { sectionsOf } from "../collection-files.ts";
import { compactKeeping } from "../fault/stores.ts";
import { native, openStore, scratchDir } from "../fixture.ts";
import {
  type Expected,
  GOLDEN,
  goldenStores,
  hitsOf,
  idsWith,
  make,
  meaningOf,
  NAME,
  RECIPES,
  rowsOf,
  UNKNOWN_KEYS,
  VERSION,
} from "./golden.ts";
import { canRead, readByPython } from "./python.ts";
import { hexOf, type Remembered, rememberedBy } from "./saves.ts";

const stores = goldenStores();
const ofSeven = stores.filter((name) => name.startsWith("7/"));

function expectedIn(dir: string): Expected {
  return JSON.parse(readFileSync(join(dir, "expected.json"), "utf8"));
}

function copied(name: string): { dir: string; expected: Expected } {
  const dir = scratchDir();
  cpSync(join(GOLDEN, name), dir, { recursive: true });
  return { dir, expected: expectedIn(dir) };
}

function manifestIn(dir: string) {
  return JSON.parse(readFileSync(join(dir, NAME, "collection.json"), "utf8"));
}

/** The version in the header of each slab that the manifest names. */
function versionsIn(dir: string): Record<string, number> {
  const names: string[] = manifestIn(dir).files.map(({ name }: { name: string }) => name);
  const slabs = names.filter((name) => name.endsWith(".slab"));
  return Object.fromEntries(slabs.map((name) => [name, readFileSync(join(dir, NAME, name)).readUInt32LE(8)]));
}

async function check(dir: string, expected: Expected): Promise<void> {
  const store = await openStore(dir);
  const notes = store.open(NAME);
  expect(JSON.parse(JSON.stringify(rowsOf(notes)))).toEqual(expected.rows);
  for (const { ids, scores, ...asked } of expected.hits) expect(await hitsOf(notes, asked)).toEqual({ ids, scores });
  for (const { word, ids } of expected.words) expect(await idsWith(notes, word)).toEqual(ids);
  expect(meaningOf(notes)).toBe(expected.meaning);
  await notes.verify();
  await store.close();
}

async function checkSaves(dir: string, { saves }: Expected): Promise<void> {
  const store = await openStore(dir);
  if (saves) expect(rememberedBy(store.open(NAME))).toEqual(saves);
}

test("there are golden stores of every version that was released", () => {
  const ofEight = stores.filter((name) => name.startsWith("8/"));
  expect([ofSeven.length, ofEight.length, RECIPES.length]).toEqual([13, 7, 7]);
});

test.each(stores)("%s is read as it was written", async (name) => {
  const { dir, expected } = copied(name);
  await check(dir, expected);
  await checkSaves(dir, expected);
});

test.each(stores)("%s is changed and compacted", async (name) => {
  const { dir, expected } = copied(name);
  const { dim } = manifestIn(dir);
  const store = await openStore(dir);
  const notes = store.open(NAME);
  await notes.add({ ids: ["new"], vectors: new Float32Array(dim).fill(0.5), texts: ["quite new"] });
  expect(notes.ids()).toEqual([...expected.rows.map(({ id }) => id), "new"]);
  expect(await notes.delete(["new"])).toBe(1);
  await notes.compact();
  await store.close();
  await check(dir, expected);
  const manifest = manifestIn(dir);
  expect(manifest).toMatchObject(UNKNOWN_KEYS);
  expect(manifest.generation).toBe(expected.generation + 3);
});

test.each(stores)("%s is compacted while a row is added", async (name) => {
  const { dir, expected } = copied(name);
  const store = await openStore(dir);
  const notes = store.open(NAME);
  const vectors = new Float32Array(manifestIn(dir).dim).fill(0.5);
  const compacted = notes.compactBeside(new AbortController().signal);
  await notes.add({ ids: ["new"], vectors, texts: ["quite new"] });
  expect(await compacted).toBe(true);
  expect(new Set(Object.values(versionsIn(dir)))).toEqual(new Set([8]));
  if (canRead) {
    const { said, rows } = await readByPython(join(dir, NAME));
    expect(said).toBe("");
    expect(rows.map(({ id }) => id)).toEqual([...expected.rows.map(({ id }) => id), "new"]);
  }
  const [added, removed] = [rememberedBy(notes).at(-1)!, await notes.delete(["new"])];
  expect(added.changes.map(({ kind, id }) => `${kind} ${id}`)).toEqual(["added new"]);
  expect(removed).toBe(1);
  await store.close();
  await check(dir, expected);
  expect(manifestIn(dir)).toMatchObject(UNKNOWN_KEYS);
});

test.skipIf(!canRead).each(stores)("%s is read from the files alone (needs python3 with numpy)", async (name) => {
  const { dir, expected } = copied(name);
  const { said, rows, saves } = await readByPython(join(dir, NAME));
  expect(said).toBe("");
  expect(rows.map(({ id, text, created }) => ({ id, text, created }))).toEqual(
    expected.rows.map(({ id, text, created }) => ({ id, text, created })),
  );
  const store = await openStore(dir);
  expect(timeless(saves)).toEqual(timeless(rememberedBy(store.open(NAME))));
});

/** In the files the saves of version 7 have no times. */
function timeless(saves: readonly Remembered[]): Remembered[] {
  return saves.map((save) => ({ ...save, time: null }));
}

/** What each save changed, in words. */
function changesOf(saves: readonly Remembered[]): string[] {
  return saves.map(({ changes }) => changes.map(({ id, kind }) => `${kind} ${id}`).join(", "));
}

/** What the deltas of the stores of version 7 have: those that were compacted have the last save only. */
function changesOfSeven(name: string): string[] {
  const all = ["deleted row 1, deleted row 4", "added later, replaced row 2", "deleted row 6"];
  return name.endsWith("-cosine") ? all.slice(-1) : all;
}

test.each(ofSeven)("%s: what its deltas have changed is its history", async (name) => {
  const { dir, expected } = copied(name);
  const notes = (await openStore(dir)).open(NAME);
  const saves = rememberedBy(notes);
  expect(changesOf(saves)).toEqual(changesOfSeven(name));
  expect(saves.at(-1)!.save).toBe(expected.generation);
  for (const { origin, time, changes } of saves) {
    expect(origin).toBe("");
    expect(time).toBeGreaterThan(Date.now() - 60_000);
    for (const { kind, before } of changes) expect(before === null).toBe(kind === "added");
  }
  expect(readdirSync(join(dir, NAME)).filter((file) => file.startsWith("history-"))).toEqual([]);
});

test.each(ofSeven)("%s: a save without rows leaves it one of version 7", async (name) => {
  const { dir } = copied(name);
  const before = manifestIn(dir);
  const notes = (await openStore(dir)).open(NAME);
  await notes.change(async (t) => t.note("other", 1));
  const after = manifestIn(dir);
  expect(before.superseded).toBeDefined();
  expect([after.format_version, after.files, after.superseded]).toEqual([7, before.files, undefined]);
});

test.each(ofSeven)("%s: two processes save rows to it in turn", async (name) => {
  const { dir, expected } = copied(name);
  const both = [(await openStore(dir)).open(NAME), (await openStore(dir)).open(NAME)];
  const vectors = new Float32Array(manifestIn(dir).dim).fill(0.5);
  for (const [i, notes] of both.entries()) await notes.add({ ids: [`new ${i}`], vectors, texts: [`new ${i}`] });
  await both[0]!.delete(["new 1"]);
  for (const notes of both) {
    expect(notes.ids()).toEqual([...expected.rows.map(({ id }) => id), "new 0"]);
    expect(changesOf(rememberedBy(notes)).slice(-3)).toEqual(["added new 0", "added new 1", "deleted new 1"]);
  }
  expect(Object.values(versionsIn(dir)).filter((version) => version === 8)).toEqual([8]);
});

/** Undoes everything that is remembered, save by save, the latest first. */
async function undoAll(notes: Collection): Promise<string[]> {
  const done: string[] = [];
  const lists = ["restored", "reverted", "removed", "changed", "lost"] as const;
  for (;;) {
    try {
      const undone = await undo(notes);
      done.push(lists.flatMap((list) => undone[list].map((id) => `${list} ${id}`)).join(", "));
    } catch (error) {
      expect(error).toBeInstanceOf(ValueError);
      return done;
    }
  }
}

test.each(ofSeven)("%s: its saves are undone, in a delta of version 8, and move to a history", async (name) => {
  const { dir, expected } = copied(name);
  const notes = (await openStore(dir)).open(NAME);
  const before = { saves: rememberedBy(notes), versions: versionsIn(dir), files: manifestIn(dir).files };
  const undone = ["restored row 1, restored row 4", "reverted row 2, removed later", "restored row 6"];
  expect(await undoAll(notes)).toEqual(undone.slice(-changesOfSeven(name).length).reverse());
  const ids = new Set(notes.ids());
  for (const { changes } of before.saves) {
    for (const { id, kind, before: row } of changes) {
      expect(ids.has(id)).toBe(kind !== "added");
      if (row === null) continue;
      const [live] = notes.get([id], { text: true, vector: true, times: true });
      const { text, vector, times } = live!;
      expect<unknown[]>([text, hexOf(vector!), times!.created]).toEqual([row.text, row.vector, row.created]);
    }
  }

  // A program that reads version 7 only refuses the manifest, and the delta beside those that it had.
  expect(manifestIn(dir).format_version).toBe(8);
  const fresh = `delta-${(expected.generation + 1).toString(16).padStart(16, "0")}.slab`;
  expect(versionsIn(dir)).toEqual({ ...before.versions, [fresh]: 8 });
  expect(new Set(Object.values(before.versions))).toEqual(new Set([7]));
  expect(manifestIn(dir).files).toEqual(
    expect.arrayContaining(before.files.filter(({ name }: { name: string }) => name.endsWith(".slab"))),
  );

  const saves = rememberedBy(notes);
  expect(timeless(saves.slice(0, before.saves.length))).toEqual(timeless(before.saves));
  const rows = rowsOf(notes);
  await compactKeeping(notes);
  const { generation } = manifestIn(dir);
  const roles = Object.keys(versionsIn(dir)).map((file) => file.replace(/-.*/, ""));
  expect(roles).toEqual(
    name.endsWith("texts") ? ["base", "lexical", "history"] : ["base", "ivf", "lexical", "history"],
  );
  expect(versionsIn(dir)[`history-${generation.toString(16).padStart(16, "0")}.slab`]).toBe(8);
  expect(rowsOf(notes)).toEqual(rows);
  expect(rememberedBy(notes)).toEqual(saves);
  if (!canRead) return;
  const read = await readByPython(join(dir, NAME));
  expect(read.said).toBe("");
  expect(read.saves).toEqual(saves);
});

/** What version 8 adds, in a folder: kinds of files, and the sections that the FORMAT.md's Versions name. */
function addedIn(dir: string): string[] {
  const sections: Record<string, Record<number, string>> = {
    base: { 28: "sparse runs", 29: "table of symbols", 30: "coded texts" },
    ivf: { 2: "signs" },
  };
  return Object.keys(versionsIn(dir)).flatMap((file) => {
    const role = file.replace(/-.*/, "");
    if (role === "meaning" || role === "history") return [role];
    if (role === "delta") return [];
    return sectionsOf(join(dir, NAME, file)).flatMap(({ id }) => sections[role]?.[id] ?? []);
  });
}

test("the golden stores of version 8 have everything that it adds", () => {
  const added = new Set(RECIPES.flatMap(({ name }) => addedIn(join(GOLDEN, "8", name))));
  expect([...added].sort()).toEqual(["coded texts", "history", "meaning", "signs", "sparse runs", "table of symbols"]);
});

test.each(RECIPES.filter(({ name }) => /^int8|texts$/.test(name)))(
  "$name: a store that is made as the golden ones were is read as it was written",
  async (recipe) => {
    const dir = scratchDir();
    await make(dir, recipe, await native(), 1);
    const expected = expectedIn(dir);
    expect(manifestIn(dir).format_version).toBe(VERSION);
    expect(changesOf(expected.saves!).slice(1)).toEqual(changesOfSeven("all"));
    await check(dir, expected);
    await checkSaves(dir, expected);
  },
);
