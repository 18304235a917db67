/**
 * The terms of a repository's rows are in its lexical index only, and the rows follow from files: where either is
 * damaged, the files are indexed again, and the answer says so.
 */
import { expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileWith } from "../collection-files.ts";
import { scratchDir, TestMemory } from "../fixture.ts";

const COLLECTION = "repo_symbols";
const MENDED = "the index was damaged, and the files were indexed again";
const words = { query: "capstan" };

function repository(): string {
  const root = scratchDir();
  for (const name of ["anchor", "ballast", "capstan"])
    writeFileSync(join(root, `${name}.txt`), `${name} of the ship\n`.repeat(60));
  return root;
}

const sectionOf = (file: Buffer) => {
  const [at, bytes] = [8, 16].map((offset) => Number(file.readBigUInt64LE(64 + offset)));
  return file.subarray(at, at! + bytes!);
};

/** Each writes over the lexical file, of which it is given the bytes. */
const DAMAGE: Record<string, (path: string, file: Buffer) => void> = {
  missing: (path) => rmSync(path),
  short: (path, file) => writeFileSync(path, file.subarray(0, 200)),
  "its head": (path, file) => {
    sectionOf(file)[3]! ^= 4;
    writeFileSync(path, file);
  },
  lists: (path, file) => {
    const index = sectionOf(file);
    index.fill(0xff, 64, 64 + Number(index.readBigUInt64LE(index.length - 64 + 16)));
    writeFileSync(path, file);
  },
  "one bit": (path, file) => {
    sectionOf(file)[200]! ^= 1;
    writeFileSync(path, file);
  },
};

function damage(home: string, collection: string, what: string): void {
  const path = fileWith(join(home, collection), "lexical-");
  DAMAGE[what]!(path, readFileSync(path));
}

test.each(Object.keys(DAMAGE))("%s: the next search indexes the files again", async (what) => {
  const [home, root] = [scratchDir(), repository()];
  const first = await TestMemory.open(home);
  const asked = { workspace: root, ...words };
  const before = await first.call("repo_search", asked);
  expect(before.notice).toBeUndefined();
  expect(before.hits.length).toBeGreaterThan(0);
  await first.close();

  damage(home, COLLECTION, what);
  const memory = await TestMemory.open(home);
  const answer = await memory.call("repo_search", asked);
  expect(answer.notice).toBe(MENDED);
  expect(answer.hits).toEqual(before.hits);
  expect((await memory.call("repo_search", asked)).notice).toBeUndefined();
  expect((await memory.call("stats", { collection: COLLECTION })).stats.lexical_index).not.toBeNull();
  const found = await memory.call("search_lexical", { collection: COLLECTION, ...words });
  expect(found.hits.length).toBeGreaterThan(0);
});

/** A memory whose index of a repository is damaged. */
async function damagedIndex(what: string) {
  const [home, root] = [scratchDir(), repository()];
  const first = await TestMemory.open(home);
  await first.call("index_repo", { path: root });
  await first.close();
  damage(home, COLLECTION, what);
  return { root, memory: await TestMemory.open(home) };
}

test("a call to index says so too", async () => {
  const { memory, root } = await damagedIndex("missing");
  expect(await memory.call("index_repo", { path: root })).toMatchObject({ notice: MENDED, files_tracked: 3 });
  expect((await memory.call("index_repo", { path: root })).notice).toBeUndefined();
});

/** A rewrite, here of an index that no query has read yet, finds damage before it copies anything. */
test("damage that is found while files are indexed", async () => {
  const { memory, root } = await damagedIndex("one bit");
  await expect(memory.call("compact", { collection: COLLECTION })).rejects.toThrow(/rows without a text/);
  expect(await memory.call("repo_search", { workspace: root, ...words })).toMatchObject({ notice: MENDED });
  await memory.call("compact", { collection: COLLECTION });
});

test.each(["collection.json", "base"])("a collection that cannot be opened, for its %s", async (what) => {
  const [home, root] = [scratchDir(), repository()];
  const first = await TestMemory.open(home);
  const before = await first.call("repo_search", { workspace: root, ...words });
  await first.close();
  const path = fileWith(join(home, COLLECTION), what);
  writeFileSync(path, readFileSync(path).subarray(0, 100));
  const memory = await TestMemory.open(home);
  const answer = await memory.call("repo_search", { workspace: root, ...words });
  expect(answer.notice).toBe(MENDED);
  expect(answer.hits).toEqual(before.hits);
});

test.each([false, true])("in a collection of another name, with texts of its own: %p", async (withTexts) => {
  const [home, root, other] = [scratchDir(), repository(), repository()];
  const collection = "ship";
  const asked = { workspace: root, collection, ...words };
  const first = await TestMemory.open(home);
  const before = await first.call("repo_search", asked);
  await first.call("repo_search", { ...asked, workspace: other });
  // Rows in the base whose terms are lost, some after it that have theirs, and texts.
  await first.call("compact", { collection });
  writeFileSync(join(other, "dinghy.txt"), "dinghy of the ship\n".repeat(60));
  await first.call("repo_search", { ...asked, workspace: other });
  if (withTexts) await first.call("add", { collection, ids: ["note"], texts: ["the capstan turns"] });
  await first.close();

  damage(home, collection, "lists");
  const memory = await TestMemory.open(home);
  const answer = await memory.call("repo_search", asked);
  expect(answer.notice).toBe(MENDED);
  expect(answer.hits).toEqual(before.hits);
  if (withTexts) {
    const { rows } = await memory.call("get", { collection, ids: ["note"] });
    expect(rows).toMatchObject([{ found: true, text: "the capstan turns" }]);
  }
  // The other repository is indexed again by its own next search.
  const there = await memory.call("repo_search", { ...asked, query: "dinghy", workspace: other });
  expect(JSON.stringify(there.hits[0])).toContain("dinghy.txt");
  await memory.call("compact", { collection });
});
