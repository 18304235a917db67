/**
 * The signs of an IVF index exclude rows from approximate answers, and nothing depends on them: where a block of them
 * cannot be read, the rows are read by other codes, and a rewrite makes them again.
 */
import { beforeAll, expect, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { changeFile, fileWith } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 128;
const ROWS = 4000;
const CLUSTERS = 40;
const RECALL = 0.9;
const SIGNS = 2;
let healthy: string;
let queries: Float32Array[];
let right: Set<string>[];

/** Rows near few centres, and queries of the same kind. */
function around(count: number, seed: number): Float32Array {
  const centres = unitVectors(CLUSTERS, DIM, random(3));
  const noise = unitVectors(count, DIM, random(seed));
  return noise.map((x, i) => 0.8 * x + centres[((Math.floor(i / DIM) * 7) % CLUSTERS) * DIM + (i % DIM)]!);
}

beforeAll(async () => {
  const store = await openStore();
  healthy = store.dir;
  const rows = store.create("rows", { dim: DIM });
  const ids = Array.from({ length: ROWS }, (_, i) => `r${i}`);
  await rows.add({ ids, vectors: around(ROWS, 1), metadata: ids.map(() => ({})) });
  expect(await rows.buildIvf(500, RECALL)).toBe(1);
  const all = around(100, 2);
  queries = Array.from({ length: 100 }, (_, i) => all.subarray(i * DIM, (i + 1) * DIM));
  right = [];
  for (const query of queries) {
    const { rows: found } = await rows.search(query, { topK: 10, targetRecall: 1 });
    right.push(new Set(found.map(({ id }) => id)));
  }
  await store.close();
});

/** Where a section of the slab begins, and its bytes. */
function section(file: Buffer, id: number): { at: number; bytes: number } | undefined {
  for (let i = 0; i < file.readUInt32LE(16); i++) {
    const entry = 64 + 32 * i;
    if (file.readUInt32LE(entry) !== id) continue;
    return { at: Number(file.readBigUInt64LE(entry + 8)), bytes: Number(file.readBigUInt64LE(entry + 16)) };
  }
  return undefined;
}

/** Recall of approximate answers, each of which read lists. */
async function recall(rows: ReturnType<Awaited<ReturnType<typeof openStore>>["open"]>): Promise<number> {
  let found = 0;
  for (const [i, query] of queries.entries()) {
    const answer = await rows.search(query, { topK: 10, targetRecall: RECALL });
    expect(answer.trouble).toBe(0);
    expect(answer.probedLists).toBeGreaterThan(0);
    found += answer.rows.filter(({ id }) => right[i]!.has(id)).length;
  }
  return found / (10 * queries.length);
}

test("an index of enough dimensions has signs, and keeps its recall with them", async () => {
  const file = readFileSync(fileWith(join(healthy, "rows"), "ivf-"));
  // A bit a dimension and twelve bytes of each row at least.
  expect(section(file, SIGNS)!.bytes).toBeGreaterThan(ROWS * (DIM / 8 + 12));
  expect(await recall((await openStore(healthy)).open("rows"))).toBeGreaterThanOrEqual(RECALL - 0.02);
});

test.each([
  ["the first block of checksums, which has the centroids", 0],
  ["the last one", 1],
])("damaged: %s", async (_, end) => {
  const dir = scratchDir();
  cpSync(healthy, dir, { recursive: true });
  damaged(dir);
  const path = fileWith(join(dir, "rows"), "ivf-");
  changeFile(path, (file) => {
    const { at, bytes } = section(file, SIGNS)!;
    file[at + end * (bytes - 1)]! ^= 0x10;
  });
  const rows = (await openStore(dir)).open("rows");
  expect(await recall(rows)).toBeGreaterThanOrEqual(RECALL - 0.02);
  expect(rows.damages()).toMatchObject([{ part: "ivf", file: basename(path), rows: 0 }]);
  await rows.delete(["r0"]);
  await rows.compact();
  expect(rows.stats()).toMatchObject({ damages: 0, ivf_partitions: 1, live_rows: ROWS - 1 });
  await rows.verify();
});
