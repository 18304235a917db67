/** Collections removed and renamed as a whole, beside other handles that have them open, and what their folders say. */
import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { CancelledError, OSError, ValueError } from "../../src/errors.ts";
import { dropCollection, renameCollection } from "../../src/store/moves.ts";
import type { Store } from "../../src/store/store.ts";
import { damaged } from "../complete-check.ts";
import { openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const rows = (...ids: string[]) => ({ ids, vectors: unitVectors(ids.length, DIM, random(1)), texts: ids });

async function withNotes(dir = scratchDir()): Promise<Store> {
  const store = await openStore(dir);
  await store.create("notes", { dim: DIM }).add(rows("a", "b"));
  return store;
}

/** Takes the first byte of the manifest's numbers away. */
function damageManifest(folder: string): void {
  const path = join(folder, "collection.json");
  writeFileSync(path, readFileSync(path, "utf8").replace('"live_rows": 2', '"live_rows": 3'));
  damaged(folder);
}

test("a dropped collection is gone here and elsewhere, and its name is free for another schema", async () => {
  const store = await withNotes();
  const other = await openStore(store.dir);
  expect(other.open("notes").count()).toBe(2);
  // What killed calls left goes with it.
  mkdirSync(join(store.dir, ".discarded-1"));
  await dropCollection(store, "notes");
  expect(readdirSync(store.dir)).toEqual([]);
  for (const one of [store, other]) {
    expect(one.find("notes")).toBeUndefined();
    expect(() => one.open("notes")).toThrow("collection 'notes' does not exist (create it first)");
  }
  await expect(dropCollection(store, "notes")).rejects.toThrow("collection 'notes' does not exist (create it first)");
  await store.create("notes", { dim: 2, lexical: true }).save();
  expect(other.open("notes").schema).toMatchObject({ dim: 2, lexical: true });
  // Another one in its place, while it is open.
  await dropCollection(store, "notes");
  await store.create("notes", { dim: 3 }).save();
  expect(other.open("notes").schema.dim).toBe(3);
  await Promise.all([store.close(), other.close()]);
});

test("a drop waits for another's changes, or until it is cancelled", async () => {
  const store = await withNotes();
  const other = await openStore(store.dir);
  const notes = other.open("notes");
  await notes.stage((t) => t.delete(["a"]));
  const stop = new AbortController();
  const cancelled = dropCollection(store, "notes", stop.signal);
  stop.abort();
  await expect(cancelled).rejects.toBeInstanceOf(CancelledError);
  expect(store.open("notes").count()).toBe(2);
  const dropped = dropCollection(store, "notes");
  await notes.save();
  await dropped;
  expect(other.find("notes")).toBeUndefined();
  await Promise.all([store.close(), other.close()]);
});

test("damaged collections are dropped, and folders without a manifest; what is none of ours is not", async () => {
  const store = await withNotes();
  await store.create("lost", { dim: DIM }).add(rows("a"));
  await store.close();
  const again = await openStore(store.dir);
  damageManifest(join(store.dir, "notes"));
  rmSync(join(store.dir, "lost", "collection.json"));
  damaged(join(store.dir, "lost"));
  expect(() => again.open("notes")).toThrow(OSError);
  await dropCollection(again, "notes");
  await dropCollection(again, "lost");
  mkdirSync(join(store.dir, "begun"));
  writeFileSync(join(store.dir, "begun", ".first-save"), "");
  await dropCollection(again, "begun");
  mkdirSync(join(store.dir, "mine"));
  writeFileSync(join(store.dir, "mine", "thesis.txt"), "years of work");
  await expect(dropCollection(again, "mine")).rejects.toThrow(
    "the folder 'mine' has files that do not belong to a collection: remove it by hand",
  );
  symlinkSync("mine", join(store.dir, "link"));
  await expect(dropCollection(again, "link")).rejects.toThrow("collection 'link' is a link");
  await expect(dropCollection(again, "../notes")).rejects.toBeInstanceOf(ValueError);
  expect(readdirSync(store.dir).sort()).toEqual(["link", "mine"]);
  expect(existsSync(join(store.dir, "mine", "thesis.txt"))).toBe(true);
});

test("what was never saved is dropped too, and unsaved changes are not", async () => {
  const store = await withNotes();
  store.create("new", { dim: DIM });
  await dropCollection(store, "new");
  expect(store.held("new")).toBeUndefined();
  await store.open("notes").stage((t) => t.delete(["a"]));
  await expect(dropCollection(store, "notes")).rejects.toThrow(
    "collection 'notes' has unsaved changes in this process: save them first",
  );
  await expect(renameCollection(store, "notes", "n")).rejects.toThrow("has unsaved changes in this process");
});

test("a renamed collection has its rows, notes and description under the new name, here and elsewhere", async () => {
  const store = await withNotes();
  await store.open("notes").change(async (t) => {
    t.note("mine", { n: 1 });
    t.set("description", "what we decided");
  });
  const other = await openStore(store.dir);
  expect(other.open("notes").count()).toBe(2);
  await renameCollection(store, "notes", "decisions");
  expect(readdirSync(store.dir)).toEqual(["decisions"]);
  for (const one of [store, other]) {
    expect(one.find("notes")).toBeUndefined();
    const { name, notes, description } = one.open("decisions").manifest();
    expect({ name, notes, description }).toEqual({
      name: "decisions",
      notes: { mine: { n: 1 } },
      description: "what we decided",
    });
    expect(one.open("decisions").ids()).toEqual(["a", "b"]);
  }
  await other.open("decisions").add(rows("c"));
  expect(store.open("decisions").count()).toBe(3);
  // Only its case.
  await renameCollection(store, "decisions", "Decisions");
  expect(store.list()).toEqual(["Decisions"]);
  await Promise.all([store.close(), other.close()]);
});

test("a name that is taken or invalid is refused, and everything stands", async () => {
  const store = await withNotes();
  await store.create("other", { dim: DIM }).save();
  mkdirSync(join(store.dir, "empty"));
  const refused: [string, string, string][] = [
    ["notes", "notes", "collection 'notes' has this name already"],
    ["notes", "other", "the memory directory has a folder 'other' already: choose another name"],
    ["notes", "empty", "the memory directory has a folder 'empty' already: choose another name"],
    ["notes", "Other", "collection name 'Other' differs only in case from 'other': use another name"],
    ["notes", ".x", "collection name '.x' starts with a dot"],
    ["notes", "a/b", "collection name 'a/b' holds a path separator"],
    ["none", "new", "collection 'none' does not exist (create it first)"],
  ];
  for (const [from, to, message] of refused) {
    const error = await renameCollection(store, from, to).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ValueError);
    expect(error.message).toStartWith(message);
  }
  expect(store.list()).toEqual(["notes", "other"]);
  expect(store.open("notes").manifest().name).toBe("notes");
});

test("a damaged collection is renamed as a folder", async () => {
  const store = await withNotes();
  await store.close();
  const again = await openStore(store.dir);
  damageManifest(join(store.dir, "notes"));
  await renameCollection(again, "notes", "old");
  damaged(join(store.dir, "old"));
  expect(() => again.open("old")).toThrow("is damaged");
});

test("an overview reads no rows, and says what can be seen to be wrong", async () => {
  const store = await withNotes();
  const sorted = store.create("words", { dim: DIM, lexical: true, filterColumns: ["lang"], partitionBy: "p" });
  await sorted.change((t) => t.put(0, rows("a")), undefined, { k1: 1.2, b: 0.6 });
  await sorted.change(async (t) => t.set("description", 'for "people"'));
  const before = Date.now() - 60_000;
  for (const name of ["damaged", "short", "later", "lost"]) {
    await store.create(name, { dim: DIM }).add(rows("a", "b"));
    await store.open(name).compact();
  }
  await store.close();
  const again = await openStore(store.dir);
  const folder = (name: string) => join(store.dir, name);
  damageManifest(folder("damaged"));
  const base = readdirSync(folder("short")).find((file) => file.startsWith("base-"))!;
  truncateSync(join(folder("short"), base), 100);
  const later = join(folder("later"), "collection.json");
  writeFileSync(later, readFileSync(later, "utf8").replace('"format_version": 8', '"format_version": 9'));
  rmSync(join(folder("lost"), "collection.json"));
  for (const name of ["short", "later", "lost"]) damaged(folder(name));
  const found = Object.fromEntries(again.overview().map((one) => [one.name, one]));
  expect(Object.keys(found)).toEqual(["damaged", "later", "lost", "notes", "short", "words"]);
  const { bytes, last_write, ...notes } = found.notes!;
  const sizes = readdirSync(folder("notes")).map((file) => readFileSync(join(folder("notes"), file)).length);
  expect(bytes).toBe(sizes.reduce((sum, size) => sum + size));
  expect(last_write).toBeGreaterThan(before);
  expect(notes as object).toEqual({
    name: "notes",
    rows: 2,
    lexical: false,
    ivf: false,
    filter_columns: ["scope"],
    partition_by: "scope",
    description: undefined,
  });
  expect(found.words).toMatchObject({ lexical: true, filter_columns: ["p", "lang"], description: 'for "people"' });
  // One that another process has just dropped is not damaged.
  expect(again.overview(["none"])).toEqual([]);
  expect(["damaged", "later", "lost", "short"].map((name) => found[name]!.damaged)).toEqual([
    "collection.json does not match its checksum",
    undefined,
    "collection.json is missing",
    `${base} is too short`,
  ]);
  expect(found.later!.newer).toBe("its format is version 9, newer than this svc's 8: use a newer release");
});
