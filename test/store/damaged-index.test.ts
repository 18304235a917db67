/** A damaged lexical index costs no row: queries by words are answered from the texts, and a rebuild mends it. */
import { expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Trouble } from "../../ffi/ty_reader.ts";
import { type OSError, RuntimeError } from "../../src/errors.ts";
import { fileWith } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;

const lexicalFile = (dir: string) => fileWith(join(dir, "notes"), "lexical-");

test("a damaged lexical index is made again in memory, and by a build", async () => {
  const store = await openStore();
  const notes = store.create("notes", { dim: DIM, lexical: true });
  const vectors = unitVectors(2, DIM, random(1));
  await notes.add({ ids: ["a", "b"], vectors, texts: ["a word", "another"], metadata: [{}, {}] });
  const unbuilt = await notes.searchLexical("word", { topK: 1 }).catch((error: unknown) => error as RuntimeError);
  expect(unbuilt).toBeInstanceOf(RuntimeError);
  expect((unbuilt as RuntimeError).code).toBe("RuntimeError.no_lexical_index");
  await notes.buildLexical(1.2, 0.6);
  await store.close();
  const path = lexicalFile(store.dir);
  writeFileSync(path, readFileSync(path).fill(0xff));
  damaged(store.dir);

  const again = (await openStore(store.dir)).open("notes");
  const words = await again.ask({ by: "words", text: "word" }, { topK: 1 });
  expect(words).toMatchObject({ trouble: Trouble.WORDS, rows: [{ id: "a" }] });
  expect(again.damages()).toMatchObject([{ part: "words", file: basename(path) }]);
  const near = await again.search(vectors.subarray(0, DIM), { topK: 2 });
  expect(near.rows.map((row) => row.id)).toContain("a");
  expect(near.trouble).toBe(0);
  await again.buildLexical(1.2, 0.6);
  expect(await again.ask({ by: "words", text: "word" }, { topK: 1 })).toMatchObject({
    trouble: 0,
    rows: [{ id: "a" }],
  });
});

test("where rows have no texts, a query by words is OSError.damaged and names the repair", async () => {
  const store = await openStore();
  const notes = store.create("notes", { dim: DIM, lexical: true });
  const vectors = unitVectors(2, DIM, random(1));
  const rows = { ids: ["a", "b"], vectors, texts: ["a word", "another"], metadata: [{}, {}] };
  await notes.add({ ...rows, dropText: true });
  await notes.buildLexical(1.2, 0.6);
  await store.close();
  damaged(store.dir);
  rmSync(lexicalFile(store.dir));
  const again = (await openStore(store.dir)).open("notes");
  const error = (await again.searchLexical("word", { topK: 1 }).catch((error: unknown) => error)) as OSError;
  expect(error.code).toBe("OSError.damaged");
  expect(error.message).toMatch(/^collection 'notes': .* 2 rows without a text .*'svc mem check notes --repair'/);
  expect(again.stats().lexical_lost).toBe(2);
});
