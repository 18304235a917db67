/** The build that wrote a collection: in its manifest, kept by others, and in the message about another version. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../src/api/local-store.ts";
import type { ProgramVersion } from "../../src/build-info.ts";
import { damaged } from "../complete-check.ts";
import { native, scratchDir } from "../fixture.ts";
import { sealed } from "../format/seal.ts";

const OURS: ProgramVersion = { version: "0.1.0", build: "commit 0123456789ab, release key aaaa" };
const OTHER: ProgramVersion = { version: "0.1.0", build: "release key bbbb" };

async function storeOf(dir: string, version: string | ProgramVersion): Promise<LocalStore> {
  return new LocalStore(dir, await native(), version);
}

function manifestOf(dir: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(dir, "notes", "collection.json"), "utf8"));
}

/** A saved collection `notes` by that program. */
async function made(dir: string, version: string | ProgramVersion): Promise<void> {
  await using store = await storeOf(dir, version);
  const notes = await store.createCollection("notes", { dim: 2 });
  await notes.add([[1, 0]], { ids: ["a"] });
  await notes.save();
}

test("two builds of one version are told apart by the manifests that they write", async () => {
  const [one, two, unnamed] = [scratchDir(), scratchDir(), scratchDir()];
  await made(one, OURS);
  await made(two, OTHER);
  await made(unnamed, "0.1.0");
  expect(manifestOf(one)).toMatchObject({ telys_version: "0.1.0", telys_build: OURS.build });
  expect(manifestOf(two)).toMatchObject({ telys_version: "0.1.0", telys_build: OTHER.build });
  expect(manifestOf(unnamed)).not.toHaveProperty("telys_build");
  const keys = Object.keys(manifestOf(one));
  expect(keys.indexOf("telys_build")).toBe(keys.indexOf("format_version") - 1);
});

test("another build keeps the key with every save, and an altered collection has its own", async () => {
  const dir = scratchDir();
  await made(dir, OURS);
  await using store = await storeOf(dir, OTHER);
  const notes = await store.openCollection("notes");
  await notes.add([[0, 1]], { ids: ["b"] });
  await notes.save();
  await notes.compact();
  expect(manifestOf(dir)).toMatchObject({ telys_build: OURS.build, live_rows: 2 });
  await store.alterCollection("notes", { addColumns: ["kind"] });
  expect(manifestOf(dir)).toMatchObject({ telys_build: OTHER.build, filter_columns: ["scope", "kind"] });
});

test("an altered collection that has as many keys of other programs as there may be goes without it", async () => {
  const dir = scratchDir();
  await made(dir, "0.1.0");
  const path = join(dir, "notes", "collection.json");
  const others = Array.from({ length: 64 }, (_, i) => `  "other ${i}": ${i},\n`).join("");
  writeFileSync(path, sealed(readFileSync(path, "utf8").replace('  "format_version"', `${others}  "format_version"`)));
  await using store = await storeOf(dir, OURS);
  await store.alterCollection("notes", { addColumns: ["kind"] });
  expect(manifestOf(dir)).toMatchObject({ "other 63": 63, filter_columns: ["scope", "kind"] });
  expect(manifestOf(dir)).not.toHaveProperty("telys_build");
});

test("the message about another version of the format names the build that wrote the collection", async () => {
  const dir = scratchDir();
  await made(dir, OURS);
  damaged(dir);
  const path = join(dir, "notes", "collection.json");
  const text = readFileSync(path, "utf8");
  const version = Number(manifestOf(dir).format_version);
  const wrote = `; version 0.1.0 (${OURS.build}) wrote it`;
  for (const [other, advice] of [
    [6, "export the collection with the release that wrote it, and import it with this one"],
    [version + 1, "use a newer release of svc"],
  ] as const) {
    writeFileSync(path, sealed(text.replace(`"format_version": ${version}`, `"format_version": ${other}`)));
    await using store = await storeOf(dir, OTHER);
    const error = await store.openCollection("notes").catch((thrown: Error) => thrown);
    expect((error as Error).message).toEndWith(`${advice}${wrote}`);
  }
});
