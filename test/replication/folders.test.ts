/** Folders of a copy that have something else than a saved collection, and directories that are not one node's alone. */
import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MemoryEngine } from "./memory-engine.ts";
import { DIM, type Node, pairOf, rows } from "./memory-nodes.ts";

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
    "collection 'c' is not that of the database: the folder 'c' has files that do not belong to a collection: remove it",
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
