/** Snapshots: a complete, verified and independent copy, or none at all. */
import { beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { LocalCollection } from "../../src/api/local-collection.ts";
import type { LocalStore } from "../../src/api/local-store.ts";
import { CancelledError, OSError, ValueError } from "../../src/errors.ts";
import { fileWith, flipBits } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { localStore } from "./fixture.ts";

const DIM = 8;
let dir: string;
let target: string;
let store: LocalStore;
let c: LocalCollection;

beforeEach(async () => {
  dir = scratchDir();
  target = join(scratchDir(), "deep", "memory");
  store = await localStore(dir);
  c = await store.createCollection("c", { dim: DIM, lexical: true, filterColumns: ["kind"] });
  await c.add(unitVectors(40, DIM, random(1)), { ids: Array.from({ length: 40 }, (_, i) => `row ${i}`) });
});

/** What a failed snapshot must not leave. */
function leftIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

test("the copy holds what the collection holds, unsaved changes too, and both change independently", async () => {
  await c.save();
  await c.delete(["row 0"]);
  await c.snapshot(target);
  expect(await c.stats()).toMatchObject({ unsaved_changes: false, generation: 2 });
  await c.add(unitVectors(1, DIM, random(2)), { ids: ["later"] });
  await c.save();

  await using there = await localStore(target);
  expect(await there.collections()).toEqual(["c"]);
  const copy = await there.openCollection("c");
  expect(copy.size).toBe(39);
  expect(copy.schema).toMatchObject(c.schema);
  const query = unitVectors(1, DIM, random(3));
  await c.delete(["later"]);
  expect(await copy.search(query)).toEqual(await c.search(query));
  await copy.delete(["row 1"]);
  await copy.compact();
  expect([copy.size, copy.has("row 1"), c.has("row 1")]).toEqual([38, false, true]);
});

test("a collection that was never saved is saved by it, an empty one too", async () => {
  const empty = await store.createCollection("empty", { dim: DIM });
  await empty.snapshot(target);
  expect(await store.collections()).toEqual(["empty"]);
  await using there = await localStore(target);
  expect((await there.openCollection("empty")).size).toBe(0);
});

test("indexes come along", async () => {
  const texts = await store.createCollection("texts", { embedder: "bigram", lexical: true });
  await texts.addTexts(["the cat", "the dog"], { ids: ["cat", "dog"] });
  await texts.buildLexical();
  await texts.buildIvf({ minRows: 0 });
  await texts.snapshot(target);
  await using there = await localStore(target);
  const copy = await there.openCollection("texts");
  expect((await copy.searchLexical("cat")).ids).toEqual(["cat"]);
  expect(await copy.stats()).toMatchObject({ ivf_partitions: 1, lexical_index: { terms: 3 } });
});

test("folders are 0700, files 0600, and only committed files and bytes are copied", async () => {
  await c.save();
  await c.delete(["row 0"]);
  await c.save();
  const source = join(dir, "c");
  const delta = fileWith(source, "delta-");
  appendFileSync(delta, "torn tail of a save that failed");
  writeFileSync(join(source, "base-00000000000000ff.slab"), "no manifest names it");
  chmodSync(delta, 0o644);
  await c.snapshot(target);
  const copy = join(target, "c");
  expect(lstatSync(target).mode & 0o777).toBe(0o700);
  expect(lstatSync(copy).mode & 0o777).toBe(0o700);
  const { files } = JSON.parse(readFileSync(join(copy, "collection.json"), "utf8"));
  const named = files.map((file: { name: string }) => file.name);
  expect(readdirSync(copy).sort()).toEqual([...named, "collection.json"].sort());
  for (const file of files) {
    expect(lstatSync(join(copy, file.name))).toMatchObject({ size: file.bytes, mode: 0o100600 });
  }
  expect(lstatSync(join(copy, "collection.json")).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(copy, "collection.json"))).toEqual(readFileSync(join(source, "collection.json")));
});

test("the id map's header counts the rows that were copied, whatever a failed save left in the source's", async () => {
  await c.save();
  const map = join(dir, "c", "id_map.npy");
  const bytes = readFileSync(map);
  const whole = bytes.toString("latin1", 10, 128);
  expect(whole).toContain("'shape': (40,)");
  bytes.write(whole.replace("(40,)", "(41,)"), 10, "latin1");
  writeFileSync(map, bytes);
  await c.snapshot(target);
  expect(readFileSync(join(target, "c", "id_map.npy")).toString("latin1", 10, 128)).toBe(whole);
});

test("a name that is taken there is a ValueError, and what is there stays", async () => {
  await c.snapshot(target);
  await expect(c.snapshot(target)).rejects.toThrow(ValueError);
  await expect(c.snapshot(dir)).rejects.toThrow(/'c', exists already/);
  const there = await localStore(target);
  await (await there.createCollection("D", { dim: DIM })).save();
  await there.close();
  const d = await store.createCollection("d", { dim: DIM });
  await expect(d.snapshot(target)).rejects.toThrow(/'D', exists already/);

  const elsewhere = scratchDir();
  mkdirSync(join(elsewhere, "c"));
  await c.snapshot(elsewhere); // an empty folder is not a collection
  const linked = scratchDir();
  symlinkSync(elsewhere, join(linked, "c"));
  await expect(c.snapshot(linked)).rejects.toThrow(ValueError);
  expect(leftIn(target).sort()).toEqual(["D", "c"]);
});

test("a damaged source gives no copy, and nothing is left behind", async () => {
  await c.save();
  const path = fileWith(join(dir, "c"), "base-");
  const vector = (await c.get(["row 7"], { withVector: true }))[0]!.vector!;
  flipBits(path, readFileSync(path).indexOf(Buffer.from(vector.buffer)));
  damaged(dir);
  damaged(target);
  const error = await c.snapshot(target).catch((failure) => failure);
  expect(error).toBeInstanceOf(OSError);
  expect(error.message).toContain(basename(path));
  expect(leftIn(target)).toEqual([]);
});

test("a place that cannot be written is an OSError that names no path", async () => {
  const file = join(scratchDir(), "file");
  writeFileSync(file, "");
  const error = await c.snapshot(join(file, "memory")).catch((failure) => failure);
  expect(error).toBeInstanceOf(OSError);
  expect(error.message).not.toContain(file);
});

test("a snapshot that is cancelled half-way leaves nothing", async () => {
  const stop = new AbortController();
  const seen: number[] = [];
  const onProgress = (done: number, total: number) => {
    seen.push(done / total);
    stop.abort();
  };
  const error = await c.snapshot(target, { signal: stop.signal, onProgress }).catch((failure) => failure);
  expect(error).toBeInstanceOf(CancelledError);
  expect(seen.length).toBe(1);
  expect(leftIn(target)).toEqual([]);
  expect(await c.delete(["row 0"])).toBe(1);
});

test("progress ends at the whole", async () => {
  let last = 0;
  await c.snapshot(target, { onProgress: (done, total) => (last = done / total) });
  expect(last).toBe(1);
});

test("writes and compactions of others go on meanwhile, and the copy is one state", async () => {
  await c.save();
  const other = await openStore(dir);
  const theirs = other.open("c");
  let stop = false;
  const busy = (async () => {
    for (let i = 0; !stop; i++) {
      await theirs.upsert({
        ids: ["a", "b"],
        vectors: unitVectors(2, DIM, random(i)),
        metadata: [{ kind: i }, { kind: i }],
      });
      if (i % 3 === 0) await theirs.compact();
    }
  })();
  for (let i = 0; i < 8; i++) {
    const place = join(target, String(i));
    await c.snapshot(place);
    const there = await localStore(place);
    const rows = await (await there.openCollection("c")).get(["a", "b"]);
    expect(rows[0]!.metadata?.kind).toEqual(rows[1]!.metadata?.kind);
    await there.close();
  }
  stop = true;
  await busy;
}, 120_000);
