/** What is indexed, as `svc mem repos` says it, and what is forgotten. */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { repoIdOf } from "../../src/repo/chunks/identity.ts";
import { scratchDir, TestMemory } from "../fixture.ts";
import { commitAll, git, project } from "../repo/helpers.ts";

function withGit(root: string): string {
  git(root, "init", "-q");
  commitAll(root);
  return root;
}

test("lists each repository with its files, rows, size and use", async () => {
  const m = await TestMemory.open();
  expect(await m.repos()).toEqual({ repositories: [] });
  const [main, plain] = [withGit(project(3)), project(5)];
  const linked = join(realpathSync(scratchDir()), "linked");
  git(main, "worktree", "add", "-q", linked);
  const before = Date.now();
  for (const path of [main, plain, linked]) {
    await m.call("index_repo", { path });
    // Files get the time of the system's last tick, some milliseconds ago: those of one tick have no order.
    await Bun.sleep(20);
  }
  await m.call("index_repo", { path: plain, collection: "apart" });
  // Another collection, with the same key or not, is none of repositories.
  await m.call("add", { collection: "notes", texts: ["a note"], metadata: [{ scope: "x" }] });
  const { repositories, removed } = await m.repos();
  expect(removed).toBeUndefined();
  expect(repositories.map(({ last_used, bytes, ...rest }) => rest)).toEqual([
    { root: plain, repo_id: repoIdOf(plain), collection: "apart", exists: true, files: 5, rows: 5 },
    {
      ...{ root: linked, repo_id: repoIdOf(linked), collection: "repo_symbols", exists: true, files: 3, rows: 3 },
      linked_to: join(main, ".git"),
    },
    { root: plain, repo_id: repoIdOf(plain), collection: "repo_symbols", exists: true, files: 5, rows: 5 },
    { root: main, repo_id: repoIdOf(main), collection: "repo_symbols", exists: true, files: 3, rows: 3 },
  ]);
  for (const { last_used, bytes, rows } of repositories) {
    expect(last_used).toBeGreaterThanOrEqual(before - 1000);
    expect(last_used).toBeLessThanOrEqual(Date.now() + 1000);
    // 1,032 bytes of codes a row, and what lies beside them.
    expect(bytes).toBeGreaterThan(rows * 1032);
    expect(bytes).toBeLessThan(rows * 20_000);
  }
  const only = await m.repos("apart");
  expect(only.repositories.map(({ root }) => root)).toEqual([plain]);
  await expect(m.repos("notes")).rejects.toThrow("collection 'notes' holds no repositories");
  await expect(m.repos("none")).rejects.toThrow("collection 'none' does not exist");
});

test("a folder that is missing is said to be, and rows without fingerprints are listed by their id", async () => {
  const m = await TestMemory.open();
  const [missing, lost] = [withGit(project()), project()];
  for (const path of [missing, lost]) await m.call("index_repo", { path });
  renameSync(missing, `${missing}-away`);
  const folder = join(m.dir, "repo_symbols");
  for (const name of readdirSync(folder)) if (name.startsWith(`repo-${repoIdOf(lost)}.`)) rmSync(join(folder, name));
  const { repositories } = await m.repos();
  expect(repositories).toMatchObject([
    { root: missing, exists: false, files: 3, rows: 3 },
    { root: null, repo_id: repoIdOf(lost), exists: false, rows: 3 },
  ]);
  expect(await m.forget(repoIdOf(lost))).toMatchObject({ deleted: 3 });
  expect((await m.repos()).repositories.length).toBe(1);
});

test("a linked work tree that git no longer has is removed, with its fingerprints", async () => {
  const m = await TestMemory.open();
  const main = withGit(project());
  const linked = join(realpathSync(scratchDir()), "linked");
  git(main, "worktree", "add", "-q", linked);
  for (const path of [main, linked]) await m.call("index_repo", { path });
  git(main, "worktree", "remove", linked);
  const { repositories, removed } = await m.repos();
  expect([repositories.map(({ root }) => root), removed]).toEqual([[main], [linked]]);
  expect((await m.call("count", { collection: "repo_symbols" })).count).toBe(3);
  const logs = readdirSync(join(m.dir, "repo_symbols")).filter((name) => name.endsWith(".fingerprints"));
  expect(logs.map((name) => name.slice(0, 22))).toEqual([`repo-${repoIdOf(main)}.`]);
  expect(await m.repos()).not.toHaveProperty("removed");
});

test("forgets a repository by its folder or its id, in all collections or one, and no other", async () => {
  const m = await TestMemory.open();
  const [kept, gone] = [project(), project(4)];
  const by = join(realpathSync(scratchDir()), "link");
  symlinkSync(gone, by);
  const index = async () => {
    for (const path of [kept, gone]) await m.call("index_repo", { path });
    await m.call("index_repo", { path: gone, collection: "apart" });
  };
  const roots = async () =>
    (await m.repos()).repositories.map(({ root, collection }) => `${collection} ${root}`).sort();
  const all = [`apart ${gone}`, `repo_symbols ${gone}`, `repo_symbols ${kept}`].sort();
  for (const [repository, collection, left, deleted] of [
    [gone, undefined, [`repo_symbols ${kept}`], 8],
    [`${by}/`, "apart", [`repo_symbols ${gone}`, `repo_symbols ${kept}`].sort(), 4],
    [repoIdOf(gone), "repo_symbols", [`apart ${gone}`, `repo_symbols ${kept}`], 4],
  ] as const) {
    await index();
    expect(await roots()).toEqual(all);
    expect(await m.forget(repository, collection)).toMatchObject({
      forgotten: repository,
      repo_id: repoIdOf(gone),
      deleted,
    });
    expect(await roots()).toEqual([...left]);
  }
  // One whose folder is not there any more, by its former path.
  rmSync(gone, { recursive: true });
  expect(await m.forget(gone)).toMatchObject({ collections: ["apart"], deleted: 4 });
  for (const repository of [gone, repoIdOf(gone), "/", "/nowhere/at/all", "0123456789abcdef"]) {
    await expect(m.forget(repository)).rejects.toThrow(`no repository '${repository}' is indexed: `);
  }
  await expect(m.forget(kept, "apart")).rejects.toThrow("is indexed in collection 'apart'");
  expect(await m.call("index_repo", { path: kept })).toMatchObject({ files_tracked: 3, files_changed: 0 });
});

test("what is forgotten is indexed again when it is asked for", async () => {
  const root = project();
  mkdirSync(join(root, "d"));
  const m = await TestMemory.open(undefined, root);
  await m.call("repo_search", { query: "value1" });
  await m.forget(root);
  expect((await m.call("count", { collection: "repo_symbols" })).count).toBe(0);
  const found = await m.call("repo_search", { query: "value1" });
  expect(found).toMatchObject({ index_status: "built" });
  expect(found.hits.length).toBeGreaterThan(0);
});
