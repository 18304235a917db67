/** A check names every damaged place, with the rows concerned, of collections too that cannot be opened. */
import { beforeEach, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { CheckedCollection } from "../../src/api/check.ts";
import type { LocalStore } from "../../src/api/local-store.ts";
import { OSError, ValueError } from "../../src/errors.ts";
import { fileWith, flipBits, sectionsOf } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { contents } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { DIM, ids, metadata, ROWS, texts } from "./damage-fixture.ts";
import { freshStore, indexFiles, localStore } from "./fixture.ts";

let dir: string;
let store: LocalStore;

beforeEach(async () => {
  ({ dir, store } = await freshStore());
});

/** A compacted collection of each kind, with a delta. */
const KINDS: Record<string, () => Promise<void>> = {
  async texts() {
    const c = await store.createCollection("c", { embedder: "multigram", lexical: true, filterColumns: ["kind"] });
    await c.addTexts(texts, { ids, metadata });
    await c.upsertTexts(texts.slice(0, 3), { ids: ids.slice(0, 3), metadata: metadata.slice(0, 3) });
    await c.buildLexical();
    await c.addTexts(["one more"], { ids: ["more"] });
    await c.save();
    await c.addTexts(["yet another"], { ids: ["another"] });
    await c.save();
  },
  ...Object.fromEntries(
    (["f32", "f16", "int8", "int4"] as const).map((dtype) => [
      dtype,
      async () => {
        const c = await store.createCollection("c", { dim: DIM, dtype, filterColumns: ["kind"] });
        await c.add(unitVectors(ROWS, DIM, random(1)), { ids, metadata });
        await c.compact();
        await c.buildIvf({ minRows: 1 });
        await c.delete(["row 3"]);
        await c.save();
      },
    ]),
  ),
};

const folder = () => join(dir, "c");
const fileOf = (role: string) => readdirSync(folder()).find((name) => name.startsWith(role))!;

async function checked(): Promise<CheckedCollection> {
  const [only, ...others] = await store.check();
  expect(others).toEqual([]);
  return only!;
}

/** Closes the store, so that what is damaged from here on is read again. */
async function reopen(): Promise<void> {
  await store.close();
  damaged(dir);
  store = await localStore(dir);
}

/** Flips a bit of a file for as long as `work` takes. */
async function flipped<T>(file: string, at: number, work: () => Promise<T>): Promise<T> {
  const path = join(folder(), file);
  const bytes = readFileSync(path);
  const other = Uint8Array.from(bytes);
  other[at]! ^= 4;
  writeFileSync(path, other);
  try {
    return await work();
  } finally {
    writeFileSync(path, bytes);
  }
}

test.each(Object.keys(KINDS))(
  "%s: a flipped bit in any section is one damaged place there, and nothing is written",
  async (kind) => {
    await KINDS[kind]!();
    expect(await checked()).toMatchObject({ name: "c", sound: true, found: 0, leftovers: [] });
    await reopen();
    const before = contents(folder());
    for (const role of ["base", "ivf", "lexical", "history"]) {
      const file = fileOf(role);
      if (file === undefined) continue;
      for (const { id, offset, bytes } of sectionsOf(join(folder(), file)).filter((one) => one.bytes > 0)) {
        for (const at of [offset, offset + Math.floor(bytes / 2), offset + bytes - 1]) {
          const found = await flipped(file, at, checked);
          expect([file, id, at, found.found, found.sound]).toEqual([file, id, at, 1, false]);
          const [one] = found.damages;
          expect(one).toMatchObject({ file, section: id });
          expect(one!.offset <= at && at < one!.offset + one!.bytes).toBe(true);
          expect(one!.meaning && one!.repair).not.toBe("");
        }
      }
      // Header and table.
      for (const at of [0, 9, 12, 24, 40, 61, 64, 75]) {
        const found = await flipped(file, at, checked);
        if (at === 9 && found.error) continue; // a version
        expect([file, at, found.sound, found.found]).toEqual([file, at, false, 1]);
      }
    }
    expect(contents(folder())).toEqual(before);
  },
  60_000,
);

test("the rows concerned are named by their ids, also of a base that cannot be opened", async () => {
  await KINDS.texts!();
  await reopen();
  const base = fileOf("base");
  const section = (id: number) => sectionsOf(join(folder(), base)).find((one) => one.id === id)!;
  const text = await flipped(base, section(12).offset + 5, checked);
  expect(text.damages[0]).toMatchObject({ part: "texts", rows: ROWS });
  expect(text.damages[0]!.ids.length).toBe(10);
  expect(text.damages[0]!.ids.every((id) => ids.includes(id))).toBe(true);
  const lines = await flipped(base, section(19).offset + 5, checked);
  expect(lines.damages[0]).toMatchObject({ part: "codes", rows: ROWS });
  const numbers = await flipped(base, section(5).offset + 2, checked);
  expect(numbers.damages[0]).toMatchObject({ part: "base", rows: ROWS });
});

test("every damaged block of a delta is named", async () => {
  await KINDS.texts!();
  await reopen();
  const delta = fileOf("delta");
  const bytes = readFileSync(join(folder(), delta));
  const second = bytes.indexOf("TBLK", 65, "latin1");
  for (const [at, offset] of [
    [3, 0],
    [64 + 9, 64],
    [64 + 80, 64],
    [second + 70, second],
  ] as const) {
    const found = await flipped(delta, at, checked);
    expect([at, found.found]).toEqual([at, 1]);
    expect(found.damages[0]).toMatchObject({ part: "delta", file: delta, offset });
  }
  const both = Uint8Array.from(bytes);
  both[64 + 80]! ^= 1;
  both[second + 80]! ^= 1;
  writeFileSync(join(folder(), delta), both);
  expect((await checked()).damages.map(({ offset }) => offset)).toEqual([64, second]);
});

test("missing and short files, a damaged manifest and one that is lost", async () => {
  await KINDS.texts!();
  await reopen();
  const parts: Record<string, string> = {
    base: "base",
    delta: "delta",
    lexical: "words",
    history: "history",
    id_map: "id_map",
  };
  for (const [role, part] of Object.entries(parts)) {
    const path = join(folder(), fileOf(role));
    const bytes = readFileSync(path);
    truncateSync(path, bytes.length - 100);
    expect((await checked()).damages.map((one) => one.part)).toEqual([part as never]);
    rmSync(path);
    expect((await checked()).damages).toMatchObject([{ part, what: "it is missing" }]);
    writeFileSync(path, bytes);
  }
  const manifest = readFileSync(join(folder(), "collection.json"), "utf8");
  writeFileSync(join(folder(), "collection.json"), manifest.replace('"live_rows": 102', '"live_rows": 101'));
  expect((await checked()).damages).toMatchObject([{ part: "manifest", file: "collection.json" }]);
  rmSync(join(folder(), "collection.json"));
  expect((await checked()).damages).toMatchObject([{ part: "manifest", what: "it is missing" }]);
  const base = fileOf("base");
  await flipped(base, sectionsOf(join(folder(), base))[3]!.offset, async () => expect((await checked()).found).toBe(2));
});

test("what a killed process left is named and is not damage; fingerprints are compared", async () => {
  await KINDS.f32!();
  writeFileSync(join(folder(), "base-00000000000000ff.slab"), "half");
  writeFileSync(join(folder(), "collection.json.tmp-123"), "{");
  appendFileSync(join(folder(), fileOf("delta")), "torn tail");
  const { sound, leftovers } = await checked();
  expect([sound, leftovers.map((one) => one.file)]).toEqual([
    true,
    ["base-00000000000000ff.slab", "collection.json.tmp-123"],
  ]);
  await indexFiles(dir, 1);
  const log = fileWith(join(dir, "repo_symbols"), ".fingerprints");
  expect((await store.check()).map(({ name, sound }) => [name, sound])).toEqual([
    ["c", true],
    ["repo_symbols", true],
  ]);
  flipBits(log, -9);
  const [, second] = await store.check();
  expect(second).toMatchObject({ sound: false, found: 1, damages: [{ part: "fingerprints", file: basename(log) }] });
  await expect(store.check({ names: ["nowhere"] })).rejects.toThrow(ValueError);
});

test("a save under way and a compaction are not damage", async () => {
  await KINDS.f32!();
  const other = await localStore(dir);
  const c = await other.openCollection("c");
  let stop = false;
  const busy = (async () => {
    for (let i = 0; !stop; i++) {
      await c.upsert(unitVectors(1, DIM, random(i)), { ids: ["x"] });
      await c.save();
      if (i % 3 === 0) await c.compact();
    }
  })();
  for (let i = 0; i < 20; i++) expect(await checked()).toMatchObject({ sound: true });
  stop = true;
  await busy;
});

test("a folder that cannot be read is an error of that collection", async () => {
  await KINDS.f32!();
  await reopen();
  rmSync(join(folder(), fileOf("base")));
  const { error, sound, found } = await checked();
  expect([sound, found > 0, error]).toEqual([false, true, undefined]);
  expect(() => store.collection("c")).toThrow(OSError);
});
