/** A repair loses nothing that can be read, names what it loses, and never touches a collection with damaged rows. */
import { beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalStore } from "../../src/api/local-store.ts";
import type { GotRow } from "../../src/api/options.ts";
import { ValueError } from "../../src/errors.ts";
import { changeFile, fileWith, sectionsOf } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { contents, openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { startScript } from "../script.ts";
import { DIM, ids, metadata, ROWS, texts } from "./damage-fixture.ts";
import { freshStore, indexFiles, localStore } from "./fixture.ts";

let dir: string;
let store: LocalStore;

beforeEach(async () => {
  ({ dir, store } = await freshStore());
});

type Kind = "texts" | "few texts" | "f32" | "f16" | "int8" | "int4";
const KINDS: Kind[] = ["texts", "few texts", "f32", "f16", "int8", "int4"];

/** A compacted collection with updated rows, and a delta of several saves. */
async function make(kind: Kind): Promise<void> {
  const isText = kind === "texts" || kind === "few texts";
  const rows = kind === "few texts" ? 20 : ROWS;
  const c = await store.createCollection("c", {
    ...(isText ? { embedder: "multigram", lexical: kind === "texts" } : { dim: DIM, dtype: kind }),
    filterColumns: ["kind"],
  });
  // A repair leaves it to the background to read the texts again.
  if (isText) await store.alterCollection("c", { meaning: false });
  const put = async (from: number, to: number, version: number) => {
    const details = { ids: ids.slice(from, to), metadata: metadata.slice(from, to) };
    if (isText)
      await c.upsertTexts(
        texts.slice(from, to).map((text) => `${text} ${version}`),
        details,
      );
    else await c.upsert(unitVectors(to - from, DIM, random(version)), details);
    await c.save();
    await Bun.sleep(2);
  };
  await put(0, rows, 1);
  await put(3, 9, 2);
  await c.compact();
  await put(5, 8, 3);
  await c.delete(["row 10", "row 11"]);
  await c.save();
  await put(12, 15, 4);
}

interface State {
  rows: GotRow[];
  found: unknown;
}

async function stateOf(name: string): Promise<State> {
  const fresh = await localStore(dir);
  try {
    const c = await fresh.openCollection(name);
    const rows = await c.get(await c.ids(), { withVector: true, withTimes: true });
    const where = { kind: "kind 2" };
    const found = c.schema.embedderProfile ? (await c.searchText("ships of row 7", { where })).ids : await c.ids(where);
    return { rows, found };
  } finally {
    await fresh.close();
  }
}

const folder = (name = "c") => join(dir, name);
const fileOf = (role: string) => readdirSync(folder()).find((name) => name.startsWith(role))!;

const damage = (file: string, change: (bytes: Buffer) => void) => changeFile(join(folder(), file), change);

/** Closes the store, so that what is damaged from here on is read again. */
async function reopen(): Promise<void> {
  await store.close();
  damaged(dir);
  store = await localStore(dir);
}

/** Puts the folders back as they were. */
function restore(files: Record<string, string>): void {
  for (const name of readdirSync(dir)) if (name !== "c") rmSync(join(dir, name), { recursive: true });
  for (const name of readdirSync(folder())) if (!(name in files) && name !== ".lock") rmSync(join(folder(), name));
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder(), name), Buffer.from(bytes, "base64"));
}

test.each(KINDS)(
  "%s: after a flipped bit in any section, block or the manifest every row is there as it was",
  async (kind) => {
    await make(kind);
    await reopen();
    const files = contents(folder());
    const before = rounded(kind, await stateOf("c"));
    let restored = 0;
    const base = fileOf("base");
    const delta = readFileSync(join(folder(), fileOf("delta")));
    const blocks = [...delta.toString("latin1").matchAll(/TBLK/g)].map((match) => match.index);
    const places: [string, number][] = [
      ...sectionsOf(join(folder(), base))
        .filter((one) => one.bytes > 0)
        .map(({ offset, bytes }) => [base, offset + Math.floor(bytes / 2)] as [string, number]),
      [base, 20],
      [base, 45],
      [base, 70],
      ...blocks.flatMap((at): [string, number][] => [
        [fileOf("delta"), at + 9],
        [fileOf("delta"), at + 70],
      ]),
      ["collection.json", 30],
      ["id_map.npy", 150],
    ];
    for (const [file, at] of places) {
      const section = sectionsOfSafely(file, at);
      damage(file, (bytes) => {
        bytes[at]! ^= 2;
      });
      const old = contents(folder());
      await reopen();
      const done = await store.repair("c");
      expect([file, at, section, done.lost_rows, done.lost, done.lost_blocks]).toEqual([file, at, section, 0, [], []]);
      expect([file, at, ["rebuilt", "salvaged"].includes(done.action)]).toEqual([file, at, true]);
      if (done.action === "salvaged") {
        expect(contents(folder())).toEqual(old);
        restored += done.restored_bits;
      }
      const after = rounded(kind, await stateOf(done.to ?? "c"));
      expect([file, at, after]).toEqual([file, at, before]);
      await store.close();
      restore(files);
      store = await localStore(dir);
    }
    expect(restored).toBeGreaterThan(5);
  },
  120_000,
);

/** Codes of decoded codes of four bits differ in the last digits. */
function rounded(kind: Kind, state: State): State {
  if (kind !== "int4") return state;
  const rows = state.rows.map((row) => ({ ...row, vector: row.vector?.map((x) => Math.round(x * 1e3) / 1e3) }));
  return { ...state, rows };
}

/** For a message: which section a place is in. */
function sectionsOfSafely(file: string, at: number): number | undefined {
  if (!file.startsWith("base")) return undefined;
  return sectionsOf(join(folder(), file)).find((one) => one.offset <= at && at < one.offset + one.bytes)?.id;
}

test("of larger damage the rows that can be read are saved, and what is lost is named", async () => {
  await make("texts");
  await reopen();
  const files = contents(folder());
  const before = await stateOf("c");
  const base = fileOf("base");
  const section = (id: number) => sectionsOf(join(folder(), base)).find((one) => one.id === id)!;
  const wipe = (id: number) => damage(base, (bytes) => bytes.fill(0xa5, section(id).offset, section(id).offset + 40));
  const inBase = before.rows.filter(
    (row) => !["row 5", "row 6", "row 7", "row 12", "row 13", "row 14"].includes(row.id),
  );

  // Texts: the embedder's vectors of a vertical base are made of them, so that the rows go with them.
  wipe(12);
  await reopen();
  const noTexts = await store.repair("c");
  // A text has a checksum of its own: forty bytes are of one text, or of two.
  expect(noTexts).toMatchObject({ action: "salvaged", to: "c-repaired" });
  expect([1, 2]).toContain(noTexts.lost_rows);
  expect(noTexts.lost[0]!.parts).toEqual(["text", "row"]);
  expect(noTexts.rows).toBe(before.rows.length - noTexts.lost_rows);
  restore(files);

  // Ids, lines, filter values, times: of ids the rows are lost; lines and filter values are made again.
  for (const [id, lost, most] of [
    [19, [], 0],
    [20, [], 0],
    [32, [], 0],
    [18, [], 0],
    [22, ["times"], inBase.length],
    // Sixteen rows have a checksum together.
    [10, ["metadata"], 16],
  ] as const) {
    wipe(id);
    await reopen();
    const done = await store.repair("c");
    expect([id, done.lost[0]?.parts ?? []]).toEqual([id, [...lost]]);
    expect(done.lost_rows).toBeLessThanOrEqual(most);
    const { rows } = await stateOf(done.to ?? "c");
    expect(rows.map((row) => [row.id, row.text])).toEqual(before.rows.map((row) => [row.id, row.text]));
    await store.close();
    restore(files);
    store = await localStore(dir);
  }
  wipe(8);
  await reopen();
  const noIds = await store.repair("c");
  expect(noIds).toMatchObject({ lost_rows: inBase.length, rows: 6 });
  expect(noIds.lost.every((one) => one.id === null && one.parts[0] === "row")).toBe(true);
});

test.each(["f32", "f16", "int8", "int4"] as const)(
  "%s: a manifest of another dimension or element type costs no row, as the base has both",
  async (kind) => {
    await make(kind);
    await reopen();
    const files = contents(folder());
    const before = rounded(kind, await stateOf("c"));
    const other = kind === "f16" ? "f32" : "f16";
    for (const [said, damagedTo] of [
      [`"dim": ${DIM}`, `"dim": ${DIM + 1}`],
      [`"dim": ${DIM}`, '"dim": 0'],
      [`"dim": ${DIM}`, '"dim": -3'],
      [`"dim": ${DIM}`, '"dim": 1e99'],
      [`"dim": ${DIM}`, `"dam": ${DIM}`],
      [`"dtype": "${kind}"`, `"dtype": "${other}"`],
      [`"dtype": "${kind}"`, '"dtype": "xyz"'],
      [`"dtype": "${kind}"`, '"dtype": null'],
    ] as const) {
      const manifest = join(folder(), "collection.json");
      const text = readFileSync(manifest, "utf8");
      expect(text).toContain(said);
      writeFileSync(manifest, text.replace(said, damagedTo));
      damaged(folder());
      await reopen();
      const done = await store.repair("c");
      expect([damagedTo, done.action, done.lost_rows, done.lost_blocks]).toEqual([damagedTo, "salvaged", 0, []]);
      expect(rounded(kind, await stateOf(done.to!))).toEqual(before);
      await store.close();
      restore(files);
      store = await localStore(dir);
    }
  },
);

test("what precedes a damaged block of a delta is there, and what follows it", async () => {
  await make("f32");
  await reopen();
  const before = await stateOf("c");
  const file = fileOf("delta");
  const delta = readFileSync(join(folder(), file));
  const [, second, third] = [...delta.toString("latin1").matchAll(/TBLK/g)].map((match) => match.index);
  damage(file, (bytes) => bytes.fill(0x5a, second! + 64, third!));
  const done = await store.repair("c");
  expect(done).toMatchObject({ action: "salvaged", lost_rows: 0, lost_blocks: [{ file, offset: second! }] });
  const { rows } = await stateOf("c-repaired");
  // The damaged block deleted two rows.
  const known = rows.filter((row) => row.id !== "row 10" && row.id !== "row 11");
  expect([known, rows.length]).toEqual([before.rows, before.rows.length + 2]);
  await reopen();
  truncateSync(join(folder(), file), third! + 100);
  expect(await store.repair("c", { to: "other" })).toMatchObject({ to: "other", lost_rows: 0 });
});

test("a name that is taken is refused, a second repair takes another, and a lost manifest says what it needs", async () => {
  await make("f32");
  await reopen();
  const { offset } = sectionsOf(join(folder(), fileOf("base"))).find((one) => one.id === 5)!;
  damage(fileOf("base"), (bytes) => bytes.fill(7, offset, offset + 400));
  const old = contents(folder());
  await (await store.createCollection("taken", { dim: 2 })).save();
  await expect(store.repair("c", { to: "taken" })).rejects.toThrow(ValueError);
  expect((await store.repair("c")).to).toBe("c-repaired");
  expect((await store.repair("c")).to).toBe("c-repaired-2");
  expect(contents(folder())).toEqual(old);
  expect(await store.repair("taken")).toMatchObject({ action: "none" });
  rmSync(join(folder(), "collection.json"));
  const lost = await store.repair("c");
  expect([lost.action, lost.note]).toEqual(["impossible", expect.stringContaining("copy that file from a backup")]);
});

test("a FIFO or a link in place of a file is damage, and is not waited for", async () => {
  await make("f32");
  await reopen();
  const base = fileOf("base");
  rmSync(join(folder(), base));
  expect(Bun.spawnSync(["mkfifo", join(folder(), base)]).exitCode).toBe(0);
  expect((await store.check({ names: ["c"] }))[0]).toMatchObject({ sound: false });
  // What was put or replaced since the last compaction is in the delta.
  expect(await store.repair("c")).toMatchObject({ action: "salvaged", rows: 6, lost_blocks: [{ file: base }] });
  rmSync(join(folder(), base));
  symlinkSync(join(folder(), "id_map.npy"), join(folder(), base));
  expect((await store.check({ names: ["c"] }))[0]).toMatchObject({ sound: false });
  expect((await store.backup(join(scratchDir(), "backup"))).failed).toMatchObject([{ name: "c" }]);
});

test("an index of repositories is not salvaged: its files are indexed again", async () => {
  await indexFiles(dir, 5);
  await reopen();
  changeFile(fileWith(join(dir, "repo_symbols"), ".slab"), (bytes) => bytes.fill(1, 200, 400));
  const done = await store.repair("repo_symbols");
  expect(done).toMatchObject({ action: "impossible" });
  expect(done.note).toContain("indexes them again");
});

test("after a kill at any moment the damaged collection is as it was, and the new one is absent or whole", async () => {
  await make("f32");
  await reopen();
  damage(fileOf("base"), (bytes) => {
    bytes[sectionsOf(join(folder(), fileOf("base"))).find((one) => one.id === 5)!.offset]! ^= 1;
  });
  const old = contents(folder());
  const rows = ROWS - 2;
  for (let i = 0; i < 10; i++) {
    const script = `
      const store = await localStore(process.argv[1]);
      console.log("begun");
      await store.repair("c");
      console.log("done");`;
    const child = await startScript(script, dir);
    await Bun.sleep(i * 5);
    child.kill("SIGKILL");
    await child.exited;
    expect(contents(folder())).toEqual(old);
    const fresh = await openStore(dir);
    for (const name of fresh.list().filter((one) => one !== "c")) {
      expect(fresh.open(name).count()).toBe(rows);
      await fresh.open(name).verify();
    }
    await fresh.close();
  }
  expect(await store.repair("c")).toMatchObject({ action: "salvaged", rows });
  expect(existsSync(join(dir, "c-repaired"))).toBe(true);
}, 60_000);
