/** Collections of a backup in a memory again: verified, whole or not at all, and in the place of others if asked to. */
import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { LocalStore } from "../../src/api/local-store.ts";
import { CancelledError, ValueError } from "../../src/errors.ts";
import { fileWith, flipBits } from "../collection-files.ts";
import { scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { localStore } from "./fixture.ts";

const DIM = 8;
let dir: string;
let backup: string;
let store: LocalStore;

beforeEach(async () => {
  dir = scratchDir();
  backup = join(scratchDir(), "backup");
  store = await localStore(dir);
  for (const name of ["a", "b"]) {
    const c = await store.createCollection(name, { dim: DIM });
    await c.add(unitVectors(40, DIM, random(1)), { ids: Array.from({ length: 40 }, (_, i) => `${name} ${i}`) });
    await c.compact();
    await c.delete([`${name} 0`]);
    await c.save();
  }
  await store.backup(backup);
});

const sizeOf = async (name: string, of = store) => (await of.openCollection(name)).size;

test("a new memory has the collections of the backup", async () => {
  await using other = await localStore(join(scratchDir(), "deep", "memory"));
  const seen = new Set<string>();
  const onProgress = (_done: number, _total: number, name: string) => void seen.add(name);
  const result = await other.restore(backup, { onProgress });
  expect(result.collections.map(({ name, rows, replaced }) => [name, rows, replaced])).toEqual([
    ["a", 39, false],
    ["b", 39, false],
  ]);
  expect([result.failed, result.directory, [...seen]]).toEqual([[], backup, ["a", "b"]]);
  expect(await (await other.openCollection("a")).ids()).toEqual(await (await store.openCollection("a")).ids());
});

test("one that is there stands, unless it is to be replaced", async () => {
  const a = await store.openCollection("a");
  await a.delete(["a 1"]);
  await a.save();
  await using other = await localStore(dir);
  expect(await sizeOf("a", other)).toBe(38);
  await expect(store.restore(backup)).rejects.toThrow(
    "the memory has 'a' and 'b' already: --replace replaces them with those of the backup",
  );
  const [one] = (await store.restore(backup, { names: ["a"], replace: true, copy: true })).collections;
  expect(one).toMatchObject({ name: "a", rows: 39, linked_bytes: 0, replaced: true });
  expect([a.size, await sizeOf("a", other), readdirSync(dir).sort()]).toEqual([39, 39, ["a", "b"]]);
  // Each goes its own way from here on.
  await a.delete(["a 5"]);
  await a.save();
  await using kept = await localStore(backup);
  expect([await sizeOf("a", kept), await sizeOf("a", other)]).toEqual([39, 38]);
});

test("a damaged one is named, and what was there of its name stands", async () => {
  const folder = join(backup, "b");
  // Not the file that both have: one of its own.
  await store.dropCollection("b");
  flipBits(fileWith(folder, "base-"), -2, 70);
  const result = await store.restore(backup, { replace: true });
  expect(result.collections.map(({ name }) => name)).toEqual(["a"]);
  expect(result.failed).toEqual([{ name: "b", error: expect.stringContaining("collection 'b' is damaged") }]);
  expect(await store.collections()).toEqual(["a"]);
});

test("what is not a backup is refused before anything is done", async () => {
  const empty = scratchDir();
  const refused: [string, object, string][] = [
    [join(empty, "none"), {}, "there is no folder"],
    [empty, {}, "has no collection: name the folder of a backup"],
    [join(backup, "a"), {}, "is the folder of one collection: name the folder that it is in"],
    [dir, {}, "is the memory itself: name the folder of a backup"],
    [backup, { names: ["a", "c"], replace: true }, "has no collection 'c'"],
  ];
  for (const [from, options, message] of refused) {
    const error = await store.restore(from, options).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ValueError);
    expect(error.message).toContain(message);
  }
  await store.renameCollection("a", "A");
  await expect(store.restore(backup, { names: ["a"], replace: true })).rejects.toThrow(
    "collection 'a' of the backup differs only in case from 'A' in the memory: rename the latter",
  );
  mkdirSync(join(dir, "b", "..", ".svc-staged-left"));
  await store.restore(backup, { names: ["b"], replace: true });
  expect(readdirSync(dir).sort()).toEqual(["A", "b"]);
});

test("an interrupted one says what is there", async () => {
  await using other = await localStore(scratchDir());
  const stop = new AbortController();
  const onProgress = (_done: number, _total: number, name: string) => name === "b" && stop.abort();
  const error = await other.restore(backup, { signal: stop.signal, onProgress }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(CancelledError);
  expect(error.message).toBe("interrupted: 'a' is restored, the rest is not");
  expect(await other.collections()).toEqual(["a"]);
});

test("files that never change are shared, as by a backup", async () => {
  await using other = await localStore(scratchDir());
  const [one] = (await other.restore(backup, { names: ["a"] })).collections;
  expect(one!.linked_bytes).toBe(statSync(fileWith(join(backup, "a"), "base-")).size);
});
