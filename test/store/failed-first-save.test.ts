/** A first save that fails leaves no folder; what another process or a person has put there stays. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../src/errors.ts";
import { native, openStore, scratchDir, TestMemory } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { interruptedFirstSave } from "./unreadable-folders.ts";

const ENOSPC = 28;
const row = (id = "a") => ({ ids: [id], vectors: unitVectors(1, 8, random(1)) });
/** Folders in a memory directory, which the first save makes. */
const there = (dir: string) => (existsSync(dir) ? readdirSync(dir) : []);

test("each call of a first save failing once or from then on: no folder, or the whole collection", async () => {
  const { env } = await native();
  for (const isSticky of [false, true]) {
    let isOver = false;
    for (let nth = 1; !isOver; nth++) {
      const store = await openStore();
      const notes = store.create("notes", { dim: 8, lexical: true });
      env.testFail(nth, ENOSPC, isSticky);
      const error = await notes.add(row()).catch((thrown: unknown) => thrown);
      isOver = env.testFail(0, 0, false) < nth;
      const isSaved = existsSync(join(store.dir, "notes/collection.json"));
      if (error instanceof Error) {
        expect(error).toBeInstanceOf(OSError);
        // An error after the rename says that the change may have been saved.
        const isUnsure = (error as OSError).reason === "outcome_unknown";
        expect([nth, isSaved || isUnsure, there(store.dir)]).toEqual([nth, isUnsure, isUnsure ? ["notes"] : []]);
      }
      // The same object can be saved afterwards.
      if (!isSaved) await notes.add(row());
      expect(notes.ids()).toEqual(["a"]);
      await store.close();
    }
  }
}, 60_000);

test("a put that is refused leaves no folder, and beside other files the folder", async () => {
  const store = await openStore();
  const twice = { ids: ["x", "x"], vectors: unitVectors(2, 8, random(1)) };
  await expect(store.create("notes", { dim: 8 }).add(twice)).rejects.toThrow("'x'");
  expect(there(store.dir)).toEqual([]);
  mkdirSync(join(store.dir, "mine"));
  writeFileSync(join(store.dir, "mine", "thesis.txt"), "years of work");
  await expect(store.create("mine", { dim: 8 }).add(twice)).rejects.toThrow("'x'");
  expect(readdirSync(join(store.dir, "mine"))).toContain("thesis.txt");
  await store.create("notes", { dim: 8 }).add(row());
  interruptedFirstSave(store.dir, "left", "notes");
  await expect(store.create("left", { dim: 8 }).add(twice)).rejects.toThrow("'x'");
  expect(there(store.dir).sort()).toEqual(["mine", "notes"]);
});

test("the folder of another process's first save stays", async () => {
  const store = await openStore();
  const other = await openStore(store.dir);
  const theirs = other.create("notes", { dim: 8 });
  await theirs.stage((t) => t.put(0, row("theirs")));
  const stop = new AbortController();
  const mine = store.create("notes", { dim: 8 }).add(row("mine"), { signal: stop.signal });
  await Bun.sleep(20);
  stop.abort();
  await expect(mine).rejects.toThrow("cancelled");
  expect(readdirSync(join(store.dir, "notes"))).toEqual([".lock"]);
  await theirs.save();
  expect(store.open("notes").ids()).toEqual(["theirs"]);
  await Promise.all([store.close(), other.close()]);
});

const disk = scratchDir();
const mount = process.platform === "linux" ? Bun.which("mount") : null;
const mounted = (...options: string[]) =>
  mount !== null && Bun.spawnSync([mount, "-t", "tmpfs", "-o", options.join(","), "none", disk]).success;
const unmount = () => Bun.spawnSync(["umount", "--lazy", disk]).success;
/** Mounting needs the right to: elsewhere the failing calls above have to do. */
const canMount = mounted("size=1m") && unmount();
let isMounted = false;
beforeAll(() => {
  isMounted = canMount && mounted("size=1m");
});
afterAll(() => {
  if (isMounted) unmount();
});

test.skipIf(!canMount)("on a full disk a collection that cannot be made leaves no folder", async () => {
  const dir = join(disk, "memory");
  const m = await TestMemory.open(dir);
  mkdirSync(dir);
  for (const blocks of [undefined, 245, 240, 230]) {
    const filler = join(disk, "filler");
    const limit = blocks === undefined ? [] : [`count=${blocks}`];
    Bun.spawnSync(["dd", "if=/dev/zero", `of=${filler}`, "bs=4096", ...limit], { stderr: "ignore" });
    const texts = Array.from({ length: 400 }, (_, i) => `note ${i} ${"about ".repeat(20)}`);
    const error = await m.call("add", { collection: "notes", texts }).catch((thrown) => thrown);
    expect(error.code).toBe("OSError.disk_full");
    if (blocks === undefined) {
      const empty = await openStore(dir);
      await expect(empty.create("empty", { dim: 8 }).save()).rejects.toThrow("the disk is full");
      await empty.close();
    }
    expect([blocks, readdirSync(dir)]).toEqual([blocks, []]);
    rmSync(filler);
  }
  expect(await m.call("add", { collection: "notes", texts: ["now"], ids: ["a"] })).toMatchObject({ added: 1 });
});
