/** A memory whose changes are refused: what reads and exports works, what changes says why, and no byte changes. */
import { expect, test } from "bun:test";
import { lstatSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../src/api/local-store.ts";
import { PermissionError } from "../../src/errors.ts";
import { TOOLS } from "../../src/mcp/tools.ts";
import { openMemory } from "../../src/memory/open.ts";
import { native, scratchDir } from "../fixture.ts";
import { commitAll, git } from "../repo/helpers.ts";
import { CALLS, call } from "./calls.ts";

/** Refuses changes while it is on. */
const frozen = {
  is: false,
  refuse: () => {
    if (frozen.is) throw new PermissionError("changes are refused: the clock");
  },
};

async function open(dir: string, persistentIndex = true) {
  const libraries = { ...(await native()), refuseChanges: frozen.refuse };
  const given = { native: libraries, home: dir, version: "0.0.0-test", persistentIndex };
  return openMemory({ ...given, path: dir, compaction: { background: true, atClose: true } });
}

/** Every file below a folder with its size and the time of its last change. */
function files(dir: string): Record<string, string> {
  const all = readdirSync(dir, { recursive: true, withFileTypes: true }).map((entry) => {
    const { size, mtimeNs } = lstatSync(join(entry.parentPath, entry.name), { bigint: true });
    return [join(entry.parentPath, entry.name), `${size} ${mtimeNs}`] as const;
  });
  return Object.fromEntries(all.sort());
}

/** A memory with notes and a repository, whose changes are refused now. */
async function frozenMemory() {
  frozen.is = false;
  const [dir, repository] = [scratchDir(), realpathSync(scratchDir())];
  writeFileSync(join(repository, "parser.ts"), "export function parseManifest() {}\n");
  const memory = await open(dir);
  await call(memory, "create_collection", { name: "words", lexical: true });
  await call(memory, "add", { collection: "words", texts: ["a word"], ids: ["w"] });
  await call(memory, "build_lexical", { collection: "words" });
  await call(memory, "add", { collection: "notes", texts: ["We deploy blue-green."], ids: ["deploy"] });
  await call(memory, "repo_search", { query: "manifest", workspace: repository });
  frozen.is = true;
  return { dir, repository, memory, before: files(dir) };
}

test("each tool that is not read-only is refused, each other answers, and no file changes", async () => {
  const { dir, repository, memory, before } = await frozenMemory();
  for (const { verb, annotations } of TOOLS) {
    const named = { index_repo: { path: repository }, repo_search: { workspace: repository } }[verb as string];
    const answer = call(memory, verb, { ...CALLS[verb], ...named });
    if (annotations.readOnlyHint || verb === "repo_search") expect(Object.keys(await answer)).not.toBeEmpty();
    else await expect(answer).rejects.toBeInstanceOf(PermissionError);
  }
  // What only plans changes nothing.
  await call(memory, "tune", { collection: "notes", dry_run: true });
  await call(memory, "index_repo", { path: repository, dry_run: true });
  expect(await (await memory.repositories()).overview.list()).toMatchObject({ repositories: [{ root: repository }] });
  await expect((await memory.repositories()).overview.forget(repository)).rejects.toBeInstanceOf(PermissionError);
  expect(files(dir)).toEqual(before);
  frozen.is = false;
  await call(memory, "add", CALLS.add);
  await memory.close();
});

test("a repository is searched as it was indexed, and the answer says so", async () => {
  const { dir, repository, memory, before } = await frozenMemory();
  writeFileSync(join(repository, "later.ts"), "export function parseManifestLater() {}\n");
  const asked = { query: "parseManifest", workspace: repository };
  const answer = await call(memory, "repo_search", asked);
  expect(answer).toMatchObject({ index_status: "hit", partial: false, hits: [{ metadata: { path: "parser.ts" } }] });
  expect(answer.hits).toHaveLength(1);
  expect(answer.notice).toBe("the index was not updated, so hits may be out of date: changes are refused: the clock");
  const other = call(memory, "repo_search", { ...asked, collection: "other" });
  await expect(other).rejects.toThrow("changes are refused: the clock");
  expect(files(dir)).toEqual(before);
  // An index that is removed with the process is not a change of the memory.
  const apart = await open(dir, false);
  expect((await call(apart, "repo_search", asked)).hits).toHaveLength(2);
  await apart.close();
  expect(files(dir)).toEqual(before);
  frozen.is = false;
  const fresh = await call(memory, "repo_search", asked);
  expect(fresh).toMatchObject({ index_status: "refreshed" });
  expect(fresh.notice).toBeUndefined();
  await memory.close();
});

test("a linked work tree that is gone stays listed until changes are possible again", async () => {
  const { dir, memory } = await frozenMemory();
  const [main, linked] = [realpathSync(scratchDir()), join(realpathSync(scratchDir()), "linked")];
  writeFileSync(join(main, "a.ts"), "export const a = 1;\n");
  git(main, "init", "-q");
  commitAll(main);
  git(main, "worktree", "add", "-q", linked);
  frozen.is = false;
  await call(memory, "index_repo", { path: linked });
  git(main, "worktree", "remove", linked);
  frozen.is = true;
  const before = files(dir);
  const roots = async () => (await (await memory.repositories()).overview.list()).repositories.map(({ root }) => root);
  expect(await roots()).toContain(linked);
  expect(files(dir)).toEqual(before);
  frozen.is = false;
  expect(await roots()).not.toContain(linked);
  await memory.close();
});

test("a store of a program reads, is copied and checked, and refuses changes", async () => {
  const { dir, memory, before } = await frozenMemory();
  await memory.close();
  const store = new LocalStore(dir, { ...(await native()), refuseChanges: frozen.refuse }, "0.0.0-test");
  const notes = store.collection("notes");
  expect(await notes.ids()).toEqual(["deploy"]);
  const refused = [
    () => store.createCollection("other", { dim: 3 }),
    () => notes.addTexts(["more"]),
    () => notes.delete(["deploy"]),
    () => notes.compact(),
    () => notes.buildIvf({ minRows: 1 }),
  ];
  for (const change of refused) expect(await change().catch((e: unknown) => e)).toBeInstanceOf(PermissionError);
  expect(await store.repair("words")).toMatchObject({ action: "none" });
  expect((await store.check()).every(({ sound }) => sound)).toBe(true);
  const copy = join(scratchDir(), "copy");
  await store.backup(copy);
  expect(files(dir)).toEqual(before);
  await store.close();
  frozen.is = false;
  const copied = new LocalStore(copy, await native(), "0.0.0-test");
  expect(await copied.collection("notes").ids()).toEqual(["deploy"]);
  await copied.close();
});
