/** A reader in another language, written from FORMAT.md and reading the files alone, sees the same rows. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeKey } from "../../src/store/filter.ts";
import { Store } from "../../src/store/store.ts";
import { compactKeeping, makeStore, NAME, RECIPES } from "../fault/stores.ts";
import { native, scratchDir } from "../fixture.ts";
import { canRead, readByPython } from "./python.ts";

/** What the store says of all rows, in the reader's form. */
async function readByStore(dir: string): Promise<Record<string, unknown>[]> {
  const store = new Store(dir, (await native()).env, "0.0.0-test");
  const notes = store.open(NAME);
  const rows = notes.get(notes.ids(), { metadata: true, text: true, vector: true, times: true });
  const { filterColumns } = notes.schema;
  await store.close();
  return rows.map(({ id, metadata, text, vector, times }) => ({
    id,
    metadata: metadata ?? null,
    text: text ?? null,
    vector: Buffer.from(vector!.buffer, vector!.byteOffset, vector!.byteLength).toString("hex"),
    ...times,
    values: filterColumns.map((column) => Buffer.from(encodeKey(metadata?.[column])).toString("hex")),
  }));
}

test.skipIf(!canRead).each(RECIPES.map((recipe) => [recipe.name, recipe] as const))(
  "%s is read from the files alone (needs python3 with numpy)",
  async (_, recipe) => {
    const { states } = await makeStore(scratchDir(), recipe, await native(), 3);
    // As it was first saved, and with deltas after a base that was made again.
    for (const state of [states[0]!, states.at(-1)!]) {
      const { said, rows } = await readByPython(join(state, NAME));
      expect(said).toBe("");
      expect(rows).toEqual(await readByStore(state));
    }
  },
);

test.skipIf(!canRead)("rows that can be undone are dead ones of the base (needs python3 with numpy)", async () => {
  const { states } = await makeStore(scratchDir(), RECIPES[0]!, await native(), 3);
  const dir = states.at(-1)!;
  const store = new Store(dir, (await native()).env, "0.0.0-test");
  await compactKeeping(store.open(NAME));
  expect(
    store
      .open(NAME)
      .superseded()!
      .rows.map(({ id }) => id),
  ).toEqual(["row-10", "row-91"]);
  await store.close();
  const { said, rows } = await readByPython(join(dir, NAME));
  expect(said).toBe("");
  expect(rows).toEqual(await readByStore(dir));
});

test.skipIf(!canRead)("the reader refuses what differs from what was written (needs python3 with numpy)", async () => {
  const { states } = await makeStore(scratchDir(), RECIPES[0]!, await native(), 3);
  const folder = join(states.at(-1)!, NAME);
  for (const name of readdirSync(folder).filter((file) => /^(base|delta|ivf|lexical)-|^collection/.test(file))) {
    const path = join(folder, name);
    const file = readFileSync(path);
    const changed = Buffer.from(file);
    changed[(file.length >> 1) & ~63]! ^= 1;
    writeFileSync(path, changed);
    expect((await readByPython(folder)).said).not.toBe("");
    writeFileSync(path, file);
  }
});
