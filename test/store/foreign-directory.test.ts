/** A change whose collection was removed, and perhaps made again by another process, fails and changes nothing. */
import { expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../src/errors.ts";
import type { Collection } from "../../src/store/collection.ts";
import { Put } from "../../src/store/writer.ts";
import { contents, openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const rows = (...ids: string[]) => ({ ids, vectors: unitVectors(ids.length, DIM, random(ids.length)), texts: ids });
const stage = (collection: Collection, ...ids: string[]) => collection.stage((t) => t.put(Put.ADD, rows(...ids)));

const ENDS: Record<string, (collection: Collection) => Promise<unknown>> = {
  save: (collection) => collection.save(),
  compact: (collection) => collection.compact(),
  "index build": (collection) => collection.buildLexical(1.2, 0.75),
  "next change": (collection) => collection.add(rows("late")),
};

async function expectForeign(ending: Promise<unknown>): Promise<void> {
  const error = await ending.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(OSError);
  expect((error as OSError).message).toMatch(/directory was removed or replaced: nothing was saved/);
}

for (const [what, end] of Object.entries(ENDS)) {
  for (const saves of [0, 1, 3]) {
    test(`a ${what} of changes staged on ${saves} saves leaves another's collection of that name alone`, async () => {
      const mine = await openStore();
      const theirs = await openStore(mine.dir);
      const dir = join(mine.dir, "c");
      const held = mine.create("c", { dim: DIM, lexical: true });
      for (let i = 0; i < saves; i++) await held.add(rows(`old-${i}`));
      await stage(held, "staged", "and more");

      rmSync(dir, { recursive: true });
      const other = theirs.create("c", { dim: DIM, lexical: true });
      // As many generations as the held change has and one more: the same names for other files.
      for (let i = 0; i <= saves; i++) await other.add(rows(`theirs-${i}`));
      const ids = other.ids();
      const before = contents(dir);

      await expectForeign(end(held));
      expect(contents(dir)).toEqual(before);
      await other.verify();
      expect(other.ids()).toEqual(ids);

      // From here on this process follows the directory.
      expect(held.ids()).toEqual(ids);
      await held.add(rows("mine"));
      expect(other.ids()).toEqual([...ids, "mine"]);
      await held.compact();
      await other.verify();
    });
  }

  test.each([0, 2])(`a ${what} of changes staged on %d saves fails where the directory is gone`, async (saves) => {
    const store = await openStore();
    const dir = join(store.dir, "c");
    const held = store.create("c", { dim: DIM, lexical: true });
    for (let i = 0; i < saves; i++) await held.add(rows(`old-${i}`));
    await stage(held, "staged");
    rmSync(dir, { recursive: true });
    await expectForeign(end(held));
    expect(existsSync(dir)).toBe(false);
    // The name is free.
    const again = store.create("c", { dim: DIM, lexical: true });
    await again.add(rows("x"));
    expect(again.ids()).toEqual(["x"]);
    await again.verify();
  });
}

test("a change under way, which holds nothing staged, fails the same", async () => {
  const mine = await openStore();
  const theirs = await openStore(mine.dir);
  const held = mine.create("c", { dim: DIM });
  await held.add(rows("old"));
  const failed = await held
    .change(async (t) => {
      await t.put(Put.UPSERT, rows("new"));
      rmSync(join(mine.dir, "c"), { recursive: true });
      await theirs.create("c", { dim: DIM }).add(rows("theirs"));
    })
    .catch((error) => error);
  expect(failed).toBeInstanceOf(OSError);
  await theirs.open("c").verify();
  expect(held.ids()).toEqual(["theirs"]);
});
