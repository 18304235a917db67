/** Linked work trees: what git's files say of them, what one takes from another, and when one is gone. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { deviceOf, gitWorkTreeOf, isGone } from "../../../src/repo/files/work-tree.ts";
import { resolveWorkspace } from "../../../src/repo/files/workspace.ts";
import { indexedIn } from "../../../src/repo/fingerprints/indexed.ts";
import type { IndexOptions } from "../../../src/repo/indexing/options.ts";
import { commitAll, git, logOf, MemorySink, put, rewriteLog, rootWith, settleLog, temporary } from "../helpers.ts";
import { indexRepo } from "../indexing/runs.ts";

const FILES = { "a.ts": "export const a = 1;\n", "d/b.ts": `${"line\n".repeat(60)}`, "c.md": "words\n" };

/** A repository with a commit, and a folder for its work trees. */
function repository(files: Record<string, string> = FILES) {
  const main = rootWith(files);
  git(main, "init", "-q", "-b", "main");
  commitAll(main);
  const around = temporary();
  const add = (name: string, ...args: string[]) => {
    git(main, "worktree", "add", "-q", "--detach", ...args, join(around, name));
    return join(around, name);
  };
  return { main, around, add };
}

/** One collection, and runs of several roots over it. */
function collection() {
  const sink = new MemorySink();
  const folder = temporary();
  const logAt = (root: string) => logOf(folder, repoIdOf(root), sink) ?? join(folder, "none");
  const run = async (root: string, options: Partial<IndexOptions> = {}) =>
    indexRepo({
      workspace: await resolveWorkspace(root),
      sink,
      collection: "c",
      folder,
      ...options,
    });
  /** Makes the last run look an hour old, so that no file counts as stamped too shortly before it. */
  const settle = (root: string) => settleLog(folder, root, sink);
  const rowsOf = (root: string) => [...sink.rows.values()].filter((row) => row.metadata.repo_id === repoIdOf(root));
  /** What rows of `root` are like, without repositories. */
  const likes = (root: string, sibling: string) =>
    Object.fromEntries(
      rowsOf(root).map(({ id, like }) => [id.slice(17), like?.replace(repoIdOf(sibling), "").slice(1)]),
    );
  return { sink, folder, logAt, run, settle, rowsOf, likes };
}

describe("the repository of a work tree", () => {
  test("is the same for the main one and those linked to it, and another for a clone", () => {
    const { main, around, add } = repository();
    const linked = add("linked");
    expect(gitWorkTreeOf(main)).toEqual({ common: join(main, ".git") });
    expect(gitWorkTreeOf(linked)).toEqual({ common: join(main, ".git"), linked: "linked" });
    git(around, "clone", "-q", main, "clone");
    expect(gitWorkTreeOf(join(around, "clone"))).toEqual({ common: join(around, "clone/.git") });
    git(around, "clone", "-q", "--bare", main, "bare");
    git(join(around, "bare"), "worktree", "add", "-q", "--detach", join(around, "of-bare"));
    expect(gitWorkTreeOf(join(around, "of-bare"))).toEqual({ common: join(around, "bare"), linked: "of-bare" });
    expect(gitWorkTreeOf(around)).toBeUndefined();
  });

  test("a link that the other end does not confirm is not one", () => {
    const { main, around, add } = repository();
    const linked = add("linked");
    const admin = join(main, ".git/worktrees/linked");
    const hostile = (name: string, marker: string | Uint8Array) => {
      const root = join(around, name);
      mkdirSync(root);
      put(root, ".git", marker);
      return gitWorkTreeOf(root);
    };
    expect(hostile("borrowed", `gitdir: ${admin}\n`)).toBeUndefined();
    expect(hostile("whole", `gitdir: ${main}/.git\n`)).toBeUndefined();
    // A folder of its own that says it belongs to another repository.
    put(around, "own/worktrees/x/commondir", `${main}/.git\n`);
    put(around, "own/worktrees/x/gitdir", `${around}/claims/.git\n`);
    put(around, "own/HEAD", "ref: refs/heads/main\n");
    expect(hostile("claims", `gitdir: ${around}/own/worktrees/x\n`)).toBeUndefined();
    for (const [i, text] of ["", "gitdir: ", "gitdir: /nowhere\n", `gitdir: ${admin}\nmore\n`, "\0"].entries()) {
      expect(hostile(`odd-${i}`, text)).toBeUndefined();
    }
    expect(hostile("large", `gitdir: ${admin}${"/".repeat(9000)}`)).toBeUndefined();
    expect(hostile("bytes", new Uint8Array([0xff, 0xfe, 0x41]))).toBeUndefined();
    mkdirSync(join(around, "fifo"));
    expect(spawnSync("mkfifo", [join(around, "fifo/.git")]).status).toBe(0);
    expect(gitWorkTreeOf(join(around, "fifo"))).toBeUndefined();
    mkdirSync(join(around, "link"));
    symlinkSync(join(main, ".git"), join(around, "link/.git"));
    expect(gitWorkTreeOf(join(around, "link"))).toBeUndefined();
    // The real one was not disturbed by any of it.
    expect(gitWorkTreeOf(linked)?.linked).toBe("linked");
  });

  test("paths that git wrote relative to its folder count too", () => {
    const { main, add } = repository();
    const linked = add("linked");
    const admin = join(main, ".git/worktrees/linked");
    put(
      admin,
      "gitdir",
      `${join("../../../..", linked.slice(linked.lastIndexOf("/", linked.lastIndexOf("/") - 1)))}/.git`,
    );
    expect(gitWorkTreeOf(linked)).toEqual({ common: join(main, ".git"), linked: "linked" });
  });
});

describe("what a work tree takes from another", () => {
  test("rows of files with the same path and content, and of no others", async () => {
    const { main, add } = repository();
    const { run, likes, rowsOf } = collection();
    await run(main);
    const linked = add("linked");
    put(linked, "a.ts", "export const a = 2;\n");
    put(linked, "moved.md", FILES["c.md"]);
    await run(linked);
    expect(likes(linked, main)).toEqual({
      "a.ts:0": undefined,
      "c.md:0": "c.md:0",
      "d/b.ts:0": "d/b.ts:0",
      "d/b.ts:1": "d/b.ts:1",
      "moved.md:0": undefined,
    });
    // And back: the main one gets what only the linked one had.
    put(main, "a.ts", "export const a = 2;\n");
    await run(main);
    expect(likes(main, linked)["a.ts:0"]).toBe("a.ts:0");
    expect(rowsOf(main).every((row) => row.id.startsWith(repoIdOf(main)))).toBe(true);
  });

  test("not a clone, nor another repository with the same files, nor one cut otherwise, nor by force", async () => {
    const { main, around, add } = repository();
    const { run, rowsOf } = collection();
    await run(main);
    git(around, "clone", "-q", main, "clone");
    const others = [join(around, "clone"), repository().main, rootWith(FILES)];
    for (const other of others) await run(other);
    const [cut, forced] = [add("cut"), add("forced")];
    await run(cut, { windowLines: 20 });
    await run(forced, { force: true });
    for (const root of [...others, cut, forced]) {
      expect(rowsOf(root).length).toBeGreaterThan(3);
      expect(rowsOf(root).filter((row) => row.like !== undefined)).toEqual([]);
    }
  });

  test("the last used sibling comes first, the next where it lacks the file, and no more than three are read", async () => {
    const { main, add } = repository();
    const { run, likes, logAt } = collection();
    const trees = ["one", "two", "three", "four"].map((name) => add(name));
    for (const [i, root] of trees.entries()) {
      put(root, `only-${i}.ts`, `export const only = ${i};\n`);
      await run(root);
    }
    // The first was used last, the third never since.
    for (const [i, minutes] of [0, 2, 3, 1].entries()) {
      const when = Date.now() / 1000 - 60 * minutes;
      utimesSync(logAt(trees[i]!), when, when);
    }
    for (let i = 0; i < 4; i++) put(main, `only-${i}.ts`, `export const only = ${i};\n`);
    await run(main);
    expect(likes(main, trees[0]!)).toMatchObject({ "a.ts:0": "a.ts:0", "only-0.ts:0": "only-0.ts:0" });
    expect(likes(main, trees[3]!)).toMatchObject({ "only-3.ts:0": "only-3.ts:0" });
    expect(likes(main, trees[1]!)).toMatchObject({ "only-1.ts:0": "only-1.ts:0" });
    expect(likes(main, trees[2]!)).toMatchObject({ "only-2.ts:0": undefined });
  });

  test("few files of many are not worth the look", async () => {
    const { main, add } = repository(Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`${i}.ts`, `${i}\n`])));
    const { run, likes, settle } = collection();
    const linked = add("linked");
    const edit = async (...names: string[]) => {
      for (const root of [main, linked]) {
        // Otherwise all files are read again, stamped as shortly before the last run as they are.
        await settle(root);
        for (const name of names) put(root, name, "changed\n");
        await run(root);
      }
    };
    for (const root of [main, linked]) await run(root);
    await edit("1.ts");
    expect(likes(linked, main)["1.ts:0"]).toBeUndefined();
    await edit("2.ts", "3.ts", "4.ts");
    expect(likes(linked, main)["4.ts:0"]).toBe("4.ts:0");
  });

  test("a sibling that was indexed again meanwhile is not trusted", async () => {
    const { main, add } = repository();
    const { run, sink, folder } = collection();
    await run(main);
    const linked = add("linked");
    const replace = sink.replace.bind(sink);
    const asked: boolean[] = [];
    sink.replace = async (repoId, change) => {
      asked.push(change.areLike!());
      // Another process has changed the rows of one file, and its record.
      rewriteLog(folder, repoIdOf(main), sink, (files) => {
        files.get("a.ts")!.hash = 1;
      });
      asked.push(change.areLike!());
      return replace(repoId, change);
    };
    await run(linked);
    expect(asked).toEqual([true, false]);
  });
});

describe("a work tree that git no longer has", () => {
  test("is forgotten by the next run of another one, and only that", async () => {
    const { main, add } = repository();
    const { run, rowsOf, logAt } = collection();
    const [kept, removed] = [add("kept"), add("removed")];
    const clone = repository().main;
    for (const root of [main, kept, removed, clone]) await run(root);
    git(main, "worktree", "remove", removed);
    await run(clone);
    expect(rowsOf(removed).length).toBeGreaterThan(0);
    expect(await run(main)).toMatchObject({ status: "hit" });
    expect([rowsOf(removed).length, existsSync(logAt(removed))]).toEqual([0, false]);
    for (const root of [main, kept, clone]) {
      expect([rowsOf(root).length, existsSync(logAt(root))]).toEqual([4, true]);
    }
  });

  test("one that was moved gives its rows first", async () => {
    const { main, around, add } = repository();
    const { run, likes, rowsOf } = collection();
    const before = add("before");
    await run(before);
    git(main, "worktree", "move", before, join(around, "after"));
    await run(join(around, "after"));
    expect(Object.values(likes(join(around, "after"), before)).every((like) => like !== undefined)).toBe(true);
    expect(rowsOf(before)).toEqual([]);
  });

  test("one that was deleted without git is gone where git would prune it", async () => {
    const { main, add } = repository();
    const { run, rowsOf } = collection();
    const [deleted, locked] = [add("deleted"), add("locked")];
    git(main, "worktree", "lock", locked);
    for (const root of [deleted, locked]) await run(root);
    rmSync(deleted, { recursive: true });
    rmSync(locked, { recursive: true });
    expect(git(main, "worktree", "list", "--porcelain")).toContain("prunable");
    await run(main);
    expect([rowsOf(deleted).length, rowsOf(locked).length]).toEqual([0, 4]);
  });

  test("a root that is merely missing stays: a main one, a folder without git, one of another disk", async () => {
    const { main, around, add } = repository();
    const { run, rowsOf, folder, sink } = collection();
    const [linked, away] = [add("linked"), add("away")];
    const plain = rootWith(FILES);
    for (const root of [linked, away, plain]) await run(root);
    const place = gitWorkTreeOf(away)!;
    expect(isGone(away, place, deviceOf(away))).toBe(false);
    // Its disk is not mounted: where its folder was, there is another file system.
    rewriteLog(folder, repoIdOf(away), sink, (_files, head) => {
      head.device++;
    });
    renameSync(away, join(around, "hidden"));
    rmSync(plain, { recursive: true });
    await run(main);
    expect([rowsOf(away).length, rowsOf(plain).length]).toEqual([4, 4]);
    // The repository itself is away, and git's list with it.
    const elsewhere = `${main}-elsewhere`;
    renameSync(main, elsewhere);
    expect(isGone(away, place, deviceOf(around))).toBe(false);
    expect(isGone(main, { common: join(main, ".git") }, deviceOf(around))).toBe(false);
    await run(linked);
    expect(rowsOf(main).length).toBe(4);
    renameSync(elsewhere, main);
    expect(isGone(away, place, deviceOf(around))).toBe(true);
  });

  test("a folder that exists is never gone, whatever git's files say", async () => {
    const { main, add } = repository();
    const linked = add("linked");
    const place = gitWorkTreeOf(linked)!;
    put(main, ".git/worktrees/linked/gitdir", "/nowhere/.git\n");
    expect(isGone(linked, place, deviceOf(linked))).toBe(false);
    rmSync(join(main, ".git/worktrees"), { recursive: true });
    expect(isGone(linked, place, deviceOf(linked))).toBe(false);
    rmSync(linked, { recursive: true });
    // A link to nowhere in its place is still something.
    symlinkSync("nowhere", linked);
    expect(isGone(linked, place, deviceOf(linked))).toBe(false);
    rmSync(linked);
    expect(isGone(linked, { ...place, linked: "../../x" }, deviceOf(main))).toBe(false);
    expect(isGone(linked, place, deviceOf(linked))).toBe(true);
  });
});

test("a use is noted once an hour, by the time of the file alone", async () => {
  const { main } = repository();
  const { run, settle, logAt, folder, sink } = collection();
  await run(main);
  await settle(main);
  const settled = readFileSync(logAt(main));
  for (const [minutes, noted] of [
    [59, false],
    [61, true],
    [-61, true],
  ] as const) {
    const when = Date.now() / 1000 - 60 * minutes;
    utimesSync(logAt(main), when, when);
    const inode = statSync(logAt(main)).ino;
    expect(await run(main)).toMatchObject({ status: "hit" });
    const { usedMs } = indexedIn(folder, sink)[0]!;
    expect([minutes, Math.abs(Date.now() - usedMs) < 60_000]).toEqual([minutes, noted]);
    expect(statSync(logAt(main)).ino).toBe(inode);
    expect(readFileSync(logAt(main))).toEqual(settled);
  }
});

test("a change of another repository costs no listing of ids and no write", async () => {
  const [one, two] = [repository().main, repository({ "x.ts": "1\n" }).main];
  const { run, settle, sink, logAt } = collection();
  await run(one);
  await settle(one);
  const { ino } = statSync(logAt(one));
  await run(two);
  const { listings, replaces } = sink;
  expect(await run(one)).toMatchObject({ status: "hit" });
  expect([sink.listings, sink.replaces, statSync(logAt(one)).ino]).toEqual([listings, replaces, ino]);
  // A row of its own that another writer deleted is noticed.
  sink.rows.delete(`${repoIdOf(one)}:a.ts:0`);
  expect(await run(one)).toMatchObject({ status: "refreshed", files_changed: 1 });
});
