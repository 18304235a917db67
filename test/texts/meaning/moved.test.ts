/** Vectors of meaning stay where rows come into another collection: by `alter`, and by export and import. */
import { expect, test } from "bun:test";
import { LocalStore } from "../../../src/api/local-store.ts";
import { native, scratchDir } from "../../fixture.ts";
import { call } from "../../memory/calls.ts";
import { closedAtEnd } from "../../opened.ts";
import { hasModel, opened, sentences } from "./fixture.ts";

const filled = { text_rows: 6, meaning_rows: 6 };
const ids = ["a", "b", "c", "d", "e", "f"];

async function notes() {
  const dir = scratchDir();
  const memory = await opened(dir);
  await call(memory, "add", { collection: "notes", texts: sentences(6), ids });
  return { dir, memory };
}

test.skipIf(!hasModel)("an altered collection has the vectors of the old one", async () => {
  const { dir, memory } = await notes();
  await memory.close();
  const store = closedAtEnd(new LocalStore(dir, await native(), "0.0.0-test"));
  await store.alterCollection("notes", { addColumns: ["topic"] });
  const again = await opened(dir);
  await (await again.terminal()).build_meaning({ collection: "notes" }, {}).then((built) => {
    expect(built).toMatchObject({ texts: 6, with_meaning: 6, added: 0 });
  });
});

test.skipIf(!hasModel)("an export with vectors brings them along, for the same texts only", async () => {
  const { memory } = await notes();
  const terminal = await memory.terminal();
  const { rows } = await terminal.export_rows({ collection: "notes", ids, with_vectors: true });
  expect(rows.map(({ meaning }) => meaning?.length)).toEqual(ids.map(() => 152));
  const given = rows.map((row, i) => ({ ...row, where: `line ${i}` }));
  given[0]!.text = "another text";
  given[1]!.meaning = new Uint8Array(7);
  await terminal.import_rows({ collection: "copy", rows: given, schema: {}, times: true }, {});
  expect((await call(memory, "stats", { collection: "copy" })).stats).toMatchObject({ ...filled, meaning_rows: 4 });
});
