import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CancelledError } from "../../src/errors.ts";
import { Budget } from "../../src/repo/budget.ts";
import { Deadline } from "../../src/repo/deadline.ts";
import { readRepoFile } from "../../src/repo/read.ts";
import { isSecret } from "../../src/repo/secrets.ts";
import { Walk } from "../../src/repo/walk.ts";
import { git, put, rootWith, temporary, walkRepo } from "./helpers.ts";

const paths = async (root: string, options = {}) => (await walkRepo(root, options)).files.map((file) => file.path);

describe("in a git checkout", () => {
  test("tracked and untracked files, not ignored, deleted or from another folder", async () => {
    const root = rootWith({
      ".gitignore": "*.tmp\n",
      "a.ts": "1",
      "b.ts": "2",
      "sub/c.ts": "3",
      "x.tmp": "4",
      "forced.tmp": "5",
    });
    git(root, "init", "-q");
    git(root, "add", "-f", "a.ts", "b.ts", "forced.tmp");
    rmSync(join(root, "b.ts"));
    expect(await paths(root)).toEqual([".gitignore", "a.ts", "forced.tmp", "sub/c.ts"]);
    expect(await paths(join(root, "sub"))).toEqual(["c.ts"]);
  });

  test("a folder that git ignores is walked when it is the root", async () => {
    const root = rootWith({ ".gitignore": "inner/\n", "inner/a.ts": "1", "b.ts": "2" });
    git(root, "init", "-q");
    const walk = await walkRepo(join(root, "inner"));
    expect([walk.source, ...walk.files.map((file) => file.path)]).toEqual(["walk", "a.ts"]);
  });

  test("submodules are part of it, other checkouts inside are not", async () => {
    const library = rootWith({ "lib.c": "int x;" });
    git(library, "init", "-q");
    git(library, "add", ".");
    git(library, "commit", "-qm", "one");
    const root = rootWith({ "a.ts": "1" });
    git(root, "init", "-q");
    git(root, "submodule", "--quiet", "add", library, "third/lib");
    put(root, "third/lib/new.c", "int y;");
    git(root, "add", ".");
    git(root, "commit", "-qm", "one");
    git(root, "worktree", "add", "-q", "trees/other");
    expect(await paths(root)).toEqual([".gitmodules", "a.ts", "third/lib/lib.c", "third/lib/new.c"]);
    git(root, "submodule", "deinit", "-q", "-f", "third/lib");
    expect(await paths(root)).toEqual([".gitmodules", "a.ts"]);
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
    process.env.GIT_DIR = "/nonexistent";
    try {
      expect(await paths(root)).toEqual(["a.ts", "evil.sh"]);
    } finally {
      delete process.env.GIT_DIR;
    }
    expect(existsSync(proof)).toBe(false);
  });

  test("a tracked directory replaced by a link is not followed", async () => {
    const outside = rootWith({ "f.ts": "theirs" });
    const root = rootWith({ "d/f.ts": "ours", "a.ts": "1" });
    git(root, "init", "-q");
    git(root, "add", ".");
    renameSync(join(root, "d"), join(outside, "old"));
    symlinkSync(outside, join(root, "d"));
    const walk = await walkRepo(root);
    expect(walk.files.map((file) => file.path)).toEqual(["a.ts"]);
    expect(walk.skipped.outside).toBe(1);
    expect(readRepoFile(root, "d/f.ts")).toEqual({ failure: "outside" });
  });

  test("an unresolved merge lists its file once", async () => {
    const root = rootWith({ f: "base\n" });
    git(root, "init", "-q", "-b", "one");
    git(root, "add", ".");
    git(root, "commit", "-qm", "base");
    git(root, "checkout", "-qb", "two");
    put(root, "f", "two\n");
    git(root, "commit", "-qam", "two");
    git(root, "checkout", "-q", "one");
    put(root, "f", "one\n");
    git(root, "commit", "-qam", "one");
    expect(() => git(root, "merge", "-q", "two")).toThrow();
    expect(await paths(root)).toEqual(["f"]);
  });
});

for (const kind of ["git", "walk"] as const) {
  describe(`any lister of files (${kind})`, () => {
    const prepared = (files: Record<string, string | Uint8Array>) => {
      const root = rootWith(files);
      if (kind === "git") git(root, "init", "-q");
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
      const walk = await walkRepo(root);
      expect(walk.source).toBe(kind);
      expect(walk.files.map((file) => file.path)).toEqual(["a.txt", "d/b.txt"]);
      expect(walk.skipped).toEqual({ binary: 0, secret: 0, too_large: 0, unreadable: 0, outside: 3 });
    });

    test("secrets and large files are counted", async () => {
      const root = prepared({
        "a.txt": "1",
        ".env": "K=1",
        "keys/id_rsa": "x",
        "x.PEM": "x",
        "big.txt": "x".repeat(101),
      });
      const walk = await walkRepo(root, { maxFileBytes: 100 });
      expect(walk.files.map((file) => file.path)).toEqual(["a.txt"]);
      expect(walk.skipped).toEqual({ binary: 0, secret: 3, too_large: 1, unreadable: 0, outside: 0 });
    });

    test("a FIFO does not hang it", async () => {
      const root = prepared({ "a.txt": "1", pipe: "" });
      if (kind === "git") git(root, "add", ".");
      rmSync(join(root, "pipe"));
      spawnSync("mkfifo", [join(root, "pipe")]);
      const walk = await walkRepo(root);
      expect(walk.files.map((file) => file.path)).toEqual(["a.txt"]);
      expect(walk.skipped.unreadable).toBe(1);
      expect(readRepoFile(root, "pipe")).toEqual({ failure: "unreadable" });
    });

    test("names that are not UTF-8 are counted as unreadable, any other name is fine", async () => {
      const odd = ["new\nline", "tab\there", 'quo"te', "-dash", "\uFFFD", "日本語.md", "back\\slash"];
      const root = prepared(Object.fromEntries(odd.map((name) => [name, "1"])));
      writeFileSync(Buffer.concat([Buffer.from(`${root}/bad`), Buffer.from([0xff])]), "x");
      const walk = await walkRepo(root);
      expect(walk.files.map((file) => file.path)).toEqual([...odd].sort());
      expect(walk.skipped.unreadable).toBe(1);
    });

    test("our own state is never listed", async () => {
      const root = prepared({ "a.txt": "1", ".svc/token": "t", "memory/notes/collection.json": "{}" });
      expect(await paths(root, { exclude: [join(root, "memory")] })).toEqual(["a.txt"]);
    });

    test("a cancelled walk ends", async () => {
      const root = prepared({ "a.txt": "1" });
      await expect(walkRepo(root, { signal: AbortSignal.abort() })).rejects.toBeInstanceOf(CancelledError);
    });
  });
}

describe("in stretches", () => {
  const tree = () =>
    rootWith({
      "a.ts": "1",
      "a/b/c.ts": "2",
      "a/b.ts": "3",
      "ab.ts": "4",
      "lib.c": "5",
      "m/.gitignore": "*.tmp\n",
      "m/n.tmp": "6",
      "m/n.ts": "7",
      "z.pem": "8",
      "zz.ts": "9",
    });
  const walked = ["a.ts", "a/b.ts", "a/b/c.ts", "ab.ts", "lib.c", "m/.gitignore", "m/n.ts", "zz.ts"];

  /** A checkout of the same files with a submodule among them, whose name another file begins with. */
  const checkout = () => {
    const library = rootWith({ "x/y.c": "1", "z.c": "2" });
    const root = tree();
    for (const repository of [library, root]) {
      git(repository, "init", "-q");
      git(repository, "add", ".");
      git(repository, "commit", "-qm", "one");
    }
    git(root, "submodule", "--quiet", "add", library, "lib");
    return root;
  };
  const listed = [".gitmodules", ...walked, "lib/x/y.c", "lib/z.c"].sort();

  for (const [kind, make, expected] of [
    ["walk", tree, walked],
    ["git", checkout, listed],
  ] as const) {
    test(`a walk begins after any path, and what comes before it is last (${kind})`, async () => {
      const root = make();
      const places = expected.flatMap((path) => [path, ...(path.includes("/") ? [`${dirname(path)}/`] : [])]);
      for (const after of [...places, "", "a", "nowhere", "zzz"]) {
        const { files, walk } = await walkRepo(root, { after });
        const paths = files.map((file) => file.path);
        expect({ after, paths }).toEqual({
          after,
          paths: [...expected.filter((path) => path > after), ...expected.filter((path) => path <= after)],
        });
        expect(walk.isComplete).toBe(true);
      }
    });

    test(`one path after another: what was not reached does not count as removed (${kind})`, async () => {
      const root = make();
      for (const after of [undefined, "a/b.ts", "lib/x/y.c"]) {
        const walk = await Walk.begin(root, { budget: new Budget(), after });
        expect(walk.source).toBe(kind);
        const left = new Set(expected);
        while (!walk.ended) {
          for (const path of left) expect({ path, gone: walk.isGone(path) }).toEqual({ path, gone: false });
          let steps = 0;
          await walk.advance(
            ({ path }) => !left.delete(path),
            () => ++steps > 1,
          );
        }
        expect([...left]).toEqual([]);
        expect(walk.isGone("m/n.tmp")).toBe(true);
      }
    });
  }

  test("git runs out of time: no file counts as removed, and no other checkout inside is entered", async () => {
    const root = checkout();
    git(root, "worktree", "add", "-q", "trees/other");
    const { files, source, walk } = await walkRepo(root, { budget: new Budget(0, new Deadline(1e-9)) });
    expect(files.map((file) => file.path)).toEqual([".gitmodules", ...walked]);
    expect([source, walk.ended, walk.isComplete, walk.isGone("lib/z.c")]).toEqual(["walk", true, false, false]);
  });
});

describe("without git", () => {
  test("checkouts below it keep their own rules", async () => {
    const root = rootWith({ "one/a.ts": "1", "one/x.tmp": "2", "one/node_modules/m.js": "3", "two/.hidden": "4" });
    git(join(root, "one"), "init", "-q");
    put(root, "one/.git/info/exclude", "*.tmp\n");
    expect(await paths(root)).toEqual(["one/a.ts", "two/.hidden"]);
  });

  test("a git program in the repository is not run", async () => {
    const root = rootWith({ "a.ts": "1", git: "#!/bin/sh\ntouch ran\n" });
    chmodSync(join(root, "git"), 0o755);
    const path = process.env.PATH;
    const home = process.cwd();
    process.env.PATH = ".:bin";
    process.chdir(root);
    try {
      expect((await walkRepo(root)).source).toBe("walk");
    } finally {
      process.chdir(home);
      process.env.PATH = path;
    }
    expect(existsSync(join(root, "ran"))).toBe(false);
  });

  test("without git installed a checkout is walked too", async () => {
    const root = rootWith({ ".gitignore": "*.tmp\n", "a.ts": "1", "x.tmp": "2" });
    git(root, "init", "-q");
    const path = process.env.PATH;
    process.env.PATH = "/nonexistent";
    try {
      const walk = await walkRepo(root);
      expect([walk.source, ...walk.files.map((file) => file.path)]).toEqual(["walk", ".gitignore", "a.ts"]);
    } finally {
      process.env.PATH = path;
    }
  });

  test.skipIf(process.getuid?.() === 0)(
    "a directory that cannot be read is reported as unknown (not as root)",
    async () => {
      const root = rootWith({ "a.ts": "1", "closed/b.ts": "2" });
      chmodSync(join(root, "closed"), 0);
      const { walk } = await walkRepo(root);
      chmodSync(join(root, "closed"), 0o700);
      expect([walk.isGone("closed/b.ts"), walk.isGone("b.ts")]).toEqual([false, true]);
    },
  );

  test("an empty root", async () => {
    const root = temporary();
    mkdirSync(join(root, "empty"));
    expect(await paths(root)).toEqual([]);
  });
});

describe("names that mean credentials", () => {
  const yes = [
    ".env",
    ".env.local",
    ".env.example",
    "a/.ENV",
    "prod.env",
    "server.pem",
    "tls.key",
    "id_rsa",
    "id_ed25519.pub",
    ".netrc",
  ];
  yes.push(
    ".npmrc",
    ".pgpass",
    "credentials.json",
    "credentials-prod.json",
    "x.p12",
    "x.pfx",
    "x.jks",
    ".aws/credentials",
    ".aws/config",
  );
  yes.push("home/.ssh/config", ".docker/config.json", "a/.kube/config", "terraform.tfstate", "client_secret_1.json");
  const no = [
    "env.ts",
    "environment.md",
    "keys.ts",
    "monkey",
    "a.pem.md",
    "src/credentials.ts",
    ".docker/Dockerfile",
    "secret.ts",
    "aws/x",
  ];
  for (const path of yes) test(`${path}: yes`, () => expect(isSecret(path)).toBe(true));
  for (const path of no) test(`${path}: no`, () => expect(isSecret(path)).toBe(false));
});
