/** Several writers and readers on one directory: nothing is lost, no reader sees half of a save. */
import { expect, test } from "bun:test";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beginWithin } from "../../src/store/lock/lock.ts";
import { damaged } from "../complete-check.ts";
import { native, openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { runScript } from "../script.ts";

const DIM = 8;
const one = (id: string) => ({ ids: [id], vectors: unitVectors(1, DIM, random(id.length)), texts: [id] });

test("two handles follow each other's saves", async () => {
  const a = await openStore();
  const b = await openStore(a.dir);
  const first = a.create("c", { dim: DIM });
  await first.add(one("x"));
  const second = b.open("c");
  await second.add(one("y"));
  expect(first.ids()).toEqual(["x", "y"]);
  await first.compact();
  expect(second.ids()).toEqual(["x", "y"]);
  await second.delete(["x"]);
  expect(first.count()).toBe(1);
});

test("real processes that write at once lose nothing", async () => {
  const dir = scratchDir();
  const script = `
    const store = await openStore(process.argv[1]);
    const collection = store.find("c") ?? store.create("c", { dim: ${DIM} });
    for (let i = 0; i < 15; i++) {
      const id = process.argv[2] + "-" + i;
      await collection.add({ ids: [id], vectors: unitVectors(1, ${DIM}, random(i + 1)), texts: [id] });
      if (i === 7) await collection.compact();
    }
    await store.close();
    process.exit(0);`;
  const workers = ["p", "q", "r"].map((name) => runScript(script, dir, name));
  expect(await Promise.all(workers.map((worker) => worker.exited))).toEqual([0, 0, 0]);
  const store = await openStore(dir);
  const ids = store.open("c").ids();
  expect(ids.length).toBe(45);
  expect(new Set(ids).size).toBe(45);
  await store.open("c").verify();
}, 60_000);

test("a lock that does not come free is a TimeoutError that names the holder", async () => {
  const { env } = await native();
  const store = await openStore();
  await store.create("c", { dim: DIM }).add(one("x"));
  const holder = env.openCollection(join(store.dir, "c"));
  const waiter = env.openCollection(join(store.dir, "c"));
  holder.begin();
  await expect(beginWithin("c", waiter, undefined, 30)).rejects.toThrow(new RegExp(`process ${process.pid}`));
  holder.rollback();
  await beginWithin("c", waiter, undefined, 30);
  waiter.rollback();
  holder.close();
  waiter.close();
});

test("after any failed system call the collection is the old one or the new one, whole", async () => {
  const { env } = await native();
  const store = await openStore();
  const collection = store.create("c", { dim: DIM });
  await collection.add(one("first"));
  const ENOSPC = 28;
  let expected = ["first"];
  for (let nth = 1; nth < 60; nth++) {
    env.testFail(nth, ENOSPC, false);
    const id = `row-${nth}`;
    const outcome = await collection.add(one(id)).then(
      () => true,
      (error) => {
        expect(error.message).not.toContain(store.dir);
        expect(error.message).toMatch(
          /free some space and try again|may have been saved; check the collection before you repeat the call/,
        );
        return false;
      },
    );
    env.testFail(0, 0, false);
    const fresh = await openStore(store.dir);
    const seen = fresh.open("c").ids();
    await fresh.close();
    const after = [...expected, id];
    // An acknowledged row is there; one that failed is there whole or not at all.
    expect([outcome ? [] : expected, after]).toContainEqual(seen);
    expected = seen;
    expect(collection.ids()).toEqual(expected);
  }
  await collection.verify();
});

test("rows whose manifest is missing are damage, never a free name", async () => {
  const store = await openStore();
  const collection = store.create("c", { dim: DIM });
  await collection.add(one("first"));
  await collection.compact();
  rmSync(join(store.dir, "c/collection.json"));
  damaged(store.dir);
  const other = await openStore(store.dir);
  expect(() => other.open("c")).toThrow(/damaged.*collection\.json is missing/);
  expect(() => other.create("c", { dim: DIM })).toThrow(/damaged/);
});

test("a collection that another process saved first under this name is found, not the unsaved one", async () => {
  const a = await openStore();
  const b = await openStore(a.dir);
  const mine = b.create("c", { dim: DIM, partitionBy: "q" });
  await a.create("c", { dim: DIM, partitionBy: "p" }).add(one("x"));
  await expect(mine.add(one("y"))).rejects.toThrow(/key_name/);
  expect(b.open("c").schema.keyName).toBe("p");
  expect(b.open("c").ids()).toEqual(["x"]);
});

test("a link in place of a collection's folder is refused for reading and for writing", async () => {
  const store = await openStore();
  await store.create("real", { dim: DIM }).add(one("x"));
  symlinkSync(join(store.dir, "real"), join(store.dir, "linked"));
  expect(() => store.open("linked")).toThrow(/is a link/);
  expect(() => store.create("linked", { dim: DIM })).toThrow(/is a link/);
});
