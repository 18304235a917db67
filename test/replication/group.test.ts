/** Calls that wait together are one commit: what each of them gets, and what one that fails does to the others. */
import { beforeEach, expect, test } from "bun:test";
import { withOrigin } from "../../src/origin.ts";
import type { Collection } from "../../src/store/collection.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { DIM, type Node, nodeOf, rows } from "./memory-nodes.ts";

let engine: MemoryEngine;
let node: Node;
let c: Collection;

beforeEach(async () => {
  engine = new MemoryEngine();
  node = await nodeOf(engine);
  c = node.store.create("c", { dim: DIM, lexical: true });
  await c.add(rows(5));
  node.log.counts.commits = 0;
});

const commits = () => node.log.counts.commits;
const put = (given = rows(), mode: 0 | 1 = 0) => c.stage((t) => t.put(mode, given));
/** The code of each call's error; what a call returned. */
const outcomes = (calls: Promise<unknown>[]) =>
  Promise.all(calls.map((call) => call.catch((error) => `${error.code}`)));

/** The error of the next commit. */
function refuse(fault: "again" | "away" | "unknown", isMade = false): void {
  engine.next.push({ fault, isMade });
}

/** The state of another node that follows. */
async function other(): Promise<{ there: Collection; one: Node }> {
  const one = await nodeOf(engine);
  await one.follower.follow();
  return { there: one.store.open("c"), one };
}

test("changes that wait together are one commit, and each gets its own result", async () => {
  const ids = c.ids();
  const added = rows(2);
  const calls = [c.add(added), c.delete([ids[0]!, "nobody"]), c.upsert({ ...rows(2), ids: [ids[1]!, "new"] })];
  expect(await outcomes(calls)).toEqual([2, 1, { inserted: 1, replaced: 1 }]);
  expect(commits()).toBe(1);
  expect((await other()).there.ids().toSorted()).toEqual([...ids.slice(1), ...added.ids, "new"].toSorted());
});

test("calls that arrive while a commit is under way are the next one", async () => {
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let i = 0; i < 5; i++) await c.add(rows());
    }),
  );
  expect(commits()).toBe(5);
  expect((await other()).there.ids().length).toBe(45);
});

test("a call that fails leaves the others as they are, wherever it stands", async () => {
  const [one, two] = [rows(), rows()];
  const calls = [c.add({ ...rows(), ids: [c.ids()[0]!] }), c.add(one), c.add(two), c.add(one), c.delete(two.ids)];
  expect(await outcomes(calls)).toEqual(["KeyError.id_exists", 1, 1, "KeyError.id_exists", 1]);
  expect(commits()).toBe(1);
  expect(c.ids()).toContain(one.ids[0]!);
  expect(c.ids()).not.toContain(two.ids[0]!);
});

test("where all fail, nothing is committed and the lock is free", async () => {
  const taken = { ...rows(), ids: [c.ids()[0]!] };
  expect(await outcomes([c.add(taken), c.add(taken)])).toEqual(["KeyError.id_exists", "KeyError.id_exists"]);
  expect(commits()).toBe(0);
  await (await other()).there.add(rows());
});

test("a call that fails after it has changed something is left out as a whole", async () => {
  const [half, whole] = [rows(), rows()];
  const failing = c.changeTogether(async (t) => {
    await t.put(0, half);
    throw new TypeError("on purpose");
  });
  const calls = [c.add(whole), failing.catch((error) => error.message), c.add(rows())];
  expect(await outcomes(calls)).toEqual([1, "on purpose", 1]);
  expect(commits()).toBe(1);
  const ids = (await other()).there.ids();
  expect(ids).toContain(whole.ids[0]!);
  expect(ids).not.toContain(half.ids[0]!);
  expect(c.ids()).toEqual(ids);
});

test("a call that is cancelled leaves the others as they are", async () => {
  const stop = new AbortController();
  const cancelled = rows();
  const calls = [c.add(rows()), c.add(cancelled, { signal: stop.signal }), c.add(rows())];
  stop.abort();
  expect(await outcomes(calls)).toEqual([1, "CancelledError.cancelled", 1]);
  expect(commits()).toBe(1);
  expect(c.ids()).not.toContain(cancelled.ids[0]!);
  // The first of them too.
  const first = [c.add(rows(), { signal: AbortSignal.abort() }), c.add(rows())];
  expect(await outcomes(first)).toEqual(["CancelledError.cancelled", 1]);
});

test.each([
  ["again", false, "TimeoutError.locked"],
  ["away", false, "OSError.disconnected"],
  ["unknown", false, "OSError.outcome_unknown"],
  ["unknown", true, "OSError.outcome_unknown"],
] as const)("a commit that fails (%s, made: %p) fails for all", async (fault, isMade, code) => {
  const count = c.ids().length;
  refuse(fault, isMade);
  const taken = c.add({ ...rows(), ids: [c.ids()[0]!] });
  expect(await outcomes([c.add(rows()), taken, c.add(rows())])).toEqual([code, "KeyError.id_exists", code]);
  await node.follower.follow();
  expect(node.store.open("c").ids().length).toBe(count + (isMade ? 2 : 0));
  expect(await c.add(rows())).toBe(1);
});

test("changes are made on what another node has committed", async () => {
  const { there } = await other();
  const both = rows();
  const calls = [there.add(both), c.add(rows()), c.add(both)];
  expect(await outcomes(calls)).toEqual([1, 1, "KeyError.id_exists"]);
});

test("the history names all authors, and none whose call has failed", async () => {
  const add = (author: string, given = rows()) => withOrigin({ author, tool: "svc_add" }, () => c.add(given));
  const taken = { ...rows(), ids: [c.ids()[0]!] };
  await outcomes([add("Eve", taken), add("Ada"), add("Bob"), add("Ada")]);
  expect(JSON.parse(c.saves()[0]!.origin)).toEqual({ author: "Ada, Bob", tool: "svc_add" });
});

test("a save has what was staged after it while it waited", async () => {
  const calls = [put(), c.save(), put(), c.save(), put(), c.save()];
  await Promise.all(calls);
  expect(commits()).toBe(1);
  expect(c.hasStaged).toBe(false);
  expect((await other()).there.ids().length).toBe(8);
});

test("a save of what is saved already does not commit what others have staged since", async () => {
  const saves = [put(), c.save()];
  const second = c.save();
  await Promise.all(saves);
  const late = put();
  await Promise.all([second, late]);
  expect(commits()).toBe(1);
  expect(c.hasStaged).toBe(true);
  await c.save();
  expect(commits()).toBe(2);
});

test("what was staged, and what a save takes along, is made on what another node has committed", async () => {
  const { there } = await other();
  await put();
  await there.add(rows());
  await Promise.all([c.save(), put()]);
  expect(commits()).toBe(1);
  expect(c.ids().length).toBe(8);
});

test("a staged change that a save takes along and that fails is the failure of its own call", async () => {
  const taken = put({ ...rows(), ids: [c.ids()[0]!] });
  expect(await outcomes([put(), c.save(), taken, c.save()])).toEqual([
    { inserted: 1, replaced: 0 },
    undefined,
    "KeyError.id_exists",
    undefined,
  ]);
});

test("what a save takes along stays staged where the save is refused, and is lost with it where that is unknown", async () => {
  refuse("again");
  const [, save, along] = [put(), c.save(), put()];
  expect(await outcomes([save, along])).toEqual(["TimeoutError.locked", { inserted: 1, replaced: 0 }]);
  expect(c.hasStaged).toBe(true);
  refuse("unknown");
  expect(await outcomes([c.save(), put()])).toEqual(["OSError.outcome_unknown", "OSError.outcome_unknown"]);
  expect(c.hasStaged).toBe(false);
});

test("the order of different calls stays what it was", async () => {
  const [one, two] = [rows(), rows()];
  await Promise.all([c.add(one), put(two), c.delete(two.ids), put(two), c.save(), c.delete(two.ids)]);
  expect(c.ids()).toContain(one.ids[0]!);
  expect(c.ids()).not.toContain(two.ids[0]!);
});
