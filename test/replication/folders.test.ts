/** Folders of a copy that have something else than a saved collection, and directories that are not one node's alone. */
import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkCollection } from "../../src/api/check.ts";
import { LocalStore } from "../../src/api/local-store.ts";
import { damaged } from "../complete-check.ts";
import { native } from "../fixture.ts";
import { closedAtEnd } from "../opened.ts";
import type { MemoryEngine } from "./memory-engine.ts";
import { DIM, expectSame, type Node, nodeOf, pairOf, rows } from "./memory-nodes.ts";

let engine: MemoryEngine;
let a: Node;
let b: Node;

beforeEach(async () => {
  ({ engine, a, b } = await pairOf());
  await a.store.create("c", { dim: DIM }).add(rows(5));
});

const ids = (node: Node) => node.store.open("c").ids();

/** What a killed process may leave of a collection that it was making or fetching. */
const LEFT: Record<string, string[]> = {
  nothing: [],
  "a lock": [".lock"],
  "a first save": [".lock", ".first-save", "base-0000000000000001.slab", "delta-0000000000000001.slab"],
  "a half of a file": [".lock", "base-0000000000000001.slab.tmp-1"],
};

test.each(Object.keys(LEFT))("a folder that has %s is filled", async (name) => {
  mkdirSync(join(b.store.dir, "c"), { recursive: true });
  for (const file of LEFT[name]!) writeFileSync(join(b.store.dir, "c", file), "");
  await b.follower.follow();
  expect(b.warnings).toEqual([]);
  expect(ids(b)).toEqual(ids(a));
  await b.store.open("c").add(rows());
  await a.follower.follow();
  expect(ids(b)).toEqual(ids(a));
  await b.store.open("c").verify();
});

test("a folder with other files is reported, and stands", async () => {
  mkdirSync(join(b.store.dir, "c"), { recursive: true });
  writeFileSync(join(b.store.dir, "c", "letter.txt"), "mine");
  await b.follower.follow();
  await b.follower.follow();
  expect(b.warnings).toEqual([
    "the copy of collection 'c' cannot follow the database: the folder 'c' has files that do not belong to a collection: remove it",
  ]);
  expect(readdirSync(join(b.store.dir, "c")).toSorted()).toEqual(["letter.txt"]);
});

test("a collection that this node makes at the same time is not filled by another one", async () => {
  const put = engine.put.bind(engine);
  await engine.drop("c");
  let followed: Promise<void> | undefined;
  engine.put = async (...call) => {
    followed ??= b.follower.follow();
    await put(...call);
  };
  const made = rows(3);
  await b.store.create("c", { dim: DIM }).add(made);
  await followed;
  await b.follower.follow();
  expect(ids(b)).toEqual(made.ids);
  expect(b.warnings).toEqual([]);
});

const fileOf = (node: Node, kind: string) => {
  const folder = join(node.store.dir, "c");
  return join(folder, readdirSync(folder).find((file) => file.startsWith(kind))!);
};

function flip(node: Node, kind: string): void {
  damaged(join(node.store.dir, "c"));
  const path = fileOf(node, kind);
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
}

/** What `svc mem check c --repair` does. */
async function repaired({ store, log }: Node) {
  const opened = { log, close: async () => {} };
  return closedAtEnd(new LocalStore(store.dir, await native(), "0.0.0-test", undefined, {}, {}, opened)).repair("c");
}

test.each(["base-", "delta-", "history-", "collection.json"])(
  "a repair of a damaged %s fetches the copy again",
  async (kind) => {
    await a.store.open("c").add(rows(3));
    await b.follower.follow();
    const open = b.store.open("c");
    flip(b, kind);
    expect(await repaired(b)).toMatchObject({
      action: "fetched",
      note: "the copy was fetched again from the database",
    });
    expect(ids(b)).toEqual(ids(a));
    await b.store.open("c").add(rows());
    await a.follower.follow();
    expect(ids(a)).toEqual(ids(b));
    expect(open.ids()).toEqual(ids(b));
  },
);

test("a repair leaves what the database does not have, and says so", async () => {
  await b.follower.follow();
  flip(b, "base-");
  const head = await engine.head("c");
  engine.restore("c", undefined);
  await expect(repaired(b)).rejects.toThrow("the database does not contain it and has no record");
  engine.restore("c", { ...head!, generation: 0 });
  await expect(repaired(b)).rejects.toThrow("the database was restored from an older backup");
  expect((await checkCollection(b.store, "c", {})).sound).toBe(false);
});

test("a repair says where the database has the damage", async () => {
  await b.follower.follow();
  flip(b, "base-");
  const { get } = engine;
  engine.get = async function* (...call) {
    for await (const chunk of get.call(engine, ...call)) {
      const bytes = chunk.bytes.slice();
      bytes[bytes.length >> 1]! ^= 1;
      yield call[1].startsWith("base-") ? { ...chunk, bytes } : chunk;
    }
  };
  expect(await repaired(b)).toMatchObject({
    action: "impossible",
    note: expect.stringContaining("restore the database"),
  });
});

/** As where two machines have a directory over a network, or processes of one machine use it. */
test("two nodes on one directory answer as others do", async () => {
  const twin = await nodeOf(engine, a.store.dir);
  await Promise.all([twin.follower.follow(), b.follower.follow()]);
  const nodes = [a, twin, b];
  const added: string[] = [];
  await Promise.all(
    nodes.map(async (node) => {
      for (let i = 0; i < 15; i++) {
        const made = rows();
        await node.store.open("c").add(made);
        added.push(...made.ids);
        if (i % 3 === 0) await node.follower.follow();
      }
    }),
  );
  const never = new AbortController().signal;
  await Promise.all([a, twin].map((node) => node.store.open("c").compactBeside(never)));
  await Promise.all(nodes.map((node) => node.follower.follow()));
  for (const node of nodes) {
    expect(ids(node)).toEqual(expect.arrayContaining(added));
    expect(ids(node)).toEqual(ids(b));
    await node.store.open("c").verify();
  }
  expect(nodes.flatMap(({ warnings }) => warnings)).toEqual([]);
  expectSame(a, b);
});

test("bytes of a save that another machine has changed in the directory are not committed", async () => {
  const c = a.store.open("c");
  await c.add(rows());
  const [head, before] = [await engine.head("c"), ids(a)];
  const { commit } = a.log;
  a.log.commit = (...call) => {
    const path = fileOf(a, "delta-");
    const bytes = readFileSync(path);
    bytes[bytes.length - 40]! ^= 1;
    writeFileSync(path, bytes);
    return commit.apply(a.log, call);
  };
  await expect(c.add(rows())).rejects.toThrow("a directory of its own for its copy");
  a.log.commit = commit;
  expect(await engine.head("c")).toEqual(head);
  await b.follower.follow();
  expect(ids(b)).toEqual(before);
  await c.add(rows());
  await b.follower.follow();
  expect(ids(b)).toEqual(ids(a));
  await b.store.open("c").verify();
});
