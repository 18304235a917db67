/**
 * Drops, renames, rewrites and restores of collections that are killed at each step: what is there afterwards is the
 * old collection or the new one, whole, and the next call removes what was left. With KILLS=all at every step, else at
 * those that move folders and at the syncs between them.
 */
import { expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalStore } from "../../src/api/local-store.ts";
import { scratchDir } from "../fixture.ts";
import { forEachOf } from "../trust/account/kills.ts";
import { localStore } from "./fixture.ts";

const ROWS = 60;
const STEPS = join(import.meta.dir, "kill-steps.ts");
const CHILD = join(import.meta.dir, "kill-child.ts");

/** A memory with the collection, and a backup in which it has one row more. */
async function prepared(): Promise<{ dir: string; backup: string }> {
  const [dir, backup] = [join(scratchDir(), "memory"), join(scratchDir(), "backup")];
  const store = await localStore(dir);
  const notes = await store.createCollection("notes", { dim: 4 });
  const put = (n: number, from = 0) =>
    notes.add(
      Array.from({ length: n }, (_, i) => Float32Array.of(1, from + i, 0, 1)),
      {
        ids: Array.from({ length: n }, (_, i) => `${from + i}`),
        metadata: Array.from({ length: n }, () => ({ lang: "en" })),
      },
    );
  await put(ROWS + 1);
  await notes.describe("what it is for");
  await store.backup(backup, { copy: true });
  await notes.delete([`${ROWS}`]);
  await notes.save();
  await (await store.createCollection("other", { dim: 2 })).save();
  await store.close();
  return { dir, backup };
}

async function run(verb: string, dir: string, backup: string, more: Record<string, string>): Promise<boolean> {
  const child = Bun.spawn([process.execPath, "--preload", STEPS, CHILD, verb, dir, backup], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...more },
    stdout: "ignore",
    stderr: "pipe",
  });
  const [stderr] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (child.signalCode === "SIGKILL") return true;
  if (child.exitCode !== 0) throw new Error(`${verb} ended with ${child.exitCode}: ${stderr}`);
  return false;
}

/** What may be there after a kill; returns whether it is the new state. */
const AFTER: Record<string, (store: LocalStore) => Promise<boolean>> = {
  async drop(store) {
    const isThere = (await store.collections()).includes("notes");
    if (isThere) await whole(store, "notes", ROWS);
    return !isThere;
  },
  async rename(store) {
    const isNew = (await store.collections()).includes("renamed");
    await whole(store, isNew ? "renamed" : "notes", ROWS);
    expect(await store.collections()).toHaveLength(2);
    return isNew;
  },
  async alter(store) {
    const { schema } = await whole(store, "notes", ROWS);
    expect(schema.filterColumns.length).toBe(schema.lexical ? 2 : 1);
    return schema.lexical;
  },
  async restore(store) {
    const isNew = (await store.openCollection("notes")).size === ROWS + 1;
    await whole(store, "notes", isNew ? ROWS + 1 : ROWS);
    return isNew;
  },
};

async function whole(store: LocalStore, name: string, rows: number) {
  const [checked] = await store.check({ names: [name] });
  expect(checked).toMatchObject({ sound: true, found: 0 });
  const collection = await store.openCollection(name);
  expect([collection.size, collection.description]).toEqual([rows, "what it is for"]);
  return collection;
}

test.each(Object.keys(AFTER))("a killed %s leaves the old collection or the new one", async (verb) => {
  const made = await prepared();
  const copy = () => {
    const dir = join(scratchDir(), "memory");
    cpSync(made.dir, dir, { recursive: true });
    return dir;
  };
  const log = join(scratchDir(), "steps");
  const done = copy();
  expect(await run(verb, done, made.backup, { STEPS_LOG: log })).toBe(false);
  const steps = readFileSync(log, "utf8").trim().split("\n");
  const chosen = steps
    .map((name, index) => ({ name, at: index + 1 }))
    .filter(({ name, at }) => {
      const moves = [name, steps[at - 2]].some((one) => /^(?:rename|exchange|rm|mkdtemp)/.test(one ?? ""));
      return process.env.KILLS === "all" || moves;
    });
  expect(chosen.length).toBeGreaterThan(1);
  const seen = new Set<boolean>();
  await forEachOf(chosen, async ({ at }) => {
    const dir = copy();
    expect(await run(verb, dir, made.backup, { KILL_AT: String(at) })).toBe(true);
    await using store = await localStore(dir);
    seen.add(await AFTER[verb]!(store));
    // Nothing else is shown, and the next call removes what was left.
    const left = readdirSync(dir).filter((name) => name.startsWith("."));
    expect(store.overview().map(({ name }) => name)).toEqual(
      readdirSync(dir)
        .filter((name) => !left.includes(name))
        .sort(),
    );
    await store.alterCollection("other", { lexical: true });
    expect(readdirSync(dir).filter((name) => name.startsWith("."))).toEqual([]);
  });
  // The kills were before and after the step that counts.
  expect([...seen].sort()).toEqual([false, true]);
  await using store = await localStore(done);
  expect(await AFTER[verb]!(store)).toBe(true);
});
