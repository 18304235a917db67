/** When rows were created and updated, in the verbs: what returns it, what keeps it, and lists bounded by it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { idsAfter } from "../../src/memory/latest.ts";
import { openStore, scratchDir, TestMemory } from "../fixture.ts";

let m: TestMemory;
const c = { collection: "log" };
/** The clock between two calls: each row below is updated later than the one before. */
const marks: number[] = [];

/** Waits until the clock shows a later millisecond. */
async function later(): Promise<number> {
  const now = Date.now();
  while (Date.now() <= now + 1) await Bun.sleep(1);
  return Date.now() - 1;
}

beforeAll(async () => {
  const workspace = scratchDir();
  mkdirSync(join(workspace, "src"));
  writeFileSync(join(workspace, "src/retry.ts"), "export const retry = 'with backoff';\n");
  m = await TestMemory.open(undefined, workspace);
  await m.call("create_collection", { name: "log", filter_columns: ["kind"], lexical: true });
  for (const [i, id] of ["a", "b", "c", "d"].entries()) {
    marks.push(await later());
    const metadata = [{ kind: i % 2 }];
    await m.call("add", { ...c, ids: [id], texts: [`entry ${id} of the log`], metadata });
  }
  marks.push(await later());
  await m.call("upsert", { ...c, ids: ["a"], texts: ["entry a again"], metadata: [{ kind: 0 }] });
  marks.push(await later());
  await m.call("build_lexical", c);
});
afterAll(() => m.close());

const listed = async (bounds: object) => (await m.call("ids", { ...c, ...bounds })).ids;
const row = async (id: string) => (await m.call("get", { ...c, ids: [id] })).rows[0];

describe("created and updated", () => {
  test("are in each row that is found; an upsert keeps the one and renews the other", async () => {
    const [a, b, none] = (await m.call("get", { ...c, ids: ["a", "b", "none"] })).rows;
    expect(b.created).toBe(b.updated);
    expect(b.created).toBeGreaterThan(marks[1]!);
    expect(b.created).toBeLessThanOrEqual(marks[2]!);
    expect(a.created).toBeLessThanOrEqual(marks[1]!);
    expect(a.updated).toBeGreaterThan(marks[4]!);
    expect(none).toEqual({ id: "none", found: false });
  });

  test("an update renews, a delete and an add begin again, a failed add changes nothing", async () => {
    await m.call("add", { ...c, ids: ["x"], texts: ["x"] });
    const first = await row("x");
    await later();
    await expect(m.call("add", { ...c, ids: ["y", "x"], texts: ["y", "x"] })).rejects.toThrow(/'x'/);
    expect(await row("x")).toEqual(first);
    await m.call("update", { ...c, ids: ["x"], texts: ["x"] });
    const second = await row("x");
    expect(second.created).toBe(first.created);
    expect(second.updated).toBeGreaterThan(first.updated);
    await m.call("delete", { ...c, ids: ["x"] });
    await later();
    await m.call("add", { ...c, ids: ["x"], texts: ["x"] });
    expect((await row("x")).created).toBeGreaterThan(second.updated);
    await m.call("delete", { ...c, ids: ["x"] });
  });

  test("searches return them with with_times, and stay as they were without", async () => {
    const { created, updated } = await row("b");
    for (const verb of ["search", "search_lexical"] as const) {
      const bare = (await m.call(verb, { ...c, query: "entry b", top_k: 1 })).hits[0];
      expect(Object.keys(bare)).not.toContainAnyValues(["created", "updated"]);
      const [hit] = (await m.call(verb, { ...c, query: "entry b", top_k: 1, with_times: true, with_text: true })).hits;
      expect(hit).toEqual({ ...bare, text: "entry b of the log", created, updated });
    }
    const { hits } = await m.call("search_lexical", { ...c, query: "entry b", explain: true, with_times: true });
    expect(hits[0]).toMatchObject({ explain: expect.any(Array), created, updated });
    const found = await m.call("repo_search", { query: "retry backoff", with_times: true });
    expect(found.hits[0].updated).toBeGreaterThan(marks.at(-1)!);
  });

  test("are the same through another handle, and after a compaction", async () => {
    const before = await row("a");
    const look = async () => {
      const store = await openStore(m.dir);
      const [found] = store.open("log").get(["a"], { times: true });
      await store.close();
      return found!.times!;
    };
    const { created, updated } = before;
    expect(await look()).toEqual({ created, updated });
    await m.call("compact", c);
    expect(await row("a")).toEqual(before);
    expect(await look()).toEqual({ created, updated });
  });
});

describe("lists bounded by time", () => {
  test("since is inclusive, until is exclusive", async () => {
    const { updated } = await row("c");
    expect(await listed({ since: updated })).toEqual(["a", "c", "d"]);
    expect(await listed({ since: updated + 1 })).toEqual(["a", "d"]);
    expect(await listed({ until: updated })).toEqual(["b"]);
    expect(await listed({ until: updated + 1 })).toEqual(["b", "c"]);
    expect(await listed({ since: updated, until: updated })).toEqual([]);
    expect(
      await listed({ since: new Date(updated).toISOString(), until: new Date(updated + 1).toISOString() }),
    ).toEqual(["c"]);
    expect(await listed({ until: 0 })).toEqual([]);
    expect(await listed({ since: "1960-01-01", until: null, newest: null })).toEqual(["a", "b", "c", "d"]);
    expect(await listed({ until: "1960-01-01" })).toEqual([]);
  });

  test("newest first, together with the other bounds", async () => {
    expect(await listed({ newest: 10 })).toEqual(["a", "d", "c", "b"]);
    expect(await listed({ newest: 2 })).toEqual(["a", "d"]);
    expect(await listed({ newest: 3, limit: 1 })).toEqual(["a"]);
    expect(await listed({ newest: 1, limit: 3 })).toEqual(["a"]);
    expect(await listed({ newest: 9, where: { kind: 1 } })).toEqual(["d", "b"]);
    expect(await listed({ newest: 9, until: (await row("d")).updated })).toEqual(["c", "b"]);
    expect(await listed({ since: (await row("c")).updated, after: "a", limit: 1 })).toEqual(["c"]);
  });

  test("rows of one call have the same time: the one that was inserted last is the newest", async () => {
    const batch = { collection: "batch", ids: ["3", "1", "2"], texts: ["x", "y", "z"] };
    await m.call("add", batch);
    const newest = async (n: number) => (await m.call("ids", { collection: "batch", newest: n })).ids;
    expect(await newest(1)).toEqual(["2"]);
    expect(await newest(9)).toEqual(["2", "1", "3"]);
    expect((await m.call("ids", { collection: "batch", newest: 9, limit: 2 })).ids).toEqual(["2", "1"]);
    expect((await m.call("ids", { collection: "batch" })).ids).toEqual(["3", "1", "2"]);
    await m.call("compact", { collection: "batch" });
    expect(await newest(9)).toEqual(["2", "1", "3"]);
    // A row that is replaced keeps its place in the order of insertion.
    await m.call("upsert", { collection: "batch", ids: ["1", "4", "3"], texts: ["y", "w", "x"] });
    const afterUpsert = ["4", "1", "3", "2"];
    expect(await newest(9)).toEqual(afterUpsert);
    await m.call("compact", { collection: "batch" });
    expect(await newest(9)).toEqual(afterUpsert);
    await m.call("update", { collection: "batch", ids: ["2", "3"], texts: ["z again", "x again"] });
    expect(await newest(9)).toEqual(["2", "3", "4", "1"]);
  });

  test("a bad bound names itself and the remedy", async () => {
    const fails = (bounds: object, message: RegExp) => expect(listed(bounds)).rejects.toThrow(message);
    await fails({ since: "last week" }, /^since is the string 'last week', which is not a time: give milliseconds/);
    await fails({ until: true }, /^until must be milliseconds since 1970 or an ISO 8601 string, got true/);
    await fails({ since: 2000, until: 1000 }, /^since \('1970-01-01T00:00:02.000Z'\) is after until/);
    await fails({ newest: 3, after: "a" }, /newest and after exclude each other/);
    await fails({ newest: 0 }, /newest must be an integer of at least 1, got 0/);
  });
});

test("a row that is deleted while a page is read moves no row off the next page", async () => {
  const store = await openStore();
  const rows = store.create("rows", { dim: 2 });
  const vectors = new Float32Array(12).fill(1);
  await rows.add({ ids: ["a", "b", "c", "d", "e", "f"], vectors });
  const before = rows.ids({ newest: 6 });
  const ids = rows.ids.bind(rows);
  rows.ids = () => before.slice(0, 4);
  await rows.delete([before[2]!]);
  const first = idsAfter(rows, { limit: 3 });
  rows.ids = ids;
  const second = idsAfter(rows, { limit: 3, after: first.next });
  expect(first.ids).toEqual(before.slice(0, 3));
  expect(second.ids).toEqual(before.slice(3));
  await store.close();
});
