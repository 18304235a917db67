/**
 * An IVF index that is damaged or missing costs no row and no answer: searches are exact, and a rewrite makes it again.
 */
import { beforeAll, expect, test } from "bun:test";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Trouble } from "../../ffi/ty_reader.ts";
import { changeFile, fileWith } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 16;
const ROWS = 600;
const HEAD = 64;
const query = unitVectors(1, DIM, random(7));
let healthy: string;
let exact: string[];

beforeAll(async () => {
  const store = await openStore();
  healthy = store.dir;
  const rows = store.create("rows", { dim: DIM });
  const ids = Array.from({ length: ROWS }, (_, i) => `r${i}`);
  await rows.add({ ids, vectors: unitVectors(ROWS, DIM, random(1)), metadata: ids.map(() => ({})) });
  expect(await rows.buildIvf(500, 0.8)).toBe(1);
  const asked = await rows.search(query, { topK: 10, targetRecall: 0.8 });
  expect(asked.trouble).toBe(0);
  expect(asked.probedLists).toBeGreaterThan(0);
  exact = (await rows.search(query, { topK: 10, targetRecall: 1 })).rows.map(({ id }) => id);
  await store.close();
});

/** The sections of the slab. */
function section(file: Buffer, entry: number): Buffer {
  const [at, bytes] = [8, 16].map((offset) => Number(file.readBigUInt64LE(64 + 32 * entry + offset)));
  return file.subarray(at, at! + bytes!);
}

function flipped(at: (file: Buffer) => Buffer): (file: Buffer) => Buffer {
  return (file) => {
    at(file)[5]! ^= 0x10;
    return file;
  };
}

const DAMAGE: Record<string, (file: Buffer) => Buffer | undefined> = {
  missing: () => undefined,
  empty: () => Buffer.alloc(0),
  short: (file) => file.subarray(0, file.length / 2),
  header: flipped((file) => file.subarray(8)),
  "section table": flipped((file) => file.subarray(64)),
  "its head": flipped((file) => section(file, 0)),
  centroids: flipped((file) => section(file, 0).subarray(HEAD + 64)),
  "list starts": flipped((file) => section(file, 0).subarray(-64)),
};

test.each(Object.keys(DAMAGE))("%s", async (what) => {
  const dir = scratchDir();
  cpSync(healthy, dir, { recursive: true });
  damaged(dir);
  const path = fileWith(join(dir, "rows"), "ivf-");
  const changed = DAMAGE[what]!(readFileSync(path));
  if (changed) writeFileSync(path, changed);
  else rmSync(path);

  const store = await openStore(dir);
  const rows = store.open("rows");
  const found = await rows.search(query, { topK: 10, targetRecall: 0.8 });
  expect(found.rows.map(({ id }) => id)).toEqual(exact);
  expect(found).toMatchObject({ trouble: Trouble.IVF, probedLists: 0 });
  const many = await rows.searchMany(query, { topK: 10, targetRecall: 0.8 });
  expect(many.map((answer) => [answer.trouble, answer.rows.map(({ id }) => id)])).toEqual([[Trouble.IVF, exact]]);
  expect(rows.stats()).toMatchObject({ damages: 1, ivf_partitions: 0, live_rows: ROWS });
  expect(rows.damages()).toMatchObject([{ part: "ivf", file: basename(path), rows: 0 }]);

  // A save goes on beside it, and other handles open it so.
  await rows.delete([exact[0]!]);
  expect((await openStore(dir)).open("rows").count()).toBe(ROWS - 1);

  // It is trained again, with what it was built with where that can be read.
  await rows.compact();
  expect(rows.stats()).toMatchObject({ damages: 0, ivf_partitions: 1, live_rows: ROWS - 1 });
  const again = await rows.search(query, { topK: 10, targetRecall: 0.8 });
  expect(again.trouble).toBe(0);
  expect(again.probedLists).toBeGreaterThan(0);
  expect(rows.manifest().defaultTargetRecall).toBe(0.8);
  await rows.verify();
});

test("damaged checksums cost nothing: the index is whole", async () => {
  const dir = scratchDir();
  cpSync(healthy, dir, { recursive: true });
  changeFile(fileWith(join(dir, "rows"), "ivf-"), (file) => {
    section(file, 1)[0]! ^= 1;
  });
  const rows = (await openStore(dir)).open("rows");
  const found = await rows.search(query, { topK: 10, targetRecall: 0.8 });
  expect(found.trouble).toBe(0);
  expect(found.probedLists).toBeGreaterThan(0);
  expect(rows.stats()).toMatchObject({ damages: 1, ivf_partitions: 1 });
});
