/** The example in FORMAT.md is a collection: the program and the reader in another language see its row and saves. */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { native, openStore, scratchDir } from "../fixture.ts";
import { EXAMPLE, FORMAT, filesOf, makeExample } from "./example.ts";
import { canRead, readByPython } from "./python.ts";
import { type Remembered, rememberedBy } from "./saves.ts";

const ROW = { id: "b", metadata: undefined, text: "he", vector: Float32Array.of(0, 1) };

const BY_TERMINAL = '{"client":"terminal"}';
const SAVES = [
  { save: 1, origin: "", changes: ["added a", "added b"] },
  { save: 2, origin: BY_TERMINAL, changes: ["replaced b of ho"] },
  { save: 4, origin: BY_TERMINAL, changes: ["replaced b of hu"] },
  { save: 5, origin: BY_TERMINAL, changes: ["deleted a of hi"] },
];

/** The same of what was read: each change with the text before it. */
function shortly(saves: readonly Remembered[]) {
  return saves.map(({ save, origin, changes }) => ({
    save,
    origin,
    changes: changes.map(({ id, kind, before }) => `${kind} ${id}${before ? ` of ${before.text}` : ""}`),
  }));
}

function written(): string {
  const dir = scratchDir();
  mkdirSync(join(dir, EXAMPLE));
  for (const [name, bytes] of filesOf(readFileSync(FORMAT, "utf8"))) writeFileSync(join(dir, EXAMPLE, name), bytes);
  return dir;
}

test("the example's bytes are a collection with the row and the saves that it says", async () => {
  const dir = written();
  const store = await openStore(dir);
  const rows = store.open(EXAMPLE);
  await rows.verify();
  expect(rows.ids()).toEqual(["b"]);
  expect(rows.get(["b"], { metadata: true, text: true, vector: true })).toMatchObject([ROW]);
  expect(shortly(rememberedBy(rows))).toEqual(SAVES);
});

test("the same calls make files of the same names and sizes", async () => {
  const [dir, told] = [scratchDir(), written()];
  await makeExample(dir, await native());
  const sizes = (home: string) =>
    readdirSync(join(home, EXAMPLE))
      .filter((name) => /\.(slab|npy)$/.test(name))
      .sort()
      .map((name) => [name, statSync(join(home, EXAMPLE, name)).size]);
  expect(sizes(dir)).toEqual(sizes(told));
});

test.skipIf(!canRead)("the example is read from its bytes alone (needs python3 with numpy)", async () => {
  const { said, rows, saves } = await readByPython(join(written(), EXAMPLE));
  expect(said).toBe("");
  expect(rows).toMatchObject([{ id: "b", metadata: null, text: "he", vector: "000000000000803f", values: ["6e"] }]);
  expect(shortly(saves)).toEqual(SAVES);
});
