/**
 * What a folder of a memory directory is taken for: a collection, one that lost its manifest, or what was never saved.
 */
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stateOf } from "../../src/store/folder-state.ts";
import { dropCollection } from "../../src/store/moves.ts";
import { damaged } from "../complete-check.ts";
import { contents, openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { startScript } from "../script.ts";
import { linkManifest } from "./unreadable-folders.ts";

const BASE = "base-0000000000000001.slab";
const MARKER = ".first-save";
const row = { ids: ["a"], vectors: unitVectors(1, 8, random(1)) };

test.each([
  [[], "other"],
  [["thesis.txt"], "other"],
  [[".lock"], "other"],
  [[MARKER], "leftover"],
  [[MARKER, ".lock", ".ballast", BASE, "ivf-0000000000000001.slab", "id_map.npy", "collection.json.tmp-7"], "leftover"],
  [["collection.json"], "saved"],
  [["collection.json", MARKER, BASE], "saved"],
  [[BASE], "lost"],
  [["delta-0000000000000002.slab"], "lost"],
  [[MARKER, BASE, "delta-0000000000000002.slab"], "lost"],
  [[MARKER, BASE, "lexical-0000000000000002.slab"], "lost"],
] as [string[], string][])("%j is %s", (files, state) => {
  const folder = scratchDir();
  for (const file of files) writeFileSync(join(folder, file), "");
  expect(stateOf(folder)).toBe(state as never);
  expect(readdirSync(folder).sort()).toEqual([...files].sort());
});

test("a link as collection.json is a saved collection, wherever it leads", async () => {
  for (const to of ["nowhere", "itself", "the file"] as const) {
    const store = await openStore();
    await store.create("notes", { dim: 8 }).add(row);
    await store.close();
    linkManifest(join(store.dir, "notes"), to);
    damaged(store.dir);
    const again = await openStore(store.dir);
    expect([stateOf(join(store.dir, "notes")), again.list()]).toEqual(["saved", ["notes"]]);
    for (const call of [() => again.open("notes"), () => again.create("notes", { dim: 8 })]) {
      expect(call).toThrow(
        "collection 'notes' is damaged: collection.json is a link, and links are not followed: put the file itself in its place",
      );
    }
    expect(again.overview()).toMatchObject([{ name: "notes", damaged: "collection.json is a link" }]);
    await again.close();
  }
});

test("an open collection whose collection.json becomes a link is damaged", async () => {
  const store = await openStore();
  const notes = store.create("notes", { dim: 8 });
  await notes.add(row);
  linkManifest(join(store.dir, "notes"), "the file");
  damaged(store.dir);
  const before = contents(join(store.dir, "notes"));
  await expect(notes.add({ ...row, ids: ["b"] })).rejects.toThrow("collection.json is a link");
  expect(() => notes.count()).toThrow("collection.json is a link");
  expect(contents(join(store.dir, "notes"))).toEqual(before);
});

/** A process that stages a row of a new collection, so that it has the lock, and saves after a line on stdin. */
function stagedElsewhere(dir: string, name: string) {
  const script = `
    const c = (await openStore(process.argv[1])).create(process.argv[2], { dim: 8 });
    await c.stage((t) => t.put(0, { ids: ["theirs"], vectors: unitVectors(1, 8, random(1)) }));
    console.log("staged");
    for await (const line of console) { await c.save(); break; }
    process.exit(0);`;
  return startScript(script, dir, name);
}

test("what a living process is saving for the first time is not a leftover; once it is killed it is", async () => {
  const store = await openStore();
  await store.create("notes", { dim: 8 }).add(row);
  const other = await stagedElsewhere(store.dir, "other");
  expect(readdirSync(join(store.dir, "other"))).toEqual([".lock"]);
  expect(stateOf(join(store.dir, "other"))).toBe("begun");
  // As it is while the slabs are written.
  writeFileSync(join(store.dir, "other", MARKER), "");
  writeFileSync(join(store.dir, "other", BASE), "half");
  expect(stateOf(join(store.dir, "other"))).toBe("begun");
  expect(store.listed()).toEqual(["notes"]);
  expect(store.overview().map(({ name }) => name)).toEqual(["notes"]);
  expect(() => store.open("other")).toThrow(
    "collection 'other' does not exist yet: another process is saving it for the first time; try again",
  );
  other.stdin.write("save\n");
  await other.stdin.end();
  await other.exited;
  expect(stateOf(join(store.dir, "other"))).toBe("saved");
  expect(store.open("other").ids()).toEqual(["theirs"]);

  const killed = await stagedElsewhere(store.dir, "killed");
  writeFileSync(join(store.dir, "killed", MARKER), "");
  expect(stateOf(join(store.dir, "killed"))).toBe("begun");
  killed.kill("SIGKILL");
  await killed.exited;
  expect(stateOf(join(store.dir, "killed"))).toBe("leftover");
  await dropCollection(store, "killed");
  expect(store.listed()).toEqual(["notes", "other"]);
}, 60_000);

test.skipIf(process.getuid?.() === 0)("a folder that cannot be read is present", () => {
  const folder = join(scratchDir(), "closed");
  mkdirSync(folder, { mode: 0o000 });
  expect(stateOf(folder)).toBe("lost");
  chmodSync(folder, 0o700);
});
