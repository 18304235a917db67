/** Writers of several processes take turns: the one that has waited longest is served first. */
import { expect, test } from "bun:test";
import { statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NativeError, Status } from "../../ffi/status.ts";
import type { NativeCollection } from "../../ffi/ty_collection.ts";
import { beginWithin } from "../../src/store/lock/lock.ts";
import { announceWaiting, keepingAnnouncement, lookAtLock, watchWaiting } from "../../src/store/lock/waiting.ts";
import { native, openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const LONG = 30_000;
const one = (id: string) => ({ ids: [id], vectors: unitVectors(1, DIM, random(id.length)), texts: [id] });

test("the writer that has waited longest gets the lock before one that came later", async () => {
  const { env } = await native();
  const store = await openStore();
  await store.create("c", { dim: DIM }).add(one("x"));
  const dir = join(store.dir, "c");
  const lockFile = join(dir, ".lock");
  const open = () => env.openCollection(dir);
  const [holder, early, late] = [open(), open(), open()];
  let [longest, last] = [0, 0];
  const turns = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  for (let rounds = 0; rounds < 10; ) {
    holder.begin();
    [longest, last] = [0, performance.now()];
    const served: string[] = [];
    const waits = async (name: string, collection: NativeCollection) => {
      await beginWithin("c", collection, undefined, LONG, lockFile);
      served.push(name);
      collection.rollback();
    };
    const first = waits("early", early);
    await Bun.sleep(100); // long enough for its pauses to have become long
    const second = waits("late", late);
    await Bun.sleep(2);
    holder.rollback();
    await Promise.all([first, second]);
    // An announcement counts for 100 ms: without the processor for so long, no waiter repeats it.
    longest = Math.max(longest, performance.now() - last);
    if (longest > 50) continue;
    expect(served).toEqual(["early", "late"]);
    rounds++;
  }
  clearInterval(turns);
  for (const collection of [holder, early, late]) collection.close();
});

test("a free lock is left to a process that has waited for it", async () => {
  const store = await openStore();
  const c = store.create("c", { dim: DIM });
  await c.add(one("x"));
  const lockFile = join(store.dir, "c/.lock");
  const since = Date.now() - 1000;
  let isWaiting = true;
  const announcing = setInterval(() => announceWaiting(lockFile, since), 5);
  announceWaiting(lockFile, since);
  const add = c.add(one("yy")).then(() => isWaiting);
  await Bun.sleep(150);
  clearInterval(announcing); // as a process that was killed
  isWaiting = false;
  expect(await add).toBe(false);
  expect(c.count()).toBe(2);
});

test("an announcement counts for as long as it is repeated, and ends with the next holder", async () => {
  const store = await openStore();
  await store.create("c", { dim: DIM }).add(one("x"));
  const lockFile = join(store.dir, "c/.lock");
  expect(lookAtLock(lockFile).firstSince).toBeUndefined();
  const since = Date.now() - 5000;
  announceWaiting(lockFile, since);
  expect(lookAtLock(lockFile).firstSince).toBeCloseTo(since, 0);
  // What the holder does changes while it saves; the waiter is seen after the save all the same.
  keepingAnnouncement(lockFile, () => writeFileSync(lockFile, "saving"));
  expect(lookAtLock(lockFile).firstSince).toBeCloseTo(since, 0);
  await store.open("c").add(one("yy"));
  expect(store.open("c").count()).toBe(2);
  expect(lookAtLock(lockFile).firstSince).toBeUndefined();
  // Nor does one whose clock is ahead, or a file system that keeps no times.
  utimesSync(lockFile, Date.now() / 1000 + 3600, statSync(lockFile).mtime);
  await store.open("c").add(one("zzz"));
  expect(lookAtLock(join(store.dir, "c/none")).firstSince).toBeUndefined();
});

test("a holder sees that another process waits, also one that began to wait before it looked", async () => {
  const store = await openStore();
  await store.create("c", { dim: DIM }).add(one("x"));
  const lockFile = join(store.dir, "c/.lock");
  const busy = {
    begin: () => {
      throw new NativeError(Status.BUSY, 11, "held");
    },
    holder: () => ({ pid: 1 }) as ReturnType<NativeCollection["holder"]>,
  };
  const abort = new AbortController();
  const waiting = beginWithin("c", busy, abort.signal, LONG, lockFile);
  await Bun.sleep(50);
  await new Promise<void>((resolve) => watchWaiting(lockFile, resolve));
  abort.abort();
  await expect(waiting).rejects.toThrow();
});
