/** Damage of a repository's fingerprints costs no row, and no row its text: FORMAT.md, Fingerprints of a repository. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repoIdOf } from "../../src/repo/chunks/identity.ts";
import { noteName } from "../../src/repo/fingerprints/note.ts";
import { fileWith, flipBits } from "../collection-files.ts";
import { openStore, scratchDir, TestMemory } from "../fixture.ts";

const collection = "repo_symbols";
const TEXTS = ['export const one = "ships";\n', 'export const two = "trees";\n'];
let dir: string;
let root: string;
let ids: string[];

beforeEach(async () => {
  dir = scratchDir();
  root = realpathSync(scratchDir());
  for (const [i, name] of ["one", "two"].entries()) writeFileSync(join(root, `${name}.ts`), TEXTS[i]!);
  await inMemory((m) => m.call("index_repo", { path: root }));
  ids = ["one", "two"].map((name) => `${repoIdOf(root)}:${name}.ts:0`);
});
afterEach(() => {
  for (const folder of [dir, root]) rmSync(folder, { recursive: true, force: true });
});

/** In a memory of a process that has opened nothing yet, and has no repository around it. */
async function inMemory<T>(work: (m: TestMemory) => Promise<T>): Promise<T> {
  const m = await TestMemory.open(dir);
  try {
    return await work(m);
  } finally {
    await m.close();
  }
}

const log = () => fileWith(join(dir, collection), ".fingerprints");

const DAMAGES: Record<string, () => void> = {
  "is missing": () => rmSync(log()),
  "is empty": () => truncateSync(log(), 0),
  "is cut off": () => truncateSync(log(), 40),
  "has another byte in its head": () => flipBits(log(), 3),
  "has another byte in the path of the root": () =>
    flipBits(log(), readFileSync(log()).indexOf(root) + root.length - 1),
  "has another byte after its head": () => flipBits(log(), -9),
  "is of another program": () => writeFileSync(log(), "{}\n"),
  "is a FIFO": () => {
    const path = log();
    rmSync(path);
    expect(Bun.spawnSync(["mkfifo", path]).success).toBe(true);
  },
  "is a folder": () => {
    const path = log();
    rmSync(path);
    mkdirSync(path);
  },
};

/** Every call that reads texts again, with the texts that it gives, and its notice. */
const CALLS: Record<string, (m: TestMemory) => Promise<{ texts: (string | undefined)[]; notice?: string }>> = {
  async svc_get(m) {
    const { rows, notice } = await m.call("get", { collection, ids });
    return { texts: rows.map(({ text }: { text?: string }) => text), notice };
  },
  async svc_search(m) {
    const { hits, notice } = await m.call("search", { collection, query: "ships trees", with_text: true });
    return { texts: hits.map(({ text }: { text?: string }) => text).sort(), notice };
  },
  async svc_search_lexical(m) {
    const { hits, notice } = await m.call("search_lexical", { collection, query: "ships trees", with_text: true });
    return { texts: hits.map(({ text }: { text?: string }) => text).sort(), notice };
  },
  async "svc mem export"(m) {
    const { rows, notice } = await (await m.memory.terminal()).export_rows({ collection, ids, with_vectors: false });
    return { texts: rows.map(({ text }) => text), ...(notice === undefined ? {} : { notice }) };
  },
};

for (const [what, damage] of Object.entries(DAMAGES)) {
  test(`rows keep their texts where the file ${what}`, async () => {
    damage();
    for (const [call, ask] of Object.entries(CALLS)) {
      const { texts, notice } = await inMemory(ask);
      expect({ call, texts, notice }).toEqual({ call, texts: TEXTS, notice: undefined });
    }
  });
}

/** As a program leaves the note that does not know of the root there. */
async function forgetRoot(): Promise<void> {
  const store = await openStore(dir);
  const rows = store.open(collection);
  const name = noteName(repoIdOf(root));
  const { root: noted, ...note } = rows.note(name) as { root: string };
  expect(noted).toBe(root);
  await rows.change(async (t) => t.note(name, note));
  await store.close();
}

test("where nothing says where the folder is, every call says what helps, and the next index mends it", async () => {
  await forgetRoot();
  for (const ask of Object.values(CALLS)) expect((await inMemory(ask)).texts).toEqual(TEXTS); // the head has it
  DAMAGES["is missing"]!();
  for (const [call, ask] of Object.entries(CALLS)) {
    const { texts, notice } = await inMemory(ask);
    expect({ call, texts }).toEqual({ call, texts: [undefined, undefined] });
    expect(notice).toContain("is missing or damaged; run 'svc mem index' in that folder, or call svc_index_repo");
  }
  await inMemory(async (m) => {
    // Nothing is said of rows that were not asked for, and of those whose texts were not.
    expect(await m.call("get", { collection, ids: ["other"] })).not.toHaveProperty("notice");
    expect(await m.call("get", { collection, ids, with_text: false })).not.toHaveProperty("notice");
    await m.call("index_repo", { path: root });
  });
  DAMAGES["is missing"]!();
  for (const ask of Object.values(CALLS)) expect(await inMemory(ask)).toEqual({ texts: TEXTS });
});

test("a call that finds no change adds the root to the note of an earlier program", async () => {
  await forgetRoot();
  expect((await inMemory((m) => m.call("index_repo", { path: root }))).status).toBe("hit");
  DAMAGES["is missing"]!();
  for (const ask of Object.values(CALLS)) expect((await inMemory(ask)).texts).toEqual(TEXTS);
});

test("where the folder is missing, every call says so", async () => {
  renameSync(root, `${root}-away`);
  for (const [call, ask] of Object.entries(CALLS)) {
    const { texts, notice } = await inMemory(ask);
    expect({ call, texts }).toEqual({ call, texts: [undefined, undefined] });
    expect(notice).toContain(`'svc mem repos --forget ${repoIdOf(root)}'`);
  }
  renameSync(`${root}-away`, root);
  for (const ask of Object.values(CALLS)) expect((await inMemory(ask)).texts).toEqual(TEXTS);
});

test("rows that have their texts with them need no folder", async () => {
  const id = "0123456789abcdef:file.ts:0";
  const metadata = [{ repo_id: "0123456789abcdef", path: "file.ts", start_line: 1, end_line: 1 }];
  await inMemory((m) =>
    m.call("upsert", { collection, ids: [id], texts: ["stored"], metadata, partition_by: "repo_id" }),
  );
  const { rows, notice } = await inMemory((m) => m.call("get", { collection, ids: [id] }));
  expect([rows[0].text, notice]).toEqual(["stored", undefined]);
});
