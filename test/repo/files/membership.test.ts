/** Which files belong to a root: the same as git says, and what `.svcignore` and folders without git add to that. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Membership } from "../../../src/repo/files/membership.ts";
import { git, gitRoot, put, rootWith, temporary } from "../helpers.ts";
import { listedByGit, makeRandomRepository, randomFrom } from "./git-random.ts";
import { listed } from "./membership-list.ts";

const REPOSITORIES = 25;

for (const first of [1000, 2000, 3000, 4000]) {
  test(`the same files as git lists in random repositories (seeds from ${first})`, () => {
    for (let seed = first; seed < first + REPOSITORIES; seed++) {
      const [root, home] = [temporary(), temporary()];
      makeRandomRepository(root, home, randomFrom(seed));
      const membership = Membership.open(root, { HOME: home });
      expect({ seed, paths: listed(root, membership) }).toEqual({ seed, paths: listedByGit(root, home) });
      expect(membership.problem).toBeUndefined();
    }
  });
}

const judged = (root: string, env = {}) => listed(root, Membership.open(root, env));

function repository(files: Record<string, string>, ...added: string[]): string {
  const root = gitRoot(files);
  if (added.length > 0) git(root, "add", "-f", ...added);
  return root;
}

describe("in a repository", () => {
  test("tracked files are in, whatever rules say; usual folders are not rules", () => {
    const files = { "dist/a": "1", "build/b": "2", "vendor/c/d": "3", "vendor/e": "4", ".gitignore": "dist\nvendor\n" };
    const root = repository(files, "dist/a", "vendor/c/d");
    expect(judged(root)).toEqual([".gitignore", "build/b", "dist/a", "vendor/c/d"]);
    expect(judged(root)).toEqual(listedByGit(root, temporary()));
  });

  test("it is the same without git, and where git refuses it", () => {
    const root = repository({ "dist/a": "1", b: "2", ".gitignore": "dist\n" }, "dist/a");
    const before = process.env.PATH;
    process.env.PATH = "/nowhere";
    try {
      const membership = Membership.open(root, {});
      expect([listed(root, membership), membership.source]).toEqual([[".gitignore", "b", "dist/a"], "index"]);
      // An index that is not read here, and no git to ask: rules only, but git's, without the usual folders.
      writeFileSync(join(root, ".git/index"), "no index");
      const damaged = Membership.open(root, {});
      put(root, "build/c", "3");
      expect([listed(root, damaged), damaged.source]).toEqual([[".gitignore", "b", "build/c"], "folder"]);
      expect(damaged.problem).toBe("git's index is not an index");
    } finally {
      process.env.PATH = before;
    }
  });

  test("where only git can read the index, git is asked", () => {
    const root = repository({ "dist/a": "1", b: "2", ".gitignore": "dist\n" }, "dist/a");
    const index = readFileSync(join(root, ".git/index"));
    index[index.length - 1]! ^= 1;
    writeFileSync(join(root, ".git/index"), index);
    const membership = Membership.open(root, {});
    expect([listed(root, membership), membership.source]).toEqual([[".gitignore", "b", "dist/a"], "git"]);
    expect(membership.problem).toBe("git's index is damaged: its checksum does not match");
  });

  test("a git program in the work tree and one that its configuration names do not run", () => {
    const root = repository({ a: "1" }, "a");
    const ran = join(temporary(), "ran");
    put(root, "git", `#!/bin/sh\ntouch ${ran}\n`);
    chmodSync(join(root, "git"), 0o755);
    git(root, "config", "core.fsmonitor", join(root, "git"));
    writeFileSync(join(root, ".git/index"), "no index");
    const before = process.env.PATH;
    process.env.PATH = `${root}:${before}`;
    try {
      expect(Membership.open(root, {}).source).toBe("folder");
    } finally {
      process.env.PATH = before;
    }
    expect(existsSync(ran)).toBe(false);
  });

  test("a linked work tree has an index of its own, and the excludes of its repository", () => {
    const root = repository({ a: "1", "b.log": "2" }, "a");
    git(root, "commit", "-qm", "one");
    const linked = join(temporary(), "linked");
    git(root, "worktree", "add", "-q", linked);
    put(root, ".git/info/exclude", "*.log\n");
    put(linked, "c", "3");
    put(linked, "c.log", "3");
    git(linked, "add", "-f", "c.log");
    expect([judged(linked), judged(root)]).toEqual([["a", "c", "c.log"], ["a"]]);
    expect(judged(linked)).toEqual(listedByGit(linked, temporary()));
  });

  test("submodules by their own index and rules, also one in another; not checked out they are nothing", () => {
    const inner = repository({ "dist/x": "1", y: "2", ".gitignore": "dist\n" }, ".");
    git(inner, "commit", "-qm", "one");
    const middle = repository({ z: "1" }, ".");
    git(middle, "submodule", "--quiet", "add", inner, "inner");
    git(middle, "commit", "-qm", "one");
    const root = repository({ a: "1", ".gitignore": "*.o\n/sub/\n" }, ".");
    git(root, "submodule", "--quiet", "add", "-f", middle, "sub");
    expect(judged(root)).toEqual([".gitignore", ".gitmodules", "a", "sub/.gitmodules", "sub/z"]);
    git(root, "submodule", "--quiet", "update", "--init", "--recursive");
    put(root, "sub/inner/new.o", "untracked");
    put(root, "sub/inner/dist/new", "ignored");
    const all = [".gitignore", ".gitmodules", "a", "sub/.gitmodules", "sub/inner/.gitignore", "sub/inner/dist/x"];
    expect(judged(root)).toEqual([...all, "sub/inner/new.o", "sub/inner/y", "sub/z"]);
    git(root, "submodule", "--quiet", "deinit", "-f", "sub");
    expect(judged(root)).toEqual([".gitignore", ".gitmodules", "a"]);
  });

  test("other checkouts inside stay out, a folder that only looks like one does not", () => {
    const root = repository({
      a: "1",
      "clone/b": "2",
      "likely/c": "3",
      "likely/.git/HEAD": "none",
      "file/d": "4",
      "file/.git": "gitdir: ../nowhere",
    });
    git(join(root, "clone"), "init", "-q");
    git(root, "-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "one");
    git(root, "worktree", "add", "-q", "tree");
    const membership = Membership.open(root, {});
    expect(listed(root, membership)).toEqual(["a", "file/d", "likely/c"]);
    expect(membership.judge("clone", true)).toBe("nested");
    expect(membership.judge("clone/b", false)).toBe("nested");
  });

  test("git's database and our own state never belong to it", () => {
    const root = repository({ "a/.svc/token": "1", "a/.svcx": "2", "a/.gitx/b": "3", ".svc/c": "4" }, ".");
    const membership = Membership.open(root, {});
    expect(listed(root, membership)).toEqual(["a/.gitx/b", "a/.svcx"]);
    for (const path of [".git", ".svc", "a/.svc", "a/.svc/token", ".git/config"])
      expect(membership.judge(path, false)).toBe("internal");
  });

  test("the user's excludes count, with git or without", () => {
    const home = rootWith({ ".config/git/ignore": "*.swp\n", "a.swp": "1" });
    const root = repository({ "a.swp": "1", b: "2" });
    expect(judged(root, { HOME: home })).toEqual(["b"]);
    expect(judged(root, { HOME: "" })).toEqual(["a.swp", "b"]);
    const folder = rootWith({ "a.swp": "1", b: "2", "dist/c": "3" });
    expect(judged(folder, { HOME: home })).toEqual(["b"]);
    put(home, ".config/git/ignore", "!dist/\n");
    expect(judged(folder, { HOME: home })).toEqual(["a.swp", "b", "dist/c"]);
  });

  test("a bare repository's own work tree, and one that is elsewhere", () => {
    const root = repository({ "dist/a": "1", b: "2" }, ".");
    git(root, "config", "core.bare", "true");
    expect(judged(root)).toEqual(["b", "dist/a"]);
    git(root, "config", "core.bare", "false");
    git(root, "config", "core.worktree", root);
    expect(judged(root)).toEqual(["b", "dist/a"]);
    git(root, "config", "core.worktree", temporary());
    const membership = Membership.open(root, {});
    expect([listed(root, membership), membership.source]).toEqual([["b"], "folder"]);
    expect(membership.problem).toBe("git does not accept its .git");
  });
});

describe(".svcignore", () => {
  test("excludes tracked files too, at any level, and takes back what git ignores", () => {
    const files = {
      "a/x.ts": "1",
      "a/y.ts": "2",
      "b/x.ts": "3",
      "b/deep/z.ts": "4",
      "out/kept.ts": "5",
      "out/more/z": "6",
      ".gitignore": "out/\n",
      ".svcignore": "b/*\n!b/deep/\n!/out/\n",
      "a/.svcignore": "/x.ts\n",
    };
    const root = repository(files, "a", "b");
    expect(judged(root)).toEqual([
      ".gitignore",
      ".svcignore",
      "a/.svcignore",
      "a/y.ts",
      "b/deep/z.ts",
      "out/kept.ts",
      "out/more/z",
    ]);
    const membership = Membership.open(root, {});
    expect([membership.judge("a/x.ts", false), membership.judge("b/x.ts", false)]).toEqual([
      "svcignored",
      "svcignored",
    ]);
  });

  test("reaches into submodules and applies without git", () => {
    const inner = repository({ "x.ts": "1", "y.ts": "2" }, ".");
    git(inner, "commit", "-qm", "one");
    const root = repository({ ".svcignore": "x.ts\n" });
    git(root, "submodule", "--quiet", "add", inner, "sub");
    expect(judged(root)).toEqual([".gitmodules", ".svcignore", "sub/y.ts"]);
    const folder = rootWith({
      "x.ts": "1",
      "y/x.ts": "2",
      "y/z.ts": "3",
      ".svcignore": "x.ts\n!build/\n",
      "build/a": "4",
    });
    expect(judged(folder)).toEqual([".svcignore", "build/a", "y/z.ts"]);
  });
});

describe("a folder without git", () => {
  test("ignore files and the usual folders decide; what an ignore file takes back counts", () => {
    const root = rootWith({
      "a.ts": "1",
      "node_modules/b": "2",
      "dist/c": "3",
      "web/dist/d": "4",
      "web/.gitignore": "!dist/\n*.o\n",
      "web/e.o": "5",
    });
    const membership = Membership.open(root, {});
    expect(listed(root, membership)).toEqual(["a.ts", "web/.gitignore", "web/dist/d"]);
    expect([membership.source, membership.problem]).toEqual(["folder", undefined]);
  });

  test("checkouts in it are read by their own index and rules", () => {
    const root = rootWith({ "one/build/a": "1", "one/b.o": "2", "one/c": "3", ".gitignore": "*.x\n", "one/d.x": "4" });
    git(join(root, "one"), "init", "-q");
    git(join(root, "one"), "add", "build");
    put(root, "one/.git/info/exclude", "*.o\n");
    expect(judged(root)).toEqual([".gitignore", "one/build/a", "one/c", "one/d.x"]);
  });

  test("one that a repository around it ignores is a folder of its own; with tracked files it is a part of it", () => {
    const root = repository(
      { "out/a.ts": "1", "out/dist/b": "2", "kept/a": "3", "kept/b": "4", ".gitignore": "out\nkept\n" },
      "kept/a",
    );
    const [out, kept] = [Membership.open(join(root, "out"), {}), Membership.open(join(root, "kept"), {})];
    expect([listed(join(root, "out"), out), out.source]).toEqual([["a.ts"], "folder"]);
    expect([listed(join(root, "kept"), kept), kept.source]).toEqual([["a"], "index"]);
  });

  test("one in a work tree has the rules of the folders above it", () => {
    const root = repository({
      "in/a.o": "1",
      "in/b": "2",
      "in/c/d.x": "3",
      "in/c/e": "4",
      ".gitignore": "*.o\n/in/c/*.x\n",
    });
    expect(judged(join(root, "in"))).toEqual(["b", "c/e"]);
  });
});
