/** Backups: every collection, beside writers, verified, whole or absent; damaged ones are left out and named. */
import { beforeEach, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { LocalStore } from "../../src/api/local-store.ts";
import { CancelledError, ValueError } from "../../src/errors.ts";
import { fileWith, flipBits } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { contents, openStore, scratchDir, TestMemory } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { startScript } from "../script.ts";
import { indexFiles, localStore } from "./fixture.ts";

const DIM = 8;
let dir: string;
let target: string;
let store: LocalStore;

beforeEach(async () => {
  dir = scratchDir();
  target = join(scratchDir(), "deep", "backup");
  store = await localStore(dir);
  for (const name of ["a", "b", "damaged"]) {
    const c = await store.createCollection(name, { dim: DIM });
    await c.add(unitVectors(40, DIM, random(1)), { ids: Array.from({ length: 40 }, (_, i) => `${name} ${i}`) });
    await c.compact();
    await c.delete([`${name} 0`]);
    await c.save();
  }
});

const base = (folder: string) => statSync(fileWith(folder, "base-"));

test("every collection is copied, files that never change are shared, and the copies are a memory", async () => {
  const result = await store.backup(target);
  expect(result.failed).toEqual([]);
  expect(result.collections.map(({ name, rows }) => [name, rows])).toEqual([
    ["a", 39],
    ["b", 39],
    ["damaged", 39],
  ]);
  expect(statSync(target).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(target, ".."))).toEqual(["backup"]);
  for (const { name, bytes, linked_bytes } of result.collections) {
    const [mine, theirs] = [join(dir, name), join(target, name)];
    expect(contents(theirs)).toEqual(contents(mine));
    expect(base(theirs).ino).toBe(base(mine).ino);
    expect([bytes > linked_bytes, linked_bytes]).toEqual([true, base(mine).size]);
  }
  // Each goes its own way from here on.
  await using there = await localStore(target);
  const copy = await there.openCollection("a");
  await copy.delete(["a 1"]);
  await copy.compact();
  await (await store.openCollection("a")).compact();
  expect([copy.size, (await store.openCollection("a")).size]).toEqual([38, 39]);
});

test("with `copy` no file is shared", async () => {
  const { collections } = await store.backup(target, { copy: true, names: ["b", "b"] });
  expect(collections).toMatchObject([{ name: "b", linked_bytes: 0 }]);
  expect(readdirSync(target)).toEqual(["b"]);
  const [mine, theirs] = [join(dir, "b"), join(target, "b")];
  expect(base(theirs).ino).not.toBe(base(mine).ino);
});

test("damaged collections are left out and named; the others are there", async () => {
  // The last id, in a section that is compared when a base is opened.
  flipBits(fileWith(join(dir, "damaged"), "base-"), -2, 70);
  rmSync(join(dir, "b", "collection.json"));
  damaged(join(dir, "b"));
  await store.close();
  store = await localStore(dir);
  const result = await store.backup(target);
  expect(result.collections.map(({ name }) => name)).toEqual(["a"]);
  expect(result.failed.map(({ name }) => name)).toEqual(["b", "damaged"]);
  expect(result.failed[0]!.error).toMatch(/^OSError: collection 'b' is damaged: .*collection\.json is missing/);
  expect(result.failed[1]!.error).toMatch(/^OSError: collection 'damaged' is damaged: base-/);
  expect(readdirSync(target)).toEqual(["a"]);
  // Nothing at all is not a backup.
  const none = await store.backup(join(target, "..", "none"), { names: [] });
  expect(none).toMatchObject({ collections: [], failed: [] });
});

test("an id map that is damaged or missing is made again in the copy", async () => {
  rmSync(join(dir, "a", "id_map.npy"));
  flipBits(join(dir, "b", "id_map.npy"), 200);
  damaged(dir);
  const { failed } = await store.backup(target, { names: ["a", "b"] });
  expect(failed).toEqual([]);
  await using there = await localStore(target);
  for (const name of ["a", "b"]) {
    const ids = (await (await there.openCollection(name)).ids()).sort();
    const map = readFileSync(join(target, name, "id_map.npy")).toString("latin1");
    expect(ids.filter((id) => !map.includes(id))).toEqual([]);
  }
});

test("a folder that cannot be used is a ValueError, and nothing is left there", async () => {
  const file = join(scratchDir(), "file");
  writeFileSync(file, "mine");
  await expect(store.backup(file)).rejects.toThrow(/is not a folder/);
  for (const inside of [dir, join(dir, "backup"), join(dir, "a", "x")]) {
    await expect(store.backup(inside)).rejects.toThrow(/inside the memory directory/);
  }
  const link = join(scratchDir(), "link");
  symlinkSync(dir, link);
  await expect(store.backup(join(link, "backup"))).rejects.toThrow(/inside the memory directory/);
  await expect(store.backup(target, { names: ["nowhere"] })).rejects.toThrow(/does not exist/);
  mkdirSync(join(target, "a"), { recursive: true });
  writeFileSync(join(target, "a", "note"), "mine");
  await expect(store.backup(target)).rejects.toThrow(ValueError);
  expect(readdirSync(target)).toEqual(["a"]);
  await store.backup(target, { names: ["b"] });
  expect(readdirSync(target).sort()).toEqual(["a", "b"]);
  expect(readdirSync(dir).sort()).toEqual(["a", "b", "damaged"]);
});

test("a backup that is stopped leaves nothing", async () => {
  const stop = new AbortController();
  const onProgress = (_done: number, _total: number, name: string) => name === "b" && stop.abort();
  await expect(store.backup(target, { signal: stop.signal, onProgress })).rejects.toThrow(CancelledError);
  expect(readdirSync(join(target, ".."))).toEqual([]);
});

test("repositories are not indexed again in the copy", async () => {
  const root = await indexFiles(dir, 5);
  await store.backup(target, { names: ["repo_symbols"] });
  const logs = (folder: string) =>
    readdirSync(join(folder, "repo_symbols")).filter((name) => name.endsWith(".fingerprints"));
  expect(logs(target)).toEqual(logs(dir));
  const copy = await TestMemory.open(target, root);
  expect(await copy.call("index_repo", { path: root })).toMatchObject({ files_changed: 0 });
});

test("beside a process that writes and compacts, each copy is one saved state", async () => {
  const writer = await startScript(
    `const c = (await openStore(process.argv[1])).create("busy", { dim: ${DIM} });
     for (let i = 0; ; i++) {
       const metadata = [{ i }, { i }];
       await c.upsert({ ids: ["x", "y"], vectors: unitVectors(2, ${DIM}, random(i)), metadata });
       if (i === 3) console.log("begun");
       if (i % 4 === 0) await c.compact();
     }`,
    dir,
  );
  const generations: number[] = [];
  for (let i = 0; i < 25; i++) {
    const place = join(target, String(i));
    const { collections, failed } = await store.backup(place, { names: ["busy"], copy: i % 2 === 0 });
    expect(failed).toEqual([]);
    generations.push(collections[0]!.generation);
    await using there = await localStore(place);
    const [x, y] = await (await there.openCollection("busy")).get(["x", "y"]);
    expect(x!.metadata).toEqual(y!.metadata!);
  }
  expect(writer.exitCode).toBe(null);
  writer.kill();
  damaged(join(dir, "busy")); // a killed compaction leaves an id map that the next writer makes again
  await writer.exited;
  expect(new Set(generations).size).toBeGreaterThan(1);
}, 60_000);

test("after a kill at any moment the backup is whole or absent", async () => {
  for (let i = 0; i < 12; i++) {
    const place = join(scratchDir(), "backup");
    const child = await startScript(
      `const store = await localStore(process.argv[1]);
       console.log("begun");
       await store.backup(process.argv[2], { copy: true });
       console.log("done");`,
      dir,
      place,
    );
    await Bun.sleep(i * 4);
    child.kill("SIGKILL");
    await child.exited;
    if (!existsSync(place)) continue;
    const there = await openStore(place);
    expect(there.list()).toEqual(["a", "b", "damaged"]);
    for (const name of there.list()) await there.open(name).verify();
    await there.close();
  }
}, 60_000);
