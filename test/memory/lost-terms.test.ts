/** The terms of a repository's rows are in its lexical index only: where that is damaged, the files are indexed again. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";

const COLLECTION = "repo_symbols";

function repository(): string {
  const root = scratchDir();
  for (const name of ["anchor", "ballast", "capstan"])
    writeFileSync(join(root, `${name}.txt`), `${name} of the ship\n`.repeat(60));
  return root;
}

/** Each writes over the lexical file, of which it is given the bytes. */
const DAMAGE: Record<string, (path: string, file: Buffer) => void> = {
  missing: (path) => rmSync(path),
  short: (path, file) => writeFileSync(path, file.subarray(0, 200)),
  lists: (path, file) => {
    const [at, length] = [8, 16].map((offset) => Number(file.readBigUInt64LE(64 + offset)));
    const bytes = Number(file.readBigUInt64LE(at! + length! - 64 + 16));
    file.fill(0xff, at! + 64, at! + 64 + bytes);
    writeFileSync(path, file);
  },
};

test.each(Object.keys(DAMAGE))("%s: the next search indexes the files again", async (what) => {
  const [home, root] = [scratchDir(), repository()];
  const first = await TestMemory.open(home);
  const asked = { workspace: root, query: "capstan" };
  const before = await first.call("repo_search", asked);
  await first.close();

  const folder = join(home, COLLECTION);
  const path = join(folder, readdirSync(folder).find((file) => file.startsWith("lexical-"))!);
  DAMAGE[what]!(path, readFileSync(path));
  const memory = await TestMemory.open(home);
  const answer = await memory.call("repo_search", asked);
  expect(answer.notice).toBe(before.notice);
  expect(answer.files).toEqual(before.files);
  expect((await memory.call("stats", { collection: COLLECTION })).stats.lexical_index).not.toBeNull();
  expect(
    (await memory.call("search_lexical", { collection: COLLECTION, query: "capstan" })).hits.length,
  ).toBeGreaterThan(0);
  await memory.close();
});
