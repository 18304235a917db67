/**
 * One durable add beside the system calls that it cannot do without: the block appended and synced, the id map's
 * entry and header, the manifest written, synced and renamed, the directory synced. In turn, of one row each.
 */
import {
  closeSync,
  copyFileSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../src/api/local-store.ts";
import { openBuiltNative } from "../native.ts";
import { scratchFolder } from "./home.ts";
import { type Line, median } from "./measure.ts";

const ROWS = [10_000, 100_000] as const;
const DIM = 64;
const ADDS = 120;
/** Bytes of a row's block in the delta: its header, an operation's, the vector, the id. */
const BLOCK = 512;
const ID_WIDTH = 32;

/** The protocol's calls, on files as large as the collection's. */
class Bare {
  readonly #dir: string;
  readonly #manifest: Buffer;
  #delta: number;
  #ids: number;

  constructor(root: string, collection: string) {
    this.#dir = join(root, "bare");
    mkdirSync(this.#dir);
    this.#manifest = readFileSync(join(collection, "collection.json"));
    const delta = readdirSync(collection).find((name) => name.startsWith("delta-"))!;
    copyFileSync(join(collection, delta), join(this.#dir, "delta"));
    copyFileSync(join(collection, "id_map.npy"), join(this.#dir, "ids"));
    this.#delta = statSync(join(this.#dir, "delta")).size;
    this.#ids = statSync(join(this.#dir, "ids")).size;
  }

  add(): void {
    const delta = openSync(join(this.#dir, "delta"), "r+");
    this.#delta += writeSync(delta, Buffer.alloc(BLOCK), 0, BLOCK, this.#delta);
    fdatasyncSync(delta);
    closeSync(delta);
    const ids = openSync(join(this.#dir, "ids"), "r+");
    this.#ids += writeSync(ids, Buffer.alloc(ID_WIDTH), 0, ID_WIDTH, this.#ids);
    writeSync(ids, Buffer.alloc(128), 0, 128, 0);
    closeSync(ids);
    const next = openSync(join(this.#dir, "manifest.tmp"), "w");
    writeSync(next, this.#manifest);
    fdatasyncSync(next);
    closeSync(next);
    const dir = openSync(this.#dir, "r");
    renameSync(join(this.#dir, "manifest.tmp"), join(this.#dir, "manifest"));
    fsyncSync(dir);
    closeSync(dir);
  }
}

/** Some rows' vectors: what they are does not matter here. */
function vectors(rows: number): Float32Array {
  const out = new Float32Array(rows * DIM);
  for (let i = 0; i < out.length; i++) out[i] = Math.fround(((i * 2654435761) % 1000) / 1000 - 0.5);
  return out;
}

/** Durable adds to a small and a large collection and their bare calls take turns. */
export async function benchDurable(): Promise<Line[]> {
  using folder = scratchFolder();
  const root = folder.path;
  await using store = new LocalStore(root, await openBuiltNative(), "0.0.0-bench");
  const collections = [];
  for (const rows of ROWS) {
    const collection = await store.createCollection(`rows-${rows}`, { dim: DIM });
    await collection.add(vectors(rows));
    await collection.save();
    await collection.add(vectors(1)); // begins a delta
    await collection.save();
    collections.push({ collection, ms: [] as number[] });
  }
  const bare = new Bare(root, join(root, `rows-${ROWS[0]}`));
  const calls: number[] = [];
  const one = vectors(1);
  for (let i = 0; i < ADDS; i++) {
    for (const { collection, ms } of collections) {
      const start = performance.now();
      await collection.add(one);
      await collection.save();
      ms.push(performance.now() - start);
    }
    const start = performance.now();
    bare.add();
    calls.push(performance.now() - start);
  }
  const [small, large] = collections.map(({ ms }) => median(ms)) as [number, number];
  const base = median(calls);
  const against = `the bare calls of the protocol (${base.toFixed(2)} ms)`;
  return [
    ...[small, large].map((ms, i) => ({
      what: `a durable add of one row at ${ROWS[i]} rows`,
      value: ms,
      unit: "ms",
      against,
      ratio: ms / base,
      goal: "at most 1.5",
      met: ms / base <= 1.5,
    })),
    {
      what: `the same at ${ROWS[1]} rows`,
      value: large,
      unit: "ms",
      against: `that at ${ROWS[0]}`,
      ratio: large / small,
      goal: "at most 1.2",
      met: large / small <= 1.2,
    },
  ];
}
