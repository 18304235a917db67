/** Which files are a repository's: the same with git on the machine, without it, and where git refuses. */
import { beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, chownSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { git, put, rootWith, temporary } from "../repo/helpers.ts";
import { copyOfHome, signedIn } from "./home.ts";
import { index, pathsOf, withoutGit } from "./indexed.ts";

let home: Record<string, string>;
beforeAll(async () => {
  home = await signedIn();
});

/** Names that usual rules of folders take for output of a build, and that git tracks all the same. */
const FILES = {
  ".gitignore": "*.log\n/dist/\n",
  "src/a.ts": "export const a = 1;\n",
  "build/tool.ts": "export const tool = 1;\n",
  "dist/kept.js": "kept();\n",
  "vendor/lib.go": "package lib\n",
  "out.log": "ignored\n",
};
const TRACKED = [".gitignore", "build/tool.ts", "dist/kept.js", "src/a.ts", "vendor/lib.go"];

/** A repository with files that its rules ignore, some of them tracked by force. */
function repository(): string {
  const root = rootWith(FILES);
  git(root, "init", "-q", "-b", "main");
  git(root, "add", "-f", ...TRACKED);
  git(root, "commit", "-qm", "one");
  put(root, "dist/made.js", "made();\n");
  put(root, "new.ts", "export const fresh = 1;\n");
  return root;
}
const LISTED = [...TRACKED, "new.ts"].sort();

/** Both ways must find the same; with each in a memory of its own. */
async function expectBoth(root: string, paths: readonly string[]): Promise<void> {
  expect({ git: await pathsOf(copyOfHome(home), root) }).toEqual({ git: [...paths] });
  expect({ none: await pathsOf(withoutGit(home), root) }).toEqual({ none: [...paths] });
}

const PREPARED: Readonly<Record<string, (root: string) => void>> = {
  "of version 2": (root) => git(root, "update-index", "--index-version", "2"),
  "of version 3, with a file that is intended to be added": (root) => git(root, "add", "-N", "new.ts"),
  "of version 4": (root) => git(root, "update-index", "--index-version", "4"),
  split: (root) => {
    git(root, "update-index", "--split-index");
    git(root, "add", "-f", "new.ts");
    git(root, "rm", "-q", "--cached", "new.ts");
  },
  "with a cache of untracked files": (root) => {
    git(root, "update-index", "--untracked-cache");
    git(root, "status");
  },
};

describe("an index", () => {
  for (const [name, prepare] of Object.entries(PREPARED)) {
    test(name, async () => {
      const root = repository();
      prepare(root);
      await expectBoth(root, LISTED);
    });
  }

  test("of a sparse checkout, with folders for entries", async () => {
    const root = repository();
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "src");
    await expectBoth(root, [".gitignore", "new.ts", "src/a.ts"]);
    git(root, "sparse-checkout", "disable");
    await expectBoth(root, LISTED);
  });

  test("of a linked work tree and of a submodule", async () => {
    const [root, library] = [repository(), repository()];
    const linked = join(temporary(), "linked");
    git(root, "worktree", "add", "-q", "--detach", linked);
    git(linked, "submodule", "--quiet", "add", library, "build/sub");
    put(linked, "build/sub/dist/made.js", "made();\n");
    const inside = TRACKED.map((path) => `build/sub/${path}`);
    await expectBoth(linked, [...TRACKED, ".gitmodules", ...inside].sort());
  });

  test("clones inside stay out, and so does what lies below a link in place of a folder", async () => {
    const root = repository();
    git(root, "clone", "-q", repository(), "clone");
    const outside = rootWith({ "tool.ts": "outside();\n" });
    rmSync(join(root, "build"), { recursive: true });
    symlinkSync(outside, join(root, "build"));
    await expectBoth(
      root,
      LISTED.filter((path) => path !== "build/tool.ts"),
    );
  });
});

describe("rules outside of the repository", () => {
  test("are those of the user, in either place, and those of info/exclude", async () => {
    for (const place of ["usual", "configured"] as const) {
      const root = repository();
      put(root, "mine.todo", "a note\n");
      put(root, "scratch/x.ts", "scratch\n");
      put(root, ".git/info/exclude", "scratch/\n");
      const envs = [copyOfHome(home), withoutGit(home)];
      for (const env of envs) {
        if (place === "usual") put(env.HOME!, ".config/git/ignore", "*.todo\n");
        else {
          put(env.HOME!, "rules", "*.todo\n");
          put(env.HOME!, ".gitconfig", "[core]\n\texcludesFile = ~/rules\n");
        }
        expect({ place, paths: await pathsOf(env, root) }).toEqual({ place, paths: LISTED });
      }
    }
  });
});

/** An index that is not an index: what is left are files that rules do not ignore, or an error; never a crash. */
describe("a damaged index", () => {
  const damage: Readonly<Record<string, (bytes: Buffer) => Uint8Array>> = {
    empty: () => new Uint8Array(),
    "of 11 bytes": (bytes) => bytes.subarray(0, 11),
    "cut in the middle": (bytes) => bytes.subarray(0, bytes.length >> 1),
    "with a flipped bit in an entry": (bytes) => flipped(bytes, 70),
    "with a wrong sum": (bytes) => flipped(bytes, bytes.length - 1),
    "of version 5": (bytes) => Buffer.concat([bytes.subarray(0, 4), Buffer.from([0, 0, 0, 5]), bytes.subarray(8)]),
    "that says it has four billion entries": (bytes) =>
      Buffer.concat([bytes.subarray(0, 8), Buffer.from([255, 255, 255, 255]), bytes.subarray(12)]),
    "of zeros": (bytes) => new Uint8Array(bytes.length),
  };
  for (const [name, change] of Object.entries(damage)) {
    test(name, async () => {
      const root = repository();
      const path = join(root, ".git/index");
      writeFileSync(path, change(readFileSync(path)));
      const [mine, theirs] = [await pathsOf(copyOfHome(home), root), await pathsOf(withoutGit(home), root)];
      for (const paths of [mine, theirs]) {
        expect(paths).toContain("src/a.ts");
        expect(paths.filter((listed) => !LISTED.includes(listed) && listed !== "dist/made.js")).toEqual([]);
      }
    });
  }

  test("that is a FIFO, or a folder", async () => {
    for (const kind of ["fifo", "folder"]) {
      const root = repository();
      const path = join(root, ".git/index");
      rmSync(path);
      if (kind === "fifo") expect(Bun.spawnSync(["mkfifo", path]).success).toBe(true);
      else mkdirSync(path);
      for (const env of [copyOfHome(home), withoutGit(home)]) expect(await pathsOf(env, root)).toContain("src/a.ts");
    }
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
}

test.skipIf(process.getuid?.() !== 0)("a checkout of another owner, which git refuses (needs root)", async () => {
  const root = repository();
  for (const name of ["", ".git", ...TRACKED]) chownSync(join(root, name), 12345, 12345);
  const env = copyOfHome(home);
  const plain = Bun.spawnSync(["git", "ls-files"], { cwd: root, env: { PATH: env.PATH!, HOME: env.HOME! } });
  expect(plain.stderr.toString()).toContain("dubious ownership");
  expect(await pathsOf(env, root)).toEqual(LISTED);
});

test("what is tracked, ignored and new changes the index as git sees it, without git too", async () => {
  for (const env of [copyOfHome(home), withoutGit(home)]) {
    const root = repository();
    expect(await pathsOf(env, root)).toEqual(LISTED);
    git(root, "rm", "-q", "--cached", "dist/kept.js", "build/tool.ts");
    expect(await pathsOf(env, root)).toEqual(LISTED.filter((path) => path !== "dist/kept.js"));
    git(root, "add", "-f", "dist/made.js", "out.log");
    expect(await pathsOf(env, root)).toEqual(
      [...LISTED.filter((path) => path !== "dist/kept.js"), "dist/made.js", "out.log"].sort(),
    );
    appendFileSync(join(root, ".gitignore"), "new.ts\n");
    expect(await pathsOf(env, root)).not.toContain("new.ts");
  }
});

test("hostile settings run nothing where git is not there either", async () => {
  const root = repository();
  const proof = join(temporary(), "ran");
  put(root, "evil.sh", `#!/bin/sh\ntouch ${proof}\n`);
  Bun.spawnSync(["chmod", "755", join(root, "evil.sh")]);
  const { name } = { name: join(root, "evil.sh") };
  appendFileSync(
    join(root, ".git/config"),
    `[core]\n\tfsmonitor = ${name}\n\tsshCommand = ${name}\n\tpager = ${name}\n`,
  );
  appendFileSync(join(root, ".git/config"), `[include]\n\tpath = /dev/zero\n[core]\n\texcludesFile = /dev/zero\n`);
  for (const env of [withoutGit(home)]) {
    expect(await pathsOf(env, root)).toEqual([...LISTED, "evil.sh"].sort());
    expect(await index(env, root)).toMatchObject({ status: expect.any(String) });
  }
  expect(await Bun.file(proof).exists()).toBe(false);
});
