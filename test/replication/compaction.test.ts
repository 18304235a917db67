/** Compactions that no caller waits for, while other nodes save. */
import { beforeEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { CancelledError } from "../../src/errors.ts";
import { EngineError } from "../../src/replication/engine.ts";
import type { Collection } from "../../src/store/collection.ts";
import type { MemoryEngine } from "./memory-engine.ts";
import { DIM, expectSame, type Node, nodeOf, pairOf, rows } from "./memory-nodes.ts";

const never = new AbortController().signal;

let engine: MemoryEngine;
let a: Node;
let b: Node;
let ids: string[];

/** Adds rows on a node; they have to be there at the end. */
async function add(node: Node, n = 1): Promise<void> {
  const added = rows(n);
  await node.store.open("c").add(added);
  ids.push(...added.ids);
}

beforeEach(async () => {
  ({ engine, a, b } = await pairOf());
  a.store.create("c", { dim: DIM, lexical: true });
  ids = [];
  for (let i = 0; i < 20; i++) await add(a, 20);
  await b.follower.follow();
});

/** Has another node save without a pause while `work` runs. */
async function whileSaved<T>(node: Node, work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const saved = (async () => {
    while (!isOver) await add(node);
  })();
  try {
    return await work();
  } finally {
    isOver = true;
    await saved;
  }
}

/** Both nodes have all rows, in equal files. */
async function expectAll(): Promise<void> {
  await Promise.all([a.follower.follow(), b.follower.follow()]);
  for (const { store } of [a, b]) {
    expect(store.open("c").ids().toSorted()).toEqual(ids.toSorted());
    await store.open("c").verify();
  }
  expectSame(a, b);
  const left = readdirSync(`${a.store.dir}/c`).filter((file) => file.includes(".tmp-"));
  expect(left).toEqual([]);
}

const KINDS: [string, (c: Collection, signal: AbortSignal) => Promise<boolean>][] = [
  ["a short one", (c, signal) => c.compactAside(signal, 0)],
  ["a long one", (c, signal) => c.compactBeside(signal)],
];

test.each(KINDS)("%s succeeds while another node saves without a pause, and nothing is lost", async (_, compact) => {
  const c = a.store.open("c");
  for (let i = 0; i < 3; i++) {
    const before = c.stats().base_rows;
    await whileSaved(b, async () => {
      expect(await compact(c, never)).toBe(true);
    });
    expect(c.stats().base_rows).toBeGreaterThan(before);
  }
  expect(a.log.counts.lost).toBe(0);
  await expectAll();
});

/** Counts the files that are stored, or fetched, while a node has the lease. */
function watchLeases(): { puts: number; gets: number } {
  const { lease, put, get } = engine;
  const under = { puts: 0, gets: 0 };
  let leases = 0;
  engine.lease = async (name) => {
    const held = await lease.call(engine, name);
    leases++;
    const end = () => void leases--;
    return {
      head: held.head,
      swap: (next, chunks) => held.swap(next, chunks).finally(end),
      release: () => held.release().finally(end),
    };
  };
  engine.put = (collection, chunk) => {
    under.puts += Number(leases > 0);
    return put.call(engine, collection, chunk);
  };
  engine.get = (collection, file, from, to) => {
    under.gets += Number(leases > 0);
    return get.call(engine, collection, file, from, to);
  };
  return under;
}

test("files are stored and fetched while others can save", async () => {
  const under = watchLeases();
  const { puts } = engine;
  expect(await a.store.open("c").compactBeside(never)).toBe(true);
  expect(engine.puts - puts).toBeGreaterThan(2);
  expect(under.puts).toBe(0);
  await add(b);
  expect(under.gets).toBe(0);
  await expectAll();
});

test("both nodes compact at once: one of them does it", async () => {
  const compacted = await Promise.all([a, b].map(({ store }) => store.open("c").compactBeside(never)));
  expect(compacted).toContain(true);
  await add(a);
  await add(b);
  await expectAll();
});

test("it was not done if another process replaced the base and removed its files", async () => {
  const beside = await nodeOf(engine, a.store.dir);
  const put = engine.put.bind(engine);
  engine.put = async (...call) => {
    engine.put = put;
    expect(await b.store.open("c").compactBeside(never)).toBe(true);
    await beside.follower.follow();
    expect(await beside.store.open("c").compactBeside(never)).toBe(true);
    await put(...call);
  };
  expect(await a.store.open("c").compactBeside(never)).toBe(false);
  await beside.follower.close();
  await add(a);
  await expectAll();
});

test("an engine that cannot be reached ends one without a trace, and so does a cancel", async () => {
  const c = a.store.open("c");
  const put = engine.put.bind(engine);
  engine.put = async () => {
    throw new EngineError("away", "no server answers");
  };
  await expect(c.compactBeside(never)).rejects.toThrow("no server answers");
  const stop = new AbortController();
  engine.put = async (...call) => {
    stop.abort();
    await put(...call);
  };
  await expect(c.compactBeside(stop.signal)).rejects.toBeInstanceOf(CancelledError);
  engine.put = put;
  await add(b);
  await add(a);
  await expectAll();
  expect(await c.compactBeside(never)).toBe(true);
  await expectAll();
});

test("a node that is behind begins one on the newest state", async () => {
  await add(b, 3);
  expect(await a.store.open("c").compactBeside(never)).toBe(true);
  expect(a.store.open("c").ids()).toContain(ids.at(-1)!);
  await expectAll();
});
