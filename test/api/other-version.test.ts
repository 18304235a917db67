/** A collection of an older or newer format is called that, with its version, and nothing of it is called damaged. */
import { beforeEach, expect, test } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalStore } from "../../src/api/local-store.ts";
import { damaged } from "../complete-check.ts";
import { contents, scratchDir, TestMemory } from "../fixture.ts";
import { GOLDEN } from "../format/golden.ts";
import { crc32c } from "../format/seal.ts";
import { asVersion } from "../store/unreadable-folders.ts";
import { localStore } from "./fixture.ts";

const OLDER = "older than this svc's 8: export it with the release that wrote it, and import it with this one";
const SAID = {
  first: { older: `its format is version 1, ${OLDER}` },
  old: { older: `its format is version 6, ${OLDER}` },
  later: { newer: "its format is version 9, newer than this svc's 8: use a newer release" },
};
let dir: string;
let store: LocalStore;

beforeEach(async () => {
  dir = scratchDir();
  for (const [name, version] of [
    ["first", 1],
    ["old", 6],
    ["later", 9],
    ["now", 7],
  ] as const) {
    cpSync(join(GOLDEN, "7/texts/notes"), join(dir, name), { recursive: true });
    if (version !== 7) asVersion(join(dir, name), version);
  }
  damaged(dir);
  store = await localStore(dir);
});

test("list, check, repair and the tool say so, and write nothing", async () => {
  const names = [...Object.keys(SAID), "now"];
  const all = () => names.map((name) => contents(join(dir, name)));
  const before = all();
  const found = Object.fromEntries(store.overview().map((one) => [one.name, one]));
  const checked = Object.fromEntries((await store.check()).map((one) => [one.name, one]));
  for (const [name, said] of Object.entries(SAID)) {
    expect(found[name]).toMatchObject({ ...said, rows: found.now!.rows! });
    expect(found[name]).not.toHaveProperty("damaged");
    expect(checked[name]).toMatchObject({ ...said, sound: false, found: 0, damages: [] });
    expect(checked[name]).not.toHaveProperty("error");
    expect(await store.repair(name)).toMatchObject({ action: "impossible", note: Object.values(said)[0] });
    await expect(store.openCollection(name)).rejects.toThrow("version");
  }
  expect(checked.now).toMatchObject({ sound: true });
  const m = await TestMemory.open(dir);
  const { collections, unreadable } = await m.call("list_collections");
  expect(collections).toEqual(["first", "later", "now", "old"]);
  const sentences = Object.entries(SAID).map(([name, said]) => [name, Object.entries(said)[0]!.join(": ")]);
  expect(unreadable).toEqual(Object.fromEntries(sentences));
  await m.close();
  expect(all()).toEqual(before);
});

test("a check names a slab that alone is of another version", async () => {
  const base = join(dir, "now/base-0000000000000002.slab");
  const slab = readFileSync(base);
  slab.writeUInt32LE(6, 8);
  slab.writeUInt32LE(crc32c(slab.subarray(0, 60)), 60);
  writeFileSync(base, slab);
  expect(await store.check({ names: ["now"] })).toMatchObject([{ ...SAID.old, sound: false, found: 0 }]);
});

test("a manifest whose version alone was changed is damaged; a later one may have another checksum", async () => {
  const path = join(dir, "now/collection.json");
  const manifest = readFileSync(path, "utf8");
  writeFileSync(path, manifest.replace('"format_version": 7', '"format_version": 6'));
  expect(store.overview().find(({ name }) => name === "now")).toMatchObject({
    damaged: "collection.json does not match its checksum",
  });
  expect((await store.check({ names: ["now"] }))[0]).toMatchObject({ found: 1, damages: [{ part: "manifest" }] });
  writeFileSync(path, manifest.replace('"format_version": 7', '"format_version": 9'));
  expect(store.overview().find(({ name }) => name === "now")).toMatchObject(SAID.later);
  expect((await store.check({ names: ["now"] }))[0]).toMatchObject({ ...SAID.later, found: 0 });
});

test("a manifest without a version, of slabs that cannot be read, is of one before 7", async () => {
  writeFileSync(join(dir, "old/base-0000000000000002.slab"), "short");
  writeFileSync(join(dir, "old/delta-0000000000000003.slab"), "");
  writeFileSync(join(dir, "old/lexical-0000000000000002.slab"), "");
  const [old] = store.overview().filter(({ name }) => name === "old");
  expect(old!.older).toBe(`its format is a version, ${OLDER}`);
});
