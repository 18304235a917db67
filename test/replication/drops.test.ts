/** Collections that a node drops, or makes again, while other nodes have copies of them. */
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SvcError } from "../../src/errors.ts";
import { EngineError, type Head } from "../../src/replication/engine.ts";
import { dropCollection } from "../../src/store/moves.ts";
import type { MemoryEngine } from "./memory-engine.ts";
import { contents, DIM, expectSame, type Node, nodeOf, pairOf, rows } from "./memory-nodes.ts";

let engine: MemoryEngine;
let a: Node;
let b: Node;

beforeEach(async () => {
  ({ engine, a, b } = await pairOf());
  await make(a);
  await b.follower.follow();
});

/** Makes a collection with six rows. */
async function make({ store }: Node) {
  const c = store.create("c", { dim: DIM });
  for (let i = 0; i < 3; i++) await c.add(rows(2));
  return c;
}

const folderOf = ({ store }: Node) => join(store.dir, "c");
const failureOf = (call: Promise<unknown>): Promise<SvcError> =>
  call.then(
    () => undefined,
    (error) => error,
  );

/** As an older version of svc has left it: without the log. */
function forgetLog(node: Node): void {
  const file = join(folderOf(node), ".svc-stored");
  const { log: _, ...files } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify(files));
}

test("a dropped collection is gone from the engine, and from the copies of other nodes", async () => {
  const open = b.store.open("c");
  await dropCollection(a.store, "c");
  expect(await engine.head("c")).toBeUndefined();
  const early = await failureOf(open.add(rows()));
  expect([early.code, early.message]).toEqual([
    "ValueError.no_collection",
    "collection 'c' was dropped by another node",
  ]);
  await b.follower.follow();
  expect([existsSync(folderOf(b)), b.store.list(), b.warnings]).toEqual([false, [], []]);
  expect(() => b.store.open("c")).toThrow("does not exist");
  expect((await failureOf(open.add(rows()))).message).toContain("directory is gone");
  expect(() => open.ids()).toThrow();
  const c = b.store.create("c", { dim: DIM });
  await c.add(rows(2));
  await a.follower.follow();
  expect(a.store.open("c").ids()).toEqual(c.ids());
});

test("a node that was away while a collection was dropped removes its copy when it is back", async () => {
  await dropCollection(a.store, "c");
  engine.isAway = true;
  await b.follower.follow();
  expect(b.store.open("c").ids().length).toBe(6);
  engine.isAway = false;
  const again = await nodeOf(engine, b.store.dir);
  await again.follower.follow();
  expect(existsSync(folderOf(b))).toBe(false);
});

test("staged changes of a dropped collection are said to be lost", async () => {
  const c = b.store.open("c");
  await c.stage((t) => t.put(0, rows(2)));
  await dropCollection(a.store, "c");
  await b.follower.follow();
  expect(b.warnings.join()).toContain("is being changed by");
  const error = await failureOf(c.save());
  expect([error.code, error.message]).toEqual([
    "OSError.changes_lost",
    "collection 'c' was dropped by another node; 2 unsaved changes are lost",
  ]);
  expect(c.hasStaged).toBe(false);
  await b.follower.follow();
  expect(existsSync(folderOf(b))).toBe(false);
});

describe.each([0, 1, 40])("a collection that is made again, with %p more saves", (more) => {
  test("replaces the old one's copy as a whole", async () => {
    const open = b.store.open("c");
    await dropCollection(a.store, "c");
    const c = await make(a);
    for (let i = 0; i < more; i++) await c.add(rows());
    const error = await failureOf(open.add(rows()));
    expect(error.code).toBe("OSError.changes_lost");
    expect(error.message).toContain("was dropped by another node, and made again");
    expect((await failureOf(open.compact())).message).toContain("made again");
    expect(await open.compactBeside(new AbortController().signal).catch((e) => e.message)).toContain("made again");
    await b.follower.follow();
    expect(b.store.open("c").ids()).toEqual(c.ids());
    expect(open.ids()).toEqual(c.ids());
    await open.verify();
    expectSame(a, b);
    await b.store.open("c").add(rows());
    await a.follower.follow();
    expect(b.warnings).toEqual([]);
    expectSame(a, b);
  });

  test("replaces the copy of a node that does not know its log", async () => {
    forgetLog(b);
    await dropCollection(a.store, "c");
    const c = await make(a);
    for (let i = 0; i < more; i++) await c.add(rows());
    await b.follower.follow();
    // Without a proof that the copy was dropped, it goes only where the database is ahead of it.
    if (more === 0) {
      expect((await failureOf(b.store.open("c").add(rows()))).message).toContain("remove the folder 'c'");
      rmSync(folderOf(b), { recursive: true });
      await b.follower.follow();
    }
    expect(b.store.open("c").ids()).toEqual(c.ids());
    expectSame(a, b);
  });
});

describe("a database that was restored from a backup without the collection", () => {
  let before: Record<string, string>;

  beforeEach(() => {
    engine.restore("c", undefined);
    before = contents(folderOf(b));
  });

  test("leaves copies as they are, and is reported once", async () => {
    await b.follower.follow();
    await b.follower.follow();
    expect(b.warnings).toHaveLength(1);
    expect(b.warnings[0]).toStartWith(
      "the copy of collection 'c' cannot follow the database: the database does not contain it and",
    );
    expect((await failureOf(b.store.open("c").add(rows()))).message).toContain("Nothing was changed");
    expect(contents(folderOf(b))).toEqual(before);
    expect(b.store.open("c").ids().length).toBe(6);
  });

  test("leaves them also where the collection is made again there", async () => {
    const other = await nodeOf(engine);
    const c = await make(other);
    for (let i = 0; i < 5; i++) await c.add(rows());
    await b.follower.follow();
    expect(b.warnings[0]).toContain("To go on from the database's state, remove the folder 'c'");
    expect((await failureOf(b.store.open("c").add(rows()))).message).toContain("Nothing was changed");
    expect(contents(folderOf(b))).toEqual(before);
    rmSync(folderOf(b), { recursive: true });
    await b.follower.follow();
    expect(b.store.open("c").ids()).toEqual(c.ids());
  });

  test("leaves them also if an earlier collection of the name was dropped", async () => {
    const other = await nodeOf(engine);
    await make(other);
    await dropCollection(other.store, "c");
    await b.follower.follow();
    expect(b.warnings).toHaveLength(1);
    expect(contents(folderOf(b))).toEqual(before);
  });
});

test("a copy whose log is not stored learns it from the next commit", async () => {
  forgetLog(b);
  await a.store.open("c").add(rows());
  await b.follower.follow();
  await dropCollection(a.store, "c");
  await b.follower.follow();
  expect(existsSync(folderOf(b))).toBe(false);
});

test("a copy that another process of the node replaces meanwhile stands", async () => {
  await dropCollection(a.store, "c");
  const twin = await nodeOf(engine, b.store.dir);
  const isDropped = engine.isDropped.bind(engine);
  engine.isDropped = async (name, log) => {
    engine.isDropped = isDropped;
    await twin.follower.follow();
    await make(twin);
    return isDropped(name, log);
  };
  await b.follower.follow();
  const head: Head = (await engine.head("c"))!;
  expect(b.store.open("c").stats().generation).toBe(head.generation);
  expect(b.store.open("c").ids().length).toBe(6);
});

/** Has every fetch fail after so many chunks. @returns an end of that */
function failAfter(chunks: number): () => void {
  const { get } = engine;
  let left = chunks;
  engine.get = async function* (...call) {
    for await (const chunk of get.call(engine, ...call)) {
      if (left-- <= 0) throw new EngineError("away", "the connection was cut");
      yield chunk;
    }
  };
  return () => {
    engine.get = get;
  };
}

describe.each([0, 1, 2, 3, 4])("a replacement that is cut after %p chunks", (chunks) => {
  test("leaves the old copy as it was, and is made again", async () => {
    await dropCollection(a.store, "c");
    const c = await make(a);
    for (let i = 0; i < 3; i++) await c.add(rows());
    const before = contents(folderOf(b));
    const open = b.store.open("c");
    const goOn = failAfter(chunks);
    await b.follower.follow();
    goOn();
    if (b.warnings.length > 0) {
      expect(contents(folderOf(b))).toEqual(before);
      await open.verify();
    }
    await b.follower.follow();
    expect(open.ids()).toEqual(c.ids());
    expectSame(a, b);
  });

  test("leaves a copy with lost commits as it was", async () => {
    const head = (await engine.head("c"))!;
    const lost = rows(3);
    await b.store.open("c").add(lost);
    engine.restore("c", head);
    for (let i = 0; i < 3; i++) await a.store.open("c").add(rows());
    const open = b.store.open("c");
    const goOn = failAfter(chunks);
    await b.follower.follow();
    goOn();
    // A reader of another process, which has nothing in memory yet.
    const late = (await nodeOf(engine, b.store.dir)).store.open("c");
    await late.verify();
    if (b.warnings.length > 0) expect(late.ids()).toContain(lost.ids[0]!);
    await b.follower.follow();
    expect(open.ids()).toEqual(a.store.open("c").ids());
    expectSame(a, b);
  });
});

test("a change of a copy with lost commits fails, and can be repeated", async () => {
  const head = (await engine.head("c"))!;
  await b.store.open("c").add(rows(3));
  engine.restore("c", head);
  for (let i = 0; i < 3; i++) await a.store.open("c").add(rows());
  const error = await failureOf(b.store.open("c").add(rows()));
  expect([error.code, error.message]).toEqual(["TimeoutError.locked", expect.stringContaining("repeat the call")]);
  await b.follower.follow();
  await b.store.open("c").add(rows());
  await a.follower.follow();
  expectSame(a, b);
});
