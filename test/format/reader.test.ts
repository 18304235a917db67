/** A reader in another language, written from FORMAT.md and reading the files alone, sees the same rows and saves. */
import { expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Put } from "../../ffi/ty_collection.ts";
import { OSError } from "../../src/errors.ts";
import { withOrigin } from "../../src/origin.ts";
import type { Transaction } from "../../src/store/collection.ts";
import { encodeKey } from "../../src/store/filter.ts";
import type { Rows } from "../../src/store/pack.ts";
import { Store } from "../../src/store/store.ts";
import { fileWith, sectionsOf } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { compactKeeping, makeStore, NAME, RECIPES } from "../fault/stores.ts";
import { contents, native, openStore, scratchDir } from "../fixture.ts";
import { canRead, readByPython } from "./python.ts";
import { hexOf, type Remembered, rememberedBy } from "./saves.ts";

/** What the store says of all rows and saves, in the reader's form. */
async function readByStore(dir: string): Promise<{ rows: Record<string, unknown>[]; saves: Remembered[] }> {
  const store = new Store(dir, (await native()).env, "0.0.0-test");
  const notes = store.open(NAME);
  const rows = notes.get(notes.ids(), { metadata: true, text: true, vector: true, times: true });
  const { filterColumns } = notes.schema;
  const saves = rememberedBy(notes);
  await store.close();
  const read = rows.map(({ id, metadata, text, vector, times }) => ({
    id,
    metadata: metadata ?? null,
    text: text ?? null,
    vector: hexOf(vector!),
    ...times,
    values: filterColumns.map((column) => Buffer.from(encodeKey(metadata?.[column])).toString("hex")),
  }));
  return { rows: read, saves };
}

function historiesOf(dir: string): string[] {
  return readdirSync(join(dir, NAME)).filter((name) => name.startsWith("history-"));
}

/** Both read the same; resolves to it. */
async function checkRead(dir: string): Promise<{ rows: Record<string, unknown>[]; saves: Remembered[] }> {
  const { said, ...read } = await readByPython(join(dir, NAME));
  expect(said).toBe("");
  expect(read).toEqual(await readByStore(dir));
  return read;
}

test.skipIf(!canRead).each(RECIPES.map((recipe) => [recipe.name, recipe] as const))(
  "%s is read from the files alone (needs python3 with numpy)",
  async (_, recipe) => {
    const { states } = await makeStore(scratchDir(), recipe, await native(), 3);
    // As it was first saved, and with deltas after a base that was made again.
    for (const state of [states[0]!, states.at(-1)!]) await checkRead(state);
    const sections = sectionsOf(fileWith(join(states.at(-1)!, NAME), "base-")).map(({ id }) => id);
    expect(sections.includes(29)).toBe(recipe.name === "blocks"); // it has 190 KB of texts, which are coded
    const store = await openStore(states.at(-1)!);
    await compactKeeping(store.open(NAME));
    const { saves } = await checkRead(states.at(-1)!);
    const kinds = saves.map(({ changes }) => changes.map(({ kind }) => kind));
    const of = (kind: string, count: number) => Array(count).fill(kind);
    const wanted = [of("added", recipe.rows), of("deleted", 2), of("added", 5), of("replaced", 6), of("deleted", 2)];
    expect(kinds).toEqual(wanted);
    expect(historiesOf(states.at(-1)!)).toHaveLength(1);
  },
);

/** Rows of the texts of a collection that stores vectors of three dimensions. */
function rowsOf(texts: Record<string, string>, further: Partial<Rows> = {}): Rows {
  const list = Object.values(texts);
  const vectors = Float32Array.from(list.flatMap((text) => [text.length, 0, -1 / text.length]));
  return { ids: Object.keys(texts), texts: list, vectors, ...further };
}

const DIMENSIONS = { dim: 3, dtype: "f32", metric: "l2", partitionBy: "scope", lexical: true } as const;

test.skipIf(!canRead)(
  "what a save does to an id again and again is one change (needs python3 with numpy)",
  async () => {
    const dir = scratchDir();
    const store = await openStore(dir);
    const notes = store.create(NAME, DIMENSIONS);
    const put = (t: Transaction, texts: Record<string, string>, further?: Partial<Rows>) =>
      t.put(Put.UPSERT, rowsOf(texts, further));
    await notes.change(async (t) => void (await put(t, { a: "one", b: "two", c: "three", d: "four" })));
    await notes.change(async (t) => {
      await put(t, { a: "one again", new: "new" });
      await put(t, { a: "one and again", brief: "brief", new: "newer" });
      await t.delete(["brief", "b"]);
      await put(t, { b: "two is back", c: "three again" });
      await t.delete(["c"]);
      t.note("any", 1);
    });
    // Without their texts rows cannot be put back: they are not remembered.
    await notes.change(async (t) => void (await put(t, { d: "in a file", file: "in another" }, { dropText: true })));
    await notes.change(async (t) => void (await put(t, { file: "with its text" })));
    const check = async () => {
      const { saves } = await checkRead(dir);
      const found = saves.map(({ save, changes }) => [save, changes.map(({ id, kind }) => `${kind} ${id}`).join(", ")]);
      const second = "replaced a, added new, deleted b, added b, deleted c";
      expect(found).toEqual([
        [1, "added a, added b, added c, added d"],
        [2, second],
        [3, "replaced d"],
      ]);
      expect(saves[1]!.changes.map(({ before }) => before?.text)).toEqual([
        "one",
        undefined,
        "two",
        undefined,
        "three",
      ]);
    };
    await check();
    await compactKeeping(notes);
    await check();
    expect(await notes.purge(["a", "c"])).toBe(1);
    const { saves } = await checkRead(dir);
    const ids = saves.map(({ changes }) => changes.map(({ id }) => id));
    expect(ids).toEqual([["b", "d"], ["new", "b", "b"], ["d"]]);
    expect(historiesOf(dir)).toHaveLength(1);
    for (const file of Object.values(contents(join(dir, NAME)))) {
      expect(Buffer.from(file, "base64").includes("three")).toBe(false);
    }
  },
);

test.skipIf(!canRead)("origins and times are those that were saved (needs python3 with numpy)", async () => {
  const dir = scratchDir();
  const store = await openStore(dir);
  const notes = store.create(NAME, DIMENSIONS);
  const by = (client: string, id: string, further?: Partial<Rows>) =>
    withOrigin({ client }, () => notes.upsert(rowsOf({ [id]: `of ${client}` }, further)));
  await by("first", "a");
  await by("first", "b", { created: BigUint64Array.of(1000n), updated: BigUint64Array.of(2000n) });
  await by("first", "b", { created: BigUint64Array.of(500n), updated: BigUint64Array.of(3000n) });
  await notes.delete(["a"]);
  await by("é", "c");
  const [first, unknown, last] = [`{"client":"first"}`, "", `{"client":"é"}`];
  for (const isRewritten of [false, true]) {
    if (isRewritten) await compactKeeping(notes);
    const { rows, saves } = await checkRead(dir);
    expect(saves.map(({ origin }) => origin)).toEqual([first, first, first, unknown, last]);
    // A replacement keeps the created of the row before it.
    expect(rows[0]).toMatchObject({ id: "b", created: 1000, updated: 3000 });
    expect(saves[2]!.changes[0]!.before).toMatchObject({ created: 1000, updated: 2000 });
  }
});

test.skipIf(!canRead)("a damaged row stays one, without the others (needs python3 with numpy)", async () => {
  const dir = scratchDir();
  const store = await openStore(dir);
  const notes = store.create(NAME, DIMENSIONS);
  await notes.upsert(rowsOf({ a: "the first", b: "the second" }));
  await notes.delete(["a", "b"]);
  await compactKeeping(notes);
  await store.close();
  const path = join(dir, NAME, historiesOf(dir)[0]!);
  const file = readFileSync(path);
  file[file.indexOf("the second")]! ^= 1;
  writeFileSync(path, file);
  damaged(join(dir, NAME));
  expect((await readByPython(join(dir, NAME))).said).toContain("section 4 of history-");
  const again = await openStore(dir);
  await compactKeeping(again.open(NAME));
  const { saves } = await checkRead(dir);
  expect(saves[1]!.changes.map(({ before }) => before?.text)).toEqual(["the first", undefined]);
});

test("a collection is open without a history that is damaged or missing, and a rewrite begins a new one", async () => {
  const made = scratchDir();
  const store = await openStore(made);
  await store.create(NAME, DIMENSIONS).upsert(rowsOf({ a: "the first" }));
  await store.open(NAME).delete(["a"]);
  await store.open(NAME).upsert(rowsOf({ b: "the second" }));
  await compactKeeping(store.open(NAME));
  await store.close();
  const [name] = historiesOf(made);
  const written = readFileSync(join(made, NAME, name!));
  // The header, the table, the first byte of each section, and a file that is not there.
  const places = [0, 40, 70, ...Array.from({ length: 6 }, (_, i) => Number(written.readBigUInt64LE(64 + 32 * i + 8)))];
  for (const at of [...places, undefined]) {
    const dir = scratchDir();
    cpSync(made, dir, { recursive: true });
    damaged(join(dir, NAME));
    const path = join(dir, NAME, name!);
    if (at === undefined) rmSync(path);
    else
      writeFileSync(
        path,
        written.map((byte, i) => (i === at ? byte ^ 1 : byte)),
      );
    const notes = (await openStore(dir)).open(NAME);
    expect(notes.ids()).toEqual(["b"]);
    // Rows are compared one by one, and the checksums of blocks are not needed for them.
    const isRows = at === places[6];
    if (isRows || at === places[8]) expect(notes.saves()).toHaveLength(3);
    else expect(() => notes.saves()).toThrow(OSError);
    await expect(notes.verify()).rejects.toThrow("history-");
    await compactKeeping(notes);
    await notes.upsert(rowsOf({ c: "the third" }));
    expect(notes.saves().length).toBeGreaterThanOrEqual(1);
    await notes.verify();
  }
});

test.skipIf(!canRead)("the note says how many days count, 0 for no history (needs python3 with numpy)", async () => {
  const dir = scratchDir();
  const store = await openStore(dir);
  const notes = store.create(NAME, DIMENSIONS);
  await notes.upsert(rowsOf({ a: "the first" }));
  await notes.delete(["a"]);
  await notes.change(async (t) => t.note("history", { days: 0, percent: 25 }));
  expect((await checkRead(dir)).saves).toEqual([]);
  await compactKeeping(notes);
  expect(historiesOf(dir)).toEqual([]);
  await notes.change(async (t) => t.note("history", { days: 1, percent: 0 }));
  await notes.upsert(rowsOf({ b: "the second" }));
  await compactKeeping(notes);
  expect((await checkRead(dir)).saves).toHaveLength(1);
});

test.skipIf(!canRead)("the reader refuses what differs from what was written (needs python3 with numpy)", async () => {
  const { states } = await makeStore(scratchDir(), RECIPES[0]!, await native(), 3);
  const folder = join(states.at(-1)!, NAME);
  for (const name of readdirSync(folder).filter((file) =>
    /^(base|delta|ivf|lexical|history)-|^collection/.test(file),
  )) {
    const path = join(folder, name);
    const file = readFileSync(path);
    const changed = Buffer.from(file);
    changed[(file.length >> 1) & ~63]! ^= 1;
    writeFileSync(path, changed);
    expect((await readByPython(folder)).said).not.toBe("");
    writeFileSync(path, file);
  }
});
