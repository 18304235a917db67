/** What an error says of a change is what a fresh look at the disk finds: that it stands as last saved, or may be there. */
import { expect, test } from "bun:test";
import { OSError } from "../../src/errors.ts";
import type { Collection } from "../../src/store/collection.ts";
import { native, openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const ERRNOS = { EIO: 5, EMFILE: 24, ENOSPC: 28 };
/** More system calls than any of these makes. */
const CALLS_MAX = 200;

let made = 0;
function row() {
  made++;
  return { ids: [`row ${made}`], vectors: unitVectors(1, DIM, random(made)), texts: [`text ${made}`] };
}

const OPERATIONS: Record<string, (c: Collection) => Promise<unknown>> = {
  add: (c) => c.add(row()),
  delete: (c) => c.delete([c.ids()[0]!]),
  save: (c) => c.save(),
  compact: (c) => c.compact(),
  "build of a lexical index": (c) => c.buildLexical(1.2, 0.6),
};

/** The saved state of the collection `c`, as another process opens it. */
async function found(dir: string): Promise<{ generation: number; ids: string[] }> {
  const store = await openStore(dir);
  const collection = store.open("c");
  const state = { generation: collection.stats().generation, ids: collection.ids() };
  await store.close();
  return state;
}

test.each(Object.keys(OPERATIONS))(
  "the n-th call of a %s fails, for every n",
  async (name) => {
    const { env } = await native();
    const seen = { stands: 0, unsure: 0, stays: 0 };
    for (const errno of Object.values(ERRNOS)) {
      const store = await openStore();
      const collection = store.create("c", { dim: DIM, lexical: true });
      // A delete that meets a full disk is carried out: each takes a row.
      for (let i = 0; i < 60; i++) await collection.add(row());
      // Twice each: a change makes some calls more or fewer after one that failed.
      let before = await found(store.dir);
      for (let nth = 1; nth < CALLS_MAX; nth += 0.5) {
        if (name === "save") await collection.stage((t) => t.put(0, row()));
        env.testFail(Math.floor(nth), errno, false);
        const error = await OPERATIONS[name]!(collection).catch((thrown: unknown) => thrown);
        const isOver = env.testFail(0, 0, false) < Math.floor(nth);
        if (error instanceof OSError && error.message.endsWith("stay in memory until a save succeeds")) {
          expect(error.code).toBe("OSError.disk_full");
          expect(await found(store.dir)).toEqual(before);
          const ids = collection.ids();
          expect(ids.length).toBe(before.ids.length + 1);
          await collection.save();
          before = await found(store.dir);
          expect(before.ids).toEqual(ids);
          seen.stays++;
          continue;
        }
        const after = await found(store.dir);
        if (error instanceof OSError && error.code === "OSError.outcome_unknown") {
          expect(error.message).toMatch(
            /^collection 'c': cannot sync the collection's directory: .*: the change may have been saved; check the collection before you repeat the call$/,
          );
          seen.unsure++;
        } else if (error instanceof OSError) {
          expect(error.message).toEndWith("collection 'c' stands as last saved");
          expect(error.message).not.toContain("may have been saved");
          expect(after).toEqual(before);
          seen.stands++;
        } else {
          expect(error).not.toBeInstanceOf(Error);
          expect(after.generation).toBe(before.generation + 1);
        }
        expect({ generation: collection.stats().generation, ids: collection.ids() }).toEqual(after);
        if (isOver) break;
        before = after;
      }
      await store.close();
    }
    // A delta is synced on a thread of its own: which call is the n-th differs from run to run.
    if (!["add", "delete", "save"].includes(name)) expect(seen.unsure).toBeGreaterThan(0);
    expect(seen.stands).toBeGreaterThan(10);
    // Staged changes outlive a full disk.
    expect(seen.stays > 5).toBe(name === "save");
  },
  60_000,
);
