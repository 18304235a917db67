import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { CancelledError, OSError } from "../../../src/errors.ts";
import type { RepoTree } from "../../../src/repo/files/tree.ts";
import { WalkProgress } from "../../../src/repo/files/walk-progress.ts";
import { commitAll, contentHash, git, gitRoot, put, rootWith, stampOfStat, temporary } from "../helpers.ts";
import { lookAt, treeOf } from "./look.ts";

const paths = async (root: string, options = {}) => (await lookAt(root, options)).paths;
const NO_LIMIT = { msMax: Number.POSITIVE_INFINITY };
const NONE = { secret: 0, unreadable: 0, outside: 0 };

describe("in a git checkout", () => {
  test("tracked and untracked files, not ignored, deleted or from another folder", async () => {
    const root = gitRoot({
      ".gitignore": "*.tmp\ndist/\n",
      "a.ts": "1",
      "b.ts": "2",
      "dist/kept.js": "6",
      "dist/made.js": "7",
      "sub/c.ts": "3",
      "x.tmp": "4",
      "forced.tmp": "5",
    });
    git(root, "add", "-f", "a.ts", "b.ts", "forced.tmp", "dist/kept.js");
    rmSync(join(root, "b.ts"));
    expect(await lookAt(root)).toEqual({
      paths: [".gitignore", "a.ts", "dist/kept.js", "forced.tmp", "sub/c.ts"],
      isComplete: true,
      left: NONE,
      source: "git index",
    });
    expect(await paths(join(root, "sub"))).toEqual(["c.ts"]);
    expect(await paths(root, { below: "dist" })).toEqual(["dist/kept.js"]);
  });

  test("a folder that git ignores is looked at when it is the root", async () => {
    const root = gitRoot({ ".gitignore": "inner/\n", "inner/a.ts": "1", "b.ts": "2" });
    expect(await lookAt(join(root, "inner"))).toMatchObject({ paths: ["a.ts"], source: "folder" });
  });

  test("submodules are part of it, other checkouts inside are not", async () => {
    const library = gitRoot({ "lib.c": "int x;" });
    commitAll(library);
    const root = gitRoot({ "a.ts": "1" });
    const tree = await treeOf(root);
    const seen = async () => {
      expect(await tree.look(NO_LIMIT)).toBe(true);
      const now = [...tree.files.keys()].sort();
      expect(now).toEqual(await paths(root));
      return now;
    };
    expect(await seen()).toEqual(["a.ts"]);
    git(root, "submodule", "--quiet", "add", library, "third/lib");
    put(root, "third/lib/new.c", "int y;");
    commitAll(root);
    git(root, "worktree", "add", "-q", "trees/other");
    expect(await seen()).toEqual([".gitmodules", "a.ts", "third/lib/lib.c", "third/lib/new.c"]);
    git(root, "submodule", "deinit", "-q", "-f", "third/lib");
    expect(await seen()).toEqual([".gitmodules", "a.ts"]);
    rmSync(join(root, "trees/other/.git"));
    expect(await seen()).toEqual([".gitmodules", "a.ts", "trees/other/.gitmodules", "trees/other/a.ts"]);
    git(join(root, "trees/other"), "init", "-q");
    expect(await seen()).toEqual([".gitmodules", "a.ts"]);
    tree.close();
  });

  test("no program named by the repository or its surroundings runs", async () => {
    const root = rootWith({ "a.ts": "1" });
    const proof = join(temporary(), "ran");
    git(root, "init", "-q");
    put(root, "evil.sh", `#!/bin/sh\ntouch ${proof}\n`);
    chmodSync(join(root, "evil.sh"), 0o755);
    git(root, "config", "core.fsmonitor", join(root, "evil.sh"));
    git(root, "config", "core.sshCommand", join(root, "evil.sh"));
    put(root, ".git/hooks/post-index-change", `#!/bin/sh\ntouch ${proof}\n`);
    chmodSync(join(root, ".git/hooks/post-index-change"), 0o755);
    // An index that only git reads.
    writeFileSync(join(root, ".git/index"), "DIRC\0\0\0\u0009\0\0\0\0");
    process.env.GIT_DIR = "/nonexistent";
    try {
      expect(await paths(root)).toEqual(["a.ts", "evil.sh"]);
    } finally {
      delete process.env.GIT_DIR;
    }
    expect(existsSync(proof)).toBe(false);
  });

  test("a tracked folder replaced by a link is not followed", async () => {
    const outside = rootWith({ "f.ts": "theirs" });
    const root = gitRoot({ "d/f.ts": "ours", "a.ts": "1" });
    git(root, "add", ".");
    const tree = await treeOf(root);
    await tree.look(NO_LIMIT);
    expect([...tree.files.keys()].sort()).toEqual(["a.ts", "d/f.ts"]);
    renameSync(join(root, "d"), join(outside, "old"));
    symlinkSync(outside, join(root, "d"));
    expect(await tree.look(NO_LIMIT)).toBe(true);
    expect([...tree.files.keys()]).toEqual(["a.ts"]);
    expect(tree.leftIn("")).toEqual({ ...NONE, outside: 1 });
    expect(tree.read("d/f.ts", 0)).toEqual({ failure: "gone" });
    tree.close();
  });
});

for (const kind of ["git index", "folder"] as const) {
  describe(`any list of files (${kind})`, () => {
    const prepared = (files: Record<string, string | Uint8Array>) => {
      const root = rootWith(files);
      if (kind === "git index") git(root, "init", "-q");
      return root;
    };

    test("links: out of the root counted, within it silent, never followed", async () => {
      const outside = rootWith({ "secret.txt": "theirs", "d/x.txt": "theirs" });
      const root = prepared({ "a.txt": "1", "d/b.txt": "2" });
      symlinkSync("a.txt", join(root, "again.txt"));
      symlinkSync("d", join(root, "e"));
      symlinkSync("nowhere", join(root, "dangling"));
      symlinkSync("circle", join(root, "circle"));
      symlinkSync(join(outside, "secret.txt"), join(root, "out1"));
      symlinkSync(join(outside, "d"), join(root, "out2"));
      symlinkSync("../../nowhere", join(root, "out3"));
      const left = { ...NONE, outside: 3 };
      expect(await lookAt(root)).toEqual({ paths: ["a.txt", "d/b.txt"], isComplete: true, left, source: kind });
    });

    test("a link that leads elsewhere now", async () => {
      const root = prepared({ "a.txt": "1" });
      const link = join(root, "link");
      symlinkSync("a.txt", link);
      const tree = await treeOf(root);
      const outside = async () => {
        await tree.look(NO_LIMIT);
        return tree.leftIn("").outside;
      };
      expect(await outside()).toBe(0);
      rmSync(link);
      symlinkSync("/", link);
      expect(await outside()).toBe(1);
      rmSync(link);
      symlinkSync("a.txt", link);
      expect(await outside()).toBe(0);
      rmSync(link);
      writeFileSync(link, "a file");
      await tree.look(NO_LIMIT);
      expect([...tree.files.keys()].sort()).toEqual(["a.txt", "link"]);
      tree.close();
    });

    test("secrets are counted", async () => {
      const root = prepared({ "a.txt": "1", ".env": "K=1", "keys/id_rsa": "x", "x.PEM": "x" });
      expect(await lookAt(root)).toMatchObject({ paths: ["a.txt"], left: { ...NONE, secret: 3 } });
      expect(await lookAt(root, { below: "keys" })).toMatchObject({ paths: [], left: { ...NONE, secret: 1 } });
    });

    test("a FIFO does not hang it", async () => {
      const root = prepared({ "a.txt": "1", pipe: "" });
      if (kind === "git index") git(root, "add", ".");
      const tree = await treeOf(root);
      await tree.look(NO_LIMIT);
      rmSync(join(root, "pipe"));
      spawnSync("mkfifo", [join(root, "pipe")]);
      await tree.look(NO_LIMIT);
      expect([...tree.files.keys()]).toEqual(["a.txt"]);
      expect(tree.leftIn("")).toEqual({ ...NONE, unreadable: 1 });
      expect(tree.read("pipe", 0)).toEqual({ failure: "unreadable" });
      tree.close();
    });

    test("names that are not UTF-8 are counted as unreadable, any other name is fine", async () => {
      const odd = ["new\nline", "tab\there", 'quo"te', "-dash", "\uFFFD", "日本語.md", "back\\slash"];
      const root = prepared(Object.fromEntries(odd.map((name) => [name, "1"])));
      writeFileSync(Buffer.concat([Buffer.from(`${root}/bad`), Buffer.from([0xff])]), "x");
      expect(await lookAt(root)).toMatchObject({ paths: [...odd].sort(), left: { ...NONE, unreadable: 1 } });
    });

    test("our own state is never listed", async () => {
      const root = prepared({ "a.txt": "1", ".svc/token": "t", "memory/notes/collection.json": "{}" });
      expect(await paths(root, { exclude: [join(root, "memory")] })).toEqual(["a.txt"]);
    });

    test("a cancelled look ends, and the next one finds everything", async () => {
      const root = prepared({ "a.txt": "1" });
      const tree = await treeOf(root);
      await expect(tree.look({ ...NO_LIMIT, signal: AbortSignal.abort() })).rejects.toBeInstanceOf(CancelledError);
      expect(await tree.look(NO_LIMIT)).toBe(true);
      expect(tree.files.size).toBe(1);
      tree.close();
    });

    test("a folder that cannot be entered is unknown, what else is missing is gone", async () => {
      const root = prepared({ "a.ts": "1", "closed/b.ts": "2" });
      const tree = await treeOf(root);
      // Too deep a path cannot be read even by root.
      put(root, `${"deep/".repeat(205)}c.ts`, "3");
      const isComplete = await tree.look(NO_LIMIT);
      expect(isComplete).toBe(true);
      expect(tree.leftIn("").unreadable).toBeGreaterThan(0);
      expect(tree.isGone(`${"deep/".repeat(205)}c.ts`, isComplete)).toBe(false);
      expect(tree.isGone("closed/c.ts", isComplete)).toBe(true);
      tree.close();
    });
  });
}

describe("one look after another", () => {
  /** A tree, and what a look finds that must equal what a new tree finds. */
  async function watched(root: string) {
    const tree: RepoTree = await treeOf(root);
    const look = async (options = {}) => {
      const isComplete = await tree.look({ ...NO_LIMIT, ...options });
      return { isComplete, files: [...tree.files.keys()].sort() };
    };
    return { tree, look };
  }

  test("rules that change at any level count at once, also where only their time was kept", async () => {
    const root = gitRoot({ "a.ts": "1", "d/b.ts": "2", "d/e/c.ts": "3", "d/e/x.log": "4" });
    const { tree, look } = await watched(root);
    const all = ["a.ts", "d/b.ts", "d/e/c.ts", "d/e/x.log"];
    expect((await look()).files).toEqual(all);
    put(root, "d/.gitignore", "*.log\n");
    expect((await look()).files).toEqual(["a.ts", "d/.gitignore", "d/b.ts", "d/e/c.ts"]);
    // The same size within the same moment.
    put(root, "d/.gitignore", "c.ts\n\n");
    const stamp = new Date(1_600_000_000_000);
    utimesSync(join(root, "d/.gitignore"), stamp, stamp);
    expect((await look()).files).toEqual(["a.ts", "d/.gitignore", "d/b.ts", "d/e/x.log"]);
    put(root, ".svcignore", "d/e/\n");
    expect((await look()).files).toEqual([".svcignore", "a.ts", "d/.gitignore", "d/b.ts"]);
    rmSync(join(root, ".svcignore"));
    rmSync(join(root, "d/.gitignore"));
    put(root, ".git/info/exclude", "e/\n");
    expect((await look()).files).toEqual(["a.ts", "d/b.ts"]);
    git(root, "add", "-f", "d/e/c.ts");
    expect((await look()).files).toEqual(["a.ts", "d/b.ts", "d/e/c.ts"]);
    git(root, "rm", "-q", "--cached", "d/e/c.ts");
    expect((await look()).files).toEqual(["a.ts", "d/b.ts"]);
    rmSync(join(root, ".git"), { recursive: true });
    expect((await look()).files).toEqual(all);
    expect(tree.source).toBe("folder");
    git(root, "init", "-q");
    expect([(await look()).files, tree.source]).toEqual([all, "git index"]);
    tree.close();
  });

  test("the mark of a file and the hash of its bytes are those of their definitions", async () => {
    const root = rootWith({ "a.ts": "export {};\n".repeat(100), empty: "", "b.bin": new Uint8Array(10) });
    const { tree, look } = await watched(root);
    await look();
    for (const [path, stamp] of tree.files) {
      expect(stamp).toEqual(stampOfStat(lstatSync(join(root, path), { bigint: true })));
      const read = tree.read(path, 0);
      expect(read.stamp).toEqual(stamp);
      if ("failure" in read) expect([path, read.failure]).toEqual(["b.bin", "binary"]);
      else expect([path, read.hash]).toEqual([path, contentHash(readFileSync(join(root, path)))]);
    }
    expect(tree.read("a.ts", 10)).toMatchObject({ failure: "too_large" });
    expect(tree.read("none", 0)).toEqual({ failure: "gone" });
    tree.close();
  });

  test("marks change with the file, and only then", async () => {
    const root = rootWith({ "a.ts": "1", "b.ts": "2" });
    const { tree, look } = await watched(root);
    await look();
    const before = new Map([...tree.files].map(([path, { mark }]) => [path, mark]));
    await look();
    expect(new Map([...tree.files].map(([path, { mark }]) => [path, mark]))).toEqual(before);
    appendFileSync(join(root, "a.ts"), "more");
    await look();
    expect(tree.files.get("a.ts")).toMatchObject({ size: 5 });
    expect(tree.files.get("a.ts")!.mark).not.toBe(before.get("a.ts")!);
    expect(tree.files.get("b.ts")!.mark).toBe(before.get("b.ts")!);
    tree.close();
  });

  test("what a look without time did not reach is not gone, and looks without time get to the end", async () => {
    const names = Array.from({ length: 400 }, (_, at) => `d${at % 40}/e${at % 7}/f${at}.ts`);
    const root = rootWith(Object.fromEntries(names.map((name) => [name, "1"])));
    git(root, "init", "-q");
    const { tree, look } = await watched(root);
    let looks = 0;
    for (let isWhole = false; !isWhole; looks++) {
      const { files, isComplete } = await look({ msMax: 0 });
      isWhole = files.length === names.length;
      for (const name of names) if (!tree.files.has(name)) expect(tree.isGone(name, isComplete)).toBe(false);
      expect(looks).toBeLessThan(1000);
    }
    expect(looks).toBeGreaterThan(3);
    expect((await look()).isComplete).toBe(true);
    expect(tree.isGone("d0/none.ts", false)).toBe(true);
    tree.close();
  });

  test("a look below a folder finds what lies there, and leaves the rest as it was", async () => {
    const root = gitRoot({ ".gitignore": "*.tmp\n", "a.ts": "1", "d/b.ts": "2", "d/x.tmp": "3", "e/c.ts": "4" });
    const { tree, look } = await watched(root);
    expect((await look({ below: "d" })).files).toEqual(["d/b.ts"]);
    expect([tree.isGone("d/gone.ts", true), tree.isGone("a.ts", false)]).toEqual([true, false]);
    await look();
    rmSync(join(root, "e/c.ts"));
    put(root, "d/n.ts", "5");
    expect((await look({ below: "d" })).files).toEqual([".gitignore", "a.ts", "d/b.ts", "d/n.ts", "e/c.ts"]);
    expect((await look()).files).toEqual([".gitignore", "a.ts", "d/b.ts", "d/n.ts"]);
    tree.close();
  });
});

test("a root that is gone is an error that names it, and found again when it is back", async () => {
  const root = rootWith({ "d/a.ts": "1" });
  const tree = await treeOf(root);
  await tree.look(NO_LIMIT);
  renameSync(join(root, "d"), `${root}-d`);
  rmSync(root, { recursive: true });
  const failed = tree.look(NO_LIMIT);
  await expect(failed).rejects.toBeInstanceOf(OSError);
  await expect(failed).rejects.toThrow(`the folder '${root}' cannot be read (ENOENT): check that it is there`);
  mkdirSync(root);
  renameSync(`${root}-d`, join(root, "d"));
  expect(await tree.look(NO_LIMIT)).toBe(true);
  expect([...tree.files.keys()]).toEqual(["d/a.ts"]);
  await expect(tree.look({ ...NO_LIMIT, below: "none" })).rejects.toBeInstanceOf(OSError);
  tree.close();
});

describe("without git", () => {
  test("checkouts below it keep their own rules", async () => {
    const root = rootWith({ "one/a.ts": "1", "one/x.tmp": "2", "one/node_modules/m.js": "3", "two/.hidden": "4" });
    git(join(root, "one"), "init", "-q");
    put(root, "one/.git/info/exclude", "*.tmp\nnode_modules/\n");
    expect(await paths(root)).toEqual(["one/a.ts", "two/.hidden"]);
  });

  test("a git program in the repository is not run", async () => {
    const root = gitRoot({ "a.ts": "1", git: "#!/bin/sh\ntouch ran\n" });
    writeFileSync(join(root, ".git/index"), "DIRC\0\0\0\u0009\0\0\0\0");
    chmodSync(join(root, "git"), 0o755);
    const path = process.env.PATH;
    const home = process.cwd();
    process.env.PATH = ".:bin";
    process.chdir(root);
    try {
      expect(await lookAt(root)).toMatchObject({ paths: ["a.ts", "git"], source: "folder" });
    } finally {
      process.chdir(home);
      process.env.PATH = path;
    }
    expect(existsSync(join(root, "ran"))).toBe(false);
  });

  test("without git installed a checkout has the same files", async () => {
    const root = gitRoot({ ".gitignore": "*.tmp\n", "a.ts": "1", "x.tmp": "2", "build/y.tmp": "3", "build/z.c": "4" });
    git(root, "add", "-f", "build/y.tmp");
    const path = process.env.PATH;
    process.env.PATH = "/nonexistent";
    try {
      expect(await paths(root)).toEqual([".gitignore", "a.ts", "build/y.tmp", "build/z.c"]);
    } finally {
      process.env.PATH = path;
    }
  });

  test("an empty root", async () => {
    const root = temporary();
    mkdirSync(join(root, "empty"));
    expect(await paths(root)).toEqual([]);
  });
});

test("a walk from any folder has passed what lies between it and where it came", () => {
  // In the order of a walk after "d/c": above it, after it, then the rest.
  const folders = ["d", "d/c", "d/c/x", "d/ca", "d/d", "d0", "e", "a", "a/b", "c"];
  for (const [at, reached] of folders.entries()) {
    const passed = new WalkProgress("", "d/c", reached);
    for (const [other, folder] of folders.entries()) {
      const isAbove = other < 2 || at < 2;
      expect([reached, folder, passed.covers(folder)]).toEqual([reached, folder, !isAbove && other <= at]);
    }
    expect(passed.covers("")).toBe(true);
  }
  expect(new WalkProgress("d", "", "d/x").covers("e")).toBe(false);
});
