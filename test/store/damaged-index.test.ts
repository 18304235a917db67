/** A damaged lexical index is an error of its own: only queries by words fail, and a rebuild mends it. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type OSError, RuntimeError } from "../../src/errors.ts";
import { damaged } from "../complete-check.ts";
import { openStore, random, unitVectors } from "../fixture.ts";

const DIM = 8;

test("a damaged lexical index is OSError.damaged with a rebuild as its remedy", async () => {
  const store = await openStore();
  const notes = store.create("notes", { dim: DIM, lexical: true });
  const vectors = unitVectors(2, DIM, random(1));
  await notes.add({ ids: ["a", "b"], vectors, texts: ["a word", "another"], metadata: [{}, {}] });
  const unbuilt = await notes.searchLexical("word", { topK: 1 }).catch((error: unknown) => error as RuntimeError);
  expect(unbuilt).toBeInstanceOf(RuntimeError);
  expect((unbuilt as RuntimeError).code).toBe("RuntimeError.no_lexical_index");
  await notes.buildLexical(1.2, 0.6);
  await store.close();
  const path = join(store.dir, "notes", readdirSync(join(store.dir, "notes")).find((f) => f.startsWith("lexical-"))!);
  writeFileSync(path, readFileSync(path).fill(0xff));
  damaged(store.dir);

  const again = (await openStore(store.dir)).open("notes");
  const error = (await again.searchLexical("word", { topK: 1 }).catch((error: unknown) => error)) as OSError;
  expect(error.code).toBe("OSError.damaged");
  expect(error.message).toMatch(/^collection 'notes': the lexical index cannot be read, .*run svc_build_lexical/);
  expect((await again.search(vectors.subarray(0, DIM), { topK: 2 })).rows.map((row) => row.id)).toContain("a");
  await again.buildLexical(1.2, 0.6);
  expect((await again.searchLexical("word", { topK: 1 })).map((row) => row.id)).toEqual(["a"]);
});
