/** Metadata that is not what was written is damage: an error that names the row. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { OSError, ValueError } from "../../src/errors.ts";
import { changeFile, fileWith } from "../collection-files.ts";
import { openStore, TestMemory } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const KEPT = '{"scope":"x","note":"kept"}';

test.each([
  ["no JSON", '{"scope":"x","note":"kept!!'],
  ["no object", '["scope:x","note: kept it"]'],
  ["null", "null                       "],
])("metadata that is %s is an OSError wherever it is read", async (_, bytes) => {
  expect(bytes.length).toBe(KEPT.length);
  const store = await openStore();
  // The first row of its block, whose bytes are whole, and no other's are made of them.
  const ids = [...Array.from({ length: 16 }, (_, i) => `good ${i}`), "bad"];
  const metadata = ids.map((id) => (id === "bad" ? JSON.parse(KEPT) : { scope: "x" }));
  await store
    .create("notes", { dim: DIM, lexical: true })
    .add({ ids, vectors: unitVectors(ids.length, DIM, random(1)), texts: ids.map(() => "a word"), metadata });
  await store.open("notes").buildLexical(1.2, 0.6);
  await store.close();
  changeFile(fileWith(join(store.dir, "notes"), "base-"), (slab) => {
    const at = slab.indexOf(KEPT);
    expect(at).toBeGreaterThan(0);
    slab.write(bytes, at);
  });

  const again = (await openStore(store.dir)).open("notes");
  const query = unitVectors(1, DIM, random(2));
  const how = { topK: ids.length, metadata: true };
  const calls: (() => unknown)[] = [
    () => again.get(ids),
    () => again.search(query, how),
    () => again.searchMany(query, how),
    () => again.searchLexical("word", how),
  ];
  for (const call of calls) {
    const error = await (async () => call())().catch((error: unknown) => error as Error);
    expect(error).toBeInstanceOf(OSError);
    expect((error as Error).message).toMatch(
      /^collection 'notes' is damaged: the metadata of row 'bad' does not match its checksum: base-0{15}2\.slab at offset \d+; 'svc mem check notes --repair' saves the rows that can be read, or fetches them from the memory's database; a backup has all rows$/,
    );
  }
  expect(again.get(["good 7"])[0]?.metadata).toEqual({ scope: "x" });
  expect((await again.search(query, { topK: ids.length })).rows).toHaveLength(ids.length);

  const memory = await TestMemory.open(store.dir);
  await expect(memory.call("get", { collection: "notes", ids })).rejects.toThrow(OSError);
});

test("an empty id to go on after is refused, and does not begin at the start again", async () => {
  const memory = await TestMemory.open();
  await memory.call("add", { collection: "notes", texts: ["a", "b"], ids: ["1", "2"] });
  const page = memory.call("ids", { collection: "notes", after: "" });
  await expect(page).rejects.toThrow(ValueError);
  await expect(page).rejects.toThrow(/^after is empty: an id has 1 to 512 bytes$/);
  expect((await memory.call("ids", { collection: "notes", after: null })).ids).toEqual(["1", "2"]);
  expect((await memory.call("ids", { collection: "notes", after: "1" })).ids).toEqual(["2"]);
});
