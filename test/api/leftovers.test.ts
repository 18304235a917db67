/** What an interrupted first save leaves is called that everywhere, hides no damage, and is removed by the command named. */
import { beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalStore } from "../../src/api/local-store.ts";
import { ValueError } from "../../src/errors.ts";
import { flipBits } from "../collection-files.ts";
import { contents, scratchDir, TestMemory } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { startScript } from "../script.ts";
import { interruptedFirstSave } from "../store/unreadable-folders.ts";
import { localStore } from "./fixture.ts";

const DIM = 8;
const LEFTOVER =
  "an interrupted first save left its folder, in which no row was ever saved: 'svc mem drop c' removes it";
let dir: string;
let store: LocalStore;

beforeEach(async () => {
  dir = scratchDir();
  store = await localStore(dir);
  for (const name of ["hurt", "notes"]) {
    const made = await store.createCollection(name, { dim: DIM });
    await made.add(unitVectors(20, DIM, random(1)), { ids: Array.from({ length: 20 }, (_, i) => `row ${i}`) });
    await made.save();
  }
  await store.close();
  interruptedFirstSave(dir, "c", "notes");
  store = await localStore(dir);
});

const hurt = () => flipBits(join(dir, "hurt/base-0000000000000001.slab"), -70);

test("a check names it, finds the damage elsewhere, and a repair leaves it", async () => {
  hurt();
  const before = contents(join(dir, "c"));
  const [c, bad, good] = await store.check();
  expect(c).toMatchObject({ name: "c", sound: true, leftover: LEFTOVER, found: 0, damages: [] });
  expect(c!.leftovers.map(({ file }) => file)).toEqual(["base-0000000000000001.slab"]);
  expect([bad!.name, bad!.sound, bad!.found]).toEqual(["hurt", false, 1]);
  expect([good!.name, good!.sound]).toEqual(["notes", true]);
  expect(await store.check({ names: ["c"] })).toEqual([c!]);
  expect(await store.repair("c")).toMatchObject({ action: "none", note: LEFTOVER });
  expect(contents(join(dir, "c"))).toEqual(before);
});

test("the list, the tool's list and opening it name it; a drop removes it", async () => {
  expect(store.overview().map(({ name, leftover, damaged }) => [name, leftover, damaged])).toEqual([
    ["c", LEFTOVER, undefined],
    ["hurt", undefined, undefined],
    ["notes", undefined, undefined],
  ]);
  const m = await TestMemory.open(dir);
  expect(await m.call("list_collections")).toMatchObject({
    collections: ["hurt", "notes"],
    unreadable: { c: `leftover: ${LEFTOVER}` },
  });
  const said = `collection 'c' does not exist (create it first); ${LEFTOVER}`;
  for (const call of [
    () => m.call("count", { collection: "c" }),
    () => store.openCollection("c"),
    () => store.renameCollection("c", "d"),
    () => store.backup(join(scratchDir(), "b"), { names: ["c"] }),
  ]) {
    const error = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ValueError);
    expect((error as ValueError).message).toBe(said);
    expect((error as ValueError).reason).toBe("no_collection");
  }
  await m.close();
  await store.dropCollection("c");
  expect(readdirSync(dir).sort()).toEqual(["hurt", "notes"]);
  expect(store.overview().map(({ name }) => name)).toEqual(["hurt", "notes"]);
});

test("a backup leaves it out with a remark, and copies the others", async () => {
  const target = join(scratchDir(), "backup");
  const { collections, failed, left_out } = await store.backup(target);
  expect(collections.map(({ name }) => name)).toEqual(["hurt", "notes"]);
  expect({ failed, left_out }).toEqual({ failed: [], left_out: [{ name: "c", reason: LEFTOVER }] });
  expect(readdirSync(target).sort()).toEqual(["hurt", "notes"]);
});

test("a collection of a backup takes its place, and a salvaged one its name", async () => {
  const backup = join(scratchDir(), "backup");
  await store.backup(backup, { names: ["notes"] });
  await using there = await localStore(backup);
  await there.renameCollection("notes", "c");
  const { collections, failed } = await store.restore(backup);
  expect(failed).toEqual([]);
  expect(collections).toMatchObject([{ name: "c", rows: 20, replaced: false }]);
  expect((await store.openCollection("c")).size).toBe(20);
  expect(existsSync(join(dir, "c/.first-save"))).toBe(false);
  // What is saved there by now is not replaced without being asked.
  await expect(store.restore(backup)).rejects.toThrow("the memory has 'c' already: --replace");

  interruptedFirstSave(dir, "hurt-repaired", "notes");
  hurt();
  const repaired = await store.repair("hurt");
  expect(["rebuilt", "salvaged"]).toContain(repaired.action);
});

test("it is taken by the collection that is made next, of another schema too", async () => {
  const c = await store.createCollection("c", { dim: 3 });
  await c.add(new Float32Array(3), { ids: ["new"] });
  await c.save();
  expect(await c.ids()).toEqual(["new"]);
  expect(existsSync(join(dir, "c/.first-save"))).toBe(false);
  expect((await store.check({ names: ["c"] }))[0]).toMatchObject({ sound: true, leftovers: [] });
});

test("a collection that is dropped while others are checked ends no check", async () => {
  const other = await localStore(dir);
  let dropped: Promise<void> | undefined;
  const onProgress = (_done: number, _total: number, name: string) => {
    if (name === "hurt") dropped ??= other.dropCollection("notes");
  };
  rmSync(join(dir, "c"), { recursive: true });
  const results = await store.check({ onProgress });
  await dropped;
  expect(results.filter(({ sound }) => !sound)).toEqual([]);
  expect(results[0]!.name).toBe("hurt");
  await expect(store.check({ names: ["nowhere"] })).rejects.toThrow("collection 'nowhere' does not exist");
});

test("a folder whose name no collection may have is an error of that folder", async () => {
  interruptedFirstSave(dir, "a\nb", "notes");
  rmSync(join(dir, "a\nb/.first-save"));
  writeFileSync(join(dir, "a\nb/collection.json"), "{}");
  const results = await store.check();
  expect(results.map(({ name, sound }) => [name, sound])).toEqual([
    ["a\nb", false],
    ["c", true],
    ["hurt", true],
    ["notes", true],
  ]);
  expect(results[0]!.error).toContain("holds a control character");
});

/** A process that stages a row of a new collection: it has the lock, and nothing is saved. */
function savingElsewhere(name: string) {
  const script = `
    const c = (await openStore(process.argv[1])).create(process.argv[2], { dim: ${DIM} });
    await c.stage((t) => t.put(0, { ids: ["theirs"], vectors: unitVectors(1, ${DIM}, random(1)) }));
    console.log("begun");
    for await (const line of console) { await c.save(); break; }
    process.exit(0);`;
  return startScript(script, dir, name);
}

test("beside another process's first save a backup leaves that out with a remark, or waits where it is named", async () => {
  const writer = await savingElsewhere("new");
  writeFileSync(join(dir, "new/.first-save"), "");
  writeFileSync(join(dir, "new/base-0000000000000001.slab"), "half");
  const all = await store.backup(join(scratchDir(), "all"));
  expect(all.collections.map(({ name }) => name)).toEqual(["hurt", "notes"]);
  expect(all.failed).toEqual([]);
  expect(all.left_out.find(({ name }) => name === "new")!.reason).toBe(
    "another process is saving it for the first time: back it up again once that is done",
  );
  const named = store.backup(join(scratchDir(), "named"), { names: ["new"] });
  writer.stdin.write("save\n");
  await writer.stdin.end();
  expect(await named).toMatchObject({ collections: [{ name: "new", rows: 1 }], failed: [], left_out: [] });
  await writer.exited;
}, 60_000);

test("a collection that is removed while a backup is at work is left out with a remark", async () => {
  const other = await localStore(dir);
  let dropped: Promise<void> | undefined;
  const onProgress = (_done: number, _total: number, name: string) => {
    if (name === "hurt") dropped ??= other.dropCollection("notes");
  };
  const { collections, failed, left_out } = await store.backup(join(scratchDir(), "b"), { onProgress });
  await dropped;
  expect(failed).toEqual([]);
  const names = [...collections, ...left_out].map(({ name }) => name).sort();
  expect(names).toEqual(["c", "hurt", "notes"]);
});
