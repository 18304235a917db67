/** Compaction that no caller asked for: when it is due, who does it, and to what it yields. */
import { expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CancelledError, OSError } from "../../src/errors.ts";
import type { CompactionOptions } from "../../src/store/compaction/compactor.ts";
import { type Counters, compactionMs, dueOf, isSlowToOpen } from "../../src/store/compaction/due.ts";
import { Store } from "../../src/store/store.ts";
import { native, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { runScript } from "../script.ts";

const DIM = 16;
const one = (id: string) => ({ ids: [id], vectors: unitVectors(1, DIM, random(id.length)), texts: [id] });
const many = (n: number) => ({
  ids: Array.from({ length: n }, (_, i) => `m${i}`),
  vectors: unitVectors(n, DIM, random(n)),
});

async function openStore(compaction: CompactionOptions = {}, dir = scratchDir()): Promise<Store> {
  return new Store(dir, (await native()).env, "0.0.0-test", undefined, compaction);
}

/** Waits as long as the test may take. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(10);
}

const NONE: Counters = {
  base_rows: 20_000,
  delta_rows: 0,
  saves: 0,
  base_dead: 0,
  delta_dead: 0,
  base_bytes: 45e6,
  delta_bytes: 0,
  damages: 0,
  ivf_partitions: 0,
};
const cases: [string, Partial<Counters>, number][] = [
  ["a compacted collection", {}, 0],
  ["an empty one", { base_rows: 0, base_bytes: 0 }, 0],
  ["saves of a row", { saves: 220, delta_rows: 220, delta_bytes: 1e6 }, 220 / 220.25],
  ["twice as many", { saves: 441, delta_rows: 441, delta_bytes: 1e6 }, 441 / 220.25],
  ["few large saves", { saves: 3, delta_rows: 14_096, delta_bytes: 30e6 }, 1],
  ["dead rows of the base", { base_dead: 10_000 }, 22.5e6 / (4 * 1024 * 1024 + 22.5e6 / 4)],
  ["dead rows of few", { base_rows: 1, base_bytes: 1e4, saves: 65, delta_rows: 65, delta_dead: 63 }, 65 / 64.008],
  ["known damage", { saves: 5_000, damages: 1 }, 0],
];
test.each(cases)("due: %s", (_, counters, expected) => {
  expect(dueOf({ ...NONE, ...counters })).toBeCloseTo(expected, 3);
});

test("many rows since the last compaction make an open slow", () => {
  const slow = (counters: Partial<Counters>) => isSlowToOpen({ ...NONE, ...counters });
  expect(slow({ base_rows: 500_000, delta_rows: 65_535 })).toBe(false);
  expect(slow({ base_rows: 500_000, delta_rows: 65_536 })).toBe(true);
  expect(slow({ base_rows: 3_000_000, delta_rows: 300_000 })).toBe(false);
  expect(slow({ base_rows: 3_000_000, delta_rows: 400_000 })).toBe(true);
  expect(slow({ base_rows: 3_000_000, delta_rows: 400_000, damages: 1 })).toBe(false);
});

test("the time of a compaction grows with rows and bytes", () => {
  expect(compactionMs(NONE)).toBeCloseTo(290, 0);
  expect(compactionMs({ ...NONE, ivf_partitions: 1 })).toBeCloseTo(870, 0);
});

test("in the background, after many saves, and the history stays", async () => {
  const store = await openStore({ background: true });
  const c = store.create("c", { dim: DIM });
  for (let i = 0; i < 80; i++) await c.add(one(`r${i}`));
  await c.delete(["r7", "r8"]);
  await until(() => c.stats().base_rows > 60);
  expect(c.stats()).toMatchObject({ live_rows: 78, base_rows: 78, delta_rows: 0, saves: 0 });
  expect(c.saves().length).toBe(81);
  expect(c.changes({ from: 80, to: 82 }, { text: true }).map(({ id, before }) => [id, before?.text])).toEqual([
    ["r7", "r7"],
    ["r8", "r8"],
  ]);
  expect(c.ids()).toHaveLength(78);
});

test("not again where another process has compacted it meanwhile", async () => {
  const store = await openStore({ background: true });
  const elsewhere = await openStore({}, store.dir);
  const c = store.create("c", { dim: DIM });
  for (let i = 0; i < 80; i++) await c.add(one(`r${i}`));
  const compactAside = c.compactAside.bind(c);
  let isOver = false;
  c.compactAside = async (...options) => {
    await elsewhere.open("c").compact(); // after this process saw that it is due, and before it has the lock
    return compactAside(...options).finally(() => (isOver = true));
  };
  await until(() => isOver);
  expect(c.stats().generation).toBe(80 + 1);
  await Promise.all([store.close(), elsewhere.close()]);
});

test("without a pause, once it is overdue", async () => {
  const store = await openStore({ background: true });
  const c = store.create("c", { dim: DIM });
  let saves = 0;
  while (c.stats().base_rows < 100) await c.add(one(`r${saves++}`));
  expect(c.count()).toBe(saves);
});

test("at the end of a process where it is overdue, and not before", async () => {
  const dir = scratchDir();
  for (const [saves, isCompacted] of [
    [80, false],
    [80, true],
  ] as const) {
    const store = await openStore({ atClose: true }, dir);
    const c = store.find("c") ?? store.create("c", { dim: DIM });
    const before = c.count();
    for (let i = 0; i < saves; i++) await c.add(one(`r${before + i}`));
    await store.close();
    const after = await openStore({}, dir);
    expect(after.open("c").stats().saves === 0).toBe(isCompacted);
    expect(after.open("c").count()).toBe(before + saves);
    await after.close();
  }
});

test("it yields to a write of this process, and to one of another", async () => {
  const [store, other] = [await openStore(), await openStore()];
  const c = store.create("c", { dim: DIM });
  await c.add(many(40_000));
  const never = new AbortController().signal;
  const first = c.compactAside(never, 0);
  const added = c.add(one("queued"));
  await expect(first).rejects.toBeInstanceOf(CancelledError);
  expect(await added).toBe(1);
  const elsewhere = (await openStore({}, store.dir)) satisfies Store;
  const waiting = elsewhere.open("c");
  // On a busy machine a compaction may end before the other one has waited for it.
  let foreign = 0;
  for (let isCancelled = false; !isCancelled; ) {
    expect(foreign).toBeLessThan(20);
    const second = c.compactAside(never, 0).then(
      () => false,
      (error: unknown) => error instanceof CancelledError,
    );
    await Bun.sleep(1); // it has the lock
    expect(await waiting.add(one(`foreign ${foreign++}`))).toBe(1);
    isCancelled = await second;
  }
  const rows = 40_001 + foreign;
  expect(c.count()).toBe(rows);
  expect(await c.compactAside(never, 0)).toBe(true);
  expect(c.stats()).toMatchObject({ base_rows: rows, saves: 0 });
  await Promise.all([store.close(), other.close(), elsewhere.close()]);
});

test("never with unsaved changes, nor while another process writes", async () => {
  const [store, other] = [await openStore(), await openStore()];
  const never = new AbortController().signal;
  const c = store.create("c", { dim: DIM });
  await c.add(one("x"));
  await c.stage((t) => t.delete(["x"]));
  expect(await c.compactAside(never, 0)).toBe(false);
  expect(c.hasStaged).toBe(true);
  const elsewhere = await openStore({}, store.dir);
  expect(await elsewhere.open("c").compactAside(never, 0)).toBe(false);
  await c.save();
  expect(await elsewhere.open("c").compactAside(never, 0)).toBe(true);
  await Promise.all([store.close(), other.close(), elsewhere.close()]);
});

test("closing stops it", async () => {
  const store = await openStore({ background: true });
  const c = store.create("c", { dim: DIM });
  await c.add(many(1000));
  for (let i = 0; i < 150; i++) await c.add(one(`r${i}`));
  await store.close(); // the pause has not passed, or it is under way
  const again = await openStore({}, store.dir);
  expect(again.open("c").count()).toBe(1150);
});

test("one that would keep writes waiting for long runs beside them", async () => {
  const store = await openStore({ background: true });
  const c = store.create("c", { dim: DIM });
  await c.add(one("first"));
  const counters = { ...c.stats(), base_rows: 200_000, base_bytes: 450e6, saves: 3_000, delta_rows: 10_000 };
  expect(dueOf(counters)).toBeWithin(1, 8);
  let begun = 0;
  let aside = 0;
  c.stats = () => counters;
  c.compactAside = async () => aside++ >= 0;
  c.compactBeside = async () => begun++ >= 0;
  for (let i = 0; i < 200; i++) await c.add(one(`r${i}`));
  expect(begun).toBe(0);
  counters.saves = 14_000;
  expect(dueOf(counters)).toBeGreaterThan(8);
  for (let i = 200; i < 400 && begun === 0; i++) await c.add(one(`r${i}`));
  expect(begun).toBeGreaterThan(0);
  expect(aside).toBe(0);
  await store.close();
});

test("after a large import, when the collection is idle", async () => {
  const store = await openStore({ background: true });
  const c = store.create("c", { dim: DIM });
  await c.add(one("first"));
  const counters = { ...c.stats(), base_rows: 400_000, base_bytes: 900e6, delta_rows: 70_000, delta_bytes: 50e6 };
  expect(dueOf(counters)).toBeLessThan(1);
  let begun = 0;
  c.stats = () => counters;
  c.compactBeside = async (_, isStillDue) => {
    expect(isStillDue!()).toBe(true);
    begun++;
    counters.delta_rows = 0;
    return true;
  };
  for (let i = 0; i < 70; i++) await c.add(one(`r${i}`));
  await until(() => begun > 0);
  await store.close();
});

test("a collection that waits for a long compaction of another one is compacted after it", async () => {
  const store = await openStore({ background: true });
  const collections = ["a", "b"].map((name) => store.create(name, { dim: DIM }));
  const begun: string[] = [];
  const { promise: isFreed, resolve: free } = Promise.withResolvers<void>();
  for (const c of collections) {
    await c.add(one("first"));
    const counters = { ...c.stats(), base_rows: 200_000, base_bytes: 450e6, saves: 3_000, delta_rows: 10_000 };
    c.stats = () => (begun.includes(c.name) ? { ...counters, saves: 0, delta_rows: 0 } : counters);
    c.compactBeside = async () => {
      begun.push(c.name);
      await isFreed;
      return true;
    };
  }
  await until(() => begun.length > 0);
  await Bun.sleep(1200); // the other one is looked at, and has to wait
  expect(begun).toHaveLength(1);
  free();
  await until(() => begun.length > 1);
  expect(begun.toSorted()).toEqual(["a", "b"]);
  await store.close();
});

test("beside writers: nothing that is saved meanwhile is lost", async () => {
  const [store, elsewhere] = [await openStore(), await openStore()];
  const c = store.create("c", { dim: DIM });
  await c.add(many(30_000));
  const other = elsewhere.at(store.dir).open("c");
  await c.delete(["m1", "m2"]);
  let isOver = false;
  const compacted = c.compactBeside(new AbortController().signal).finally(() => {
    isOver = true;
  });
  let saves = 0;
  for (let i = 0; i < 3 || !isOver; i++) {
    const writer = i % 2 === 0 ? c : other;
    await writer.add(one(`while ${i}`));
    await writer.upsert(one("m3"));
    await writer.delete([`m${10 + i}`]);
    saves += 3;
  }
  expect(await compacted).toBe(true);
  for (const collection of [c, other, elsewhere.at(store.dir).open("c")]) {
    expect(collection.count()).toBe(29_998);
    // The base has what was saved before it was begun.
    expect(collection.stats().base_rows).toBeGreaterThan(29_900);
    expect(collection.stats().saves).toBeLessThanOrEqual(saves);
    expect(collection.changes({ from: 0, to: Number.MAX_SAFE_INTEGER, id: "m1" }, {}).map(({ kind }) => kind)).toEqual([
      "added",
      "deleted",
    ]);
    await collection.verify();
  }
  expect(c.saves().length).toBe(saves + 2);
  expect(readdirSync(join(store.dir, "c")).filter((name) => name.includes(".tmp-"))).toEqual([]);
  await Promise.all([store.close(), elsewhere.close()]);
});

test("beside writers: one at a time, not of a dropped collection, and an abort leaves no file", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  const never = new AbortController().signal;
  await c.add(many(20_000));
  expect((await Promise.all([c.compactBeside(never), c.compactBeside(never)])).sort()).toEqual([false, true]);
  expect(await c.compactBeside(never, () => false)).toBe(true);
  await c.delete(["m1"]);
  await expect(c.compactBeside(AbortSignal.abort())).rejects.toBeInstanceOf(CancelledError);
  expect(readdirSync(join(store.dir, "c")).filter((name) => name.includes(".tmp-"))).toEqual([]);
  expect(c.stats()).toMatchObject({ base_rows: 20_000, saves: 1 });
  const late = c.compactBeside(never);
  rmSync(join(store.dir, "c"), { recursive: true });
  expect(await late).toBe(false);
  await store.close();
});

test("what failed is reported, and not tried at each pause", async () => {
  const failures: unknown[] = [];
  const store = await openStore({ background: true, onFailed: (name, error) => failures.push([name, error]) });
  const c = store.create("c", { dim: DIM });
  for (let i = 0; i < 70; i++) await c.add(one(`r${i}`));
  c.compactAside = async () => {
    throw new OSError("the disk is full", "disk_full");
  };
  await until(() => failures.length > 0);
  await c.add(one("later"));
  await Bun.sleep(700);
  expect(failures).toEqual([["c", new OSError("the disk is full", "disk_full")]]);
});

test("processes that write and compact by themselves lose nothing", async () => {
  const dir = scratchDir();
  const script = `
    const store = new Store(process.argv[1], (await native()).env, "0", undefined, { background: true, atClose: true });
    const c = store.find("c") ?? store.create("c", { dim: ${DIM} });
    for (let i = 0; i < 130; i++) {
      const id = process.argv[2] + "-" + i;
      await c.upsert({ ids: [id, "shared"], vectors: unitVectors(2, ${DIM}, random(i + 1)), texts: [id, id] });
      if (c.count() > 500) process.exit(3);
    }
    await store.close();
    process.exit(0);`;
  const workers = ["p", "q", "r"].map((name) => runScript(script, dir, name));
  expect(await Promise.all(workers.map((worker) => worker.exited))).toEqual([0, 0, 0]);
  const store = await openStore({}, dir);
  const c = store.open("c");
  expect(new Set(c.ids()).size).toBe(3 * 130 + 1);
  expect(c.stats().saves).toBeLessThan(3 * 130);
  const saves = c.saves();
  expect(saves.length).toBe(3 * 130);
  expect(saves.reduce((sum, { added }) => sum + added, 0)).toBe(3 * 130 + 1);
  await c.verify();
}, 120_000);
