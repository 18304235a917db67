/** Nodes that share an engine: each has a copy, commits through the engine, and answers as the others do. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { reach } from "../../src/api/generations.ts";
import { LocalStore } from "../../src/api/local-store.ts";
import { REPO_COLLECTION } from "../../src/checks/names.ts";
import type { OSError } from "../../src/errors.ts";
import { ToolRunner } from "../../src/remote/server/call-tool.ts";
import { copyTo } from "../../src/replication/node/move.ts";
import { reportOf } from "../../src/replication/node/report.ts";
import { savedIn } from "../../src/store/directory.ts";
import { LimitedStore } from "../../src/store/limited/view.ts";
import { native } from "../fixture.ts";
import { closedAtEnd } from "../opened.ts";
import type { MemoryEngine } from "./memory-engine.ts";
import { contents, DIM, expectSame as expectSameFiles, type Node, nodeOf, pairOf, rows } from "./memory-nodes.ts";

let engine: MemoryEngine;
let a: Node;
let b: Node;

beforeEach(async () => {
  ({ engine, a, b } = await pairOf());
});

afterEach(async () => {
  await Promise.all([a.follower.close(), b.follower.close()]);
});

const expectSame = () => expectSameFiles(a, b);

test("a row that one node adds is found on the other, and the files are equal", async () => {
  const c = a.store.create("c", { dim: DIM });
  await c.add(rows(10));
  await c.add(rows(3));
  await b.follower.follow();
  const copy = b.store.open("c");
  expect(copy.ids()).toEqual(c.ids());
  await c.add(rows(2));
  await b.follower.follow();
  expect(copy.ids()).toEqual(c.ids());
  expectSame();
});

test("changes of both nodes take turns, and each sees the other's", async () => {
  await a.store.create("c", { dim: DIM }).add(rows(5));
  await b.follower.follow();
  const [one, other] = [a.store.open("c"), b.store.open("c")];
  await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 ? one : other).add(rows())));
  await Promise.all([a.follower.follow(), b.follower.follow()]);
  expect(one.ids().length).toBe(25);
  expect(other.ids()).toEqual(one.ids());
  expectSame();
});

test("an id that another node has added is taken", async () => {
  await a.store.create("c", { dim: DIM }).add(rows(5));
  await b.follower.follow();
  const added = rows();
  await a.store.open("c").add(added);
  await expect(b.store.open("c").add(added)).rejects.toThrow(
    `exists already or stands twice in the call, nothing was added: '${added.ids[0]}'`,
  );
});

test("a compaction's files reach the other node, which goes on from them", async () => {
  const c = a.store.create("c", { dim: DIM });
  for (let i = 0; i < 5; i++) await c.add(rows(20));
  await b.follower.follow();
  await c.delete(c.ids().slice(0, 30));
  await c.compact(undefined, true);
  await b.store.open("c").add(rows(4));
  await a.follower.follow();
  expect(b.store.open("c").ids()).toEqual(c.ids());
  expectSame();
});

test("a node compacts beside the saves of another one, or fails without a trace", async () => {
  const c = a.store.create("c", { dim: DIM });
  for (let i = 0; i < 5; i++) await c.add(rows(20));
  await b.follower.follow();
  await c.compactBeside(new AbortController().signal);
  await b.follower.follow();
  await b.store.open("c").add(rows());
  const before = contents(`${a.store.dir}/c`);
  // Behind by one: the rewrite is of an older state.
  await expect(a.store.open("c").compact()).resolves.toBeDefined();
  expect(before).not.toEqual(contents(`${a.store.dir}/c`));
  await b.follower.follow();
  expectSame();
});

test("a compaction during which another node saves is made again", async () => {
  const c = a.store.create("c", { dim: DIM });
  for (let i = 0; i < 5; i++) await c.add(rows(20));
  await b.follower.follow();
  const put = engine.put.bind(engine);
  let added: Promise<number> | undefined;
  engine.put = async (collection, chunk) => {
    added ??= b.store.open("c").add(rows());
    await added;
    await put(collection, chunk);
  };
  await c.compact();
  expect(a.log.counts.lost).toBe(1);
  await b.follower.follow();
  expect(b.store.open("c").ids()).toEqual(c.ids());
  expect(c.ids().length).toBe(101);
  expectSame();
});

test("a commit that fails leaves nothing, one that is unknown is there once or not at all", async () => {
  const c = a.store.create("c", { dim: DIM });
  await c.add(rows(5));
  for (const next of [
    { fault: "again", isMade: false },
    { fault: "away", isMade: false },
    { fault: "refused", isMade: false },
    { fault: "unknown", isMade: false },
    { fault: "unknown", isMade: true },
  ] as const) {
    const count = c.ids().length;
    const added = rows();
    engine.next.push(next);
    const error = await c.add(added).catch((thrown) => thrown);
    expect(error.message).toContain("failed on command");
    if (next.fault === "unknown") expect((error as OSError).reason).toBe("outcome_unknown");
    await a.follower.follow();
    expect(a.store.open("c").ids().length).toBe(count + Number(next.isMade));
    await c.add(rows());
  }
  await b.follower.follow();
  expect(b.store.open("c").ids()).toEqual(c.ids());
  expectSame();
});

test("staged changes are made again on what another node has saved meanwhile", async () => {
  await a.store.create("c", { dim: DIM }).add(rows(5));
  await b.follower.follow();
  const c = b.store.open("c");
  await c.stage((t) => t.put(0, rows()));
  await c.stage((t) => t.put(0, rows(2)));
  await a.store.open("c").add(rows());
  await c.save();
  expect(c.ids().length).toBe(9);
  await a.follower.follow();
  expectSame();
});

/** Collection `c` of node b with two staged changes, of which the first is not possible any more. */
async function stagedTooLate() {
  await a.store.create("c", { dim: DIM }).add(rows(5));
  await b.follower.follow();
  const c = b.store.open("c");
  const both = rows();
  await c.stage((t) => t.put(0, both));
  await c.stage((t) => t.put(0, rows(2)));
  await a.store.open("c").add(both);
  return c;
}

test("a staged change that is not possible any more is said to be lost, the others are saved", async () => {
  const c = await stagedTooLate();
  const error = await c.save().catch((thrown) => thrown);
  expect(error.code).toBe("OSError.changes_lost");
  expect(error.message).toStartWith("1 of 2 unsaved changes of collection 'c' are lost");
  expect(c.ids().length).toBe(8);
  await c.add(rows());
  await a.follower.follow();
  expectSame();
});

test("what was lost is reported by the save that succeeds, also if another one was refused before", async () => {
  const c = await stagedTooLate();
  engine.next.push({ fault: "again", isMade: false });
  await expect(c.save()).rejects.toThrow("stay in memory");
  const error = await c.save().catch((thrown) => thrown);
  expect(error.message).toStartWith("1 of 2 unsaved changes of collection 'c' are lost");
  expect(c.ids().length).toBe(8);
});

test("a copy with commits that the database has lost is fetched again", async () => {
  const c = a.store.create("c", { dim: DIM });
  await c.add(rows(5));
  await c.add(rows());
  await b.follower.follow();
  // A standby without the last commit takes over: the node that made it is removed, and the others go on.
  const head = (await engine.head("c"))!;
  const before = contents(`${b.store.dir}/c`);
  const lost = rows();
  await c.add(lost);
  engine.restore("c", head);
  const fresh = await nodeOf(engine);
  await fresh.follower.follow();
  for (let i = 0; i < 3; i++) await fresh.store.open("c").add(rows());
  expect(contents(`${b.store.dir}/c`)).toEqual(before);
  await a.follower.follow();
  expect(a.store.open("c").ids()).toEqual(fresh.store.open("c").ids());
  expect(a.store.open("c").ids()).not.toContain(lost.ids[0]!);
});

test("staged changes stay while the engine is away or refuses", async () => {
  const c = a.store.create("c", { dim: DIM });
  await c.add(rows(5));
  await c.stage((t) => t.put(0, rows()));
  engine.isAway = true;
  await expect(c.save()).rejects.toThrow("1 unsaved change of collection 'c' stay in memory");
  engine.isAway = false;
  engine.next.push({ fault: "again", isMade: false });
  await expect(c.save()).rejects.toThrow("1 unsaved change of collection 'c' stay in memory");
  expect(c.ids().length).toBe(6);
  await c.save();
  await b.follower.follow();
  expectSame();
});

test("a node that is cut off answers from its copy, and refuses changes", async () => {
  const c = a.store.create("c", { dim: DIM });
  await c.add(rows(5));
  engine.isAway = true;
  await a.follower.follow();
  expect(a.follower.outage?.why).toBe("no server answers");
  expect(c.ids().length).toBe(5);
  const error = await c.add(rows()).catch((thrown) => thrown);
  expect(error.code).toBe("OSError.disconnected");
  engine.isAway = false;
  await c.add(rows());
  expect(c.ids().length).toBe(6);
});

test("a node reports what it did, since when the engine is away, and how far each collection is behind", async () => {
  const c = a.store.create("c", { dim: DIM });
  await c.add(rows(5));
  await c.add(rows(5));
  await b.follower.follow();
  const done = reportOf(b.log, b.follower);
  expect(done).toMatchObject({ commits: 0, away_since: null, collections: { c: { generation: 2, behind: 0 } } });
  expect(done.fetched_bytes).toBeGreaterThan(0);
  b.follower.generations = new Map([...b.follower.generations, ["c", 5], ["d", 3]]);
  engine.isAway = true;
  await b.follower.follow();
  const { away_since, away_why, collections } = reportOf(b.log, b.follower);
  expect([Date.parse(away_since!) <= Date.now(), away_why]).toEqual([true, "no server answers"]);
  expect(collections).toEqual({ c: { generation: 2, behind: 3 }, d: { generation: 0, behind: 3 } });
  expect(reportOf(a.log, a.follower)).toMatchObject({ commits: 2, retries: 0, lost_races: 0 });
});

test("a commit that fails before it reaches the engine frees the collection for other nodes", async () => {
  const c = a.store.create("c", { dim: DIM });
  await c.add(rows(5));
  await b.follower.follow();
  await a.log.begin("c", c.generation, true, 1000);
  await expect(a.log.commit("c", new Uint8Array([1]))).rejects.toThrow();
  expect(await b.log.begin("c", c.generation, true, 1000)).toBe(false);
  await b.log.release("c");
});

test("the index of a repository stays on its machine", async () => {
  await a.store.create("c", { dim: DIM }).add(rows(5));
  const lease = await engine.lease(REPO_COLLECTION);
  await lease.swap((await engine.head("c"))!, []);
  await b.follower.follow();
  expect(savedIn(b.store.dir)).toEqual(["c"]);
  const site = { ...(await native()), dir: a.store.dir, signal: new AbortController().signal, onProgress: () => {} };
  await expect(copyTo(engine, site, REPO_COLLECTION)).rejects.toThrow("index of a repository");
});

test("a query waits until its node has a generation, and says what both are where it does not come", async () => {
  const c = a.store.create("c", { dim: DIM });
  await c.add(rows(5));
  const wanted = { store: b.store, name: "c", following: b.follower };
  await reach(wanted, c.generation);
  expect(b.store.open("c").count()).toBe(5);
  const failure = async (name: string, generation: number) => {
    const error = await reach({ ...wanted, name }, generation, 50).catch((thrown) => thrown);
    return `${error.code}: ${error.message}`;
  };
  expect(await failure("c", 9)).toMatch(
    /^TimeoutError.behind: .*at generation 1 here, and 9 is wanted; the database has 1/,
  );
  expect(await failure("missing", 1)).toStartWith("ValueError.no_collection: ");
  const nothing = { allows: () => false, refuseChanges() {}, chargeCollection: () => ({ keep() {}, takeBack() {} }) };
  const hidden = reach({ ...wanted, store: new LimitedStore(b.store, nothing) }, 9, 50).catch((thrown) => thrown);
  expect((await hidden).message).toBe("collection 'c' does not exist (create it first)");
  engine.isAway = true;
  expect(await failure("c", 9)).toMatch(/the database has not answered since \d{4}-.* UTC: no server answers/);
});

test("answers say since when the engine is away", async () => {
  const { kernel, ...libraries } = await native();
  const close = async () => {};
  const { log, follower } = a;
  const store = new LocalStore(
    log.dir,
    { kernel, ...libraries },
    "0.0.0-test",
    undefined,
    {},
    {},
    { log, follower, close },
  );
  const c = await closedAtEnd(store).createCollection("c", { embedder: "multigram", lexical: true });
  await c.addTexts(["some words"], { ids: ["a"] });
  await c.save();
  await c.buildLexical();
  const answers = async () => [
    await c.search(new Float32Array((await c.stats()).dim)),
    await c.searchText("words"),
    await c.searchHits("words"),
    await c.searchLexical("words"),
    await new ToolRunner(store, kernel)
      .call({ name: "svc_get", arguments: { collection: "c", ids: ["a"] } } as never, null as never, {})
      .then(({ json }) => json),
  ];
  expect(JSON.stringify(await answers())).not.toContain("has not answered");
  engine.isAway = true;
  await a.follower.follow();
  for (const answer of await answers()) {
    expect(JSON.stringify(answer)).toMatch(
      /the database has not answered since .* UTC: this is from this machine's copy/,
    );
  }
});
