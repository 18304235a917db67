/** Git's index as it is read here: every version that git writes, and bytes that are not valid. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IndexError, parseIndex } from "../../../../src/repo/files/git/index-file.ts";
import { layoutOf } from "../../../../src/repo/files/git/layout.ts";
import { trackedIn } from "../../../../src/repo/files/git/tracked.ts";
import { git, gitRoot, put, rootWith, temporary } from "../../helpers.ts";
import { randomFrom } from "../git-random.ts";

const FILES = ["a", "a.b/c", "a/b/c", "a/b/d", "ä/ö", "b c", "deep/er/and/deeper/still", "z".repeat(200)];

function repository(...init: string[]): string {
  const root = rootWith(Object.fromEntries(FILES.filter((path) => path !== "a").map((path) => [path, path])));
  git(root, "init", "-q", ...init);
  git(root, "add", ".");
  return root;
}

const read = (root: string, hashBytes: 20 | 32 = 20) => trackedIn(root, layoutOf(root)!, hashBytes);

/** What git says is tracked; each name once. */
function tracked(root: string): string[] {
  return [...new Set(git(root, "ls-files", "-z").split("\0").slice(0, -1))].sort();
}

/** That the index itself was read, and names what git names. */
function expectSame(root: string, hashBytes: 20 | 32 = 20): void {
  const names = read(root, hashBytes);
  expect([names.source, names.problem]).toEqual(["index", undefined]);
  expect([...names.tracked.files].sort()).toEqual(tracked(root));
  const folders = new Set<string>();
  for (const path of names.tracked.files) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) folders.add(path.slice(0, at));
  }
  expect([...names.tracked.folders].sort()).toEqual([...folders].sort());
}

describe("the names that git says are tracked", () => {
  for (const version of ["2", "3", "4"]) {
    for (const format of ["sha1", "sha256"] as const) {
      test(`version ${version}, ${format}`, () => {
        const root = repository(`--object-format=${format}`);
        put(root, "later", "not added yet");
        git(root, "add", "-N", "later");
        git(root, "update-index", "--skip-worktree", "b c");
        git(root, "update-index", "--index-version", version);
        expect(readFileSync(join(root, ".git/index"))[7]).toBe(version === "2" ? 3 : Number(version));
        expectSame(root, format === "sha1" ? 20 : 32);
      });
    }
  }

  test("without a checksum", () => {
    const root = repository();
    git(root, "-c", "index.skipHash=true", "rm", "-q", "--cached", "b c");
    expectSame(root);
  });

  test("an unresolved merge counts once", () => {
    const root = repository();
    const [one, two] = ["1", "2"].map((text) => {
      put(root, "blob", text);
      return git(root, "hash-object", "-w", "blob").trim();
    });
    const input = [1, 2, 3].map((stage) => `100644 ${stage === 2 ? one : two} ${stage}\tmerged\n`).join("");
    const child = Bun.spawnSync(["git", "update-index", "--index-info"], { cwd: root, stdin: Buffer.from(input) });
    expect(child.exitCode).toBe(0);
    expectSame(root);
  });

  test("a name longer than its length field", () => {
    const root = repository();
    const blob = git(root, "hash-object", "-w", "a/b/c").trim();
    const long = `long/${"n".repeat(200)}/`.repeat(25) + "end";
    git(root, "update-index", "--add", "--cacheinfo", `100644,${blob},${long}`);
    expectSame(root);
    // In version 4 few bytes can make many such names: git is asked.
    git(root, "update-index", "--index-version", "4");
    expect(read(root)).toMatchObject({ source: "git", problem: "git's index is damaged" });
    expect([...read(root).tracked.files].sort()).toEqual(tracked(root));
  });

  test("a split index, with names removed, changed and added since", () => {
    const root = repository();
    git(root, "update-index", "--split-index");
    expectSame(root);
    git(root, "-c", "splitIndex.maxPercentChange=100", "rm", "-q", "--cached", "a/b/c", "b c");
    put(root, "a/b/d", "changed");
    put(root, "new/file", "new");
    git(root, "-c", "splitIndex.maxPercentChange=100", "add", "a/b/d", "new/file");
    expectSame(root);
    for (const name of new Bun.Glob("sharedindex.*").scanSync(join(root, ".git"))) rmSync(join(root, ".git", name));
    expect(read(root)).toMatchObject({ problem: "git's index is split, and the shared index is missing" });
  });

  test("a sparse index: by git where a folder that it leaves out is there", () => {
    const root = repository();
    git(root, "commit", "-qm", "one");
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "deep");
    const names = read(root);
    expect([names.source, names.tracked.sparse]).toEqual(["index", ["a.b", "a", "ä"]]);
    expect([...names.tracked.files].sort()).toEqual(["b c", "deep/er/and/deeper/still", "z".repeat(200)]);
    put(root, "a/b/c", "here");
    expect(read(root).source).toBe("git");
    expect([...read(root).tracked.files]).toContain("a/b/d");
  });

  test("none in a repository without an index", () => {
    const root = temporary();
    git(root, "init", "-q");
    expect(read(root)).toMatchObject({ source: "index" });
    expect(read(root).tracked.files.size).toBe(0);
  });
});

describe("an index that is not read here", () => {
  const index = (root: string) => join(root, ".git/index");

  test("damaged: the checksum tells, which git does not look at", () => {
    const root = repository();
    const bytes = readFileSync(index(root));
    bytes[13]! ^= 1;
    writeFileSync(index(root), bytes);
    const problem = "git's index is damaged: its checksum does not match";
    expect(read(root)).toMatchObject({ source: "git", problem });
    expect([...read(root).tracked.files].sort()).toEqual(tracked(root));
    bytes.fill(0xff, 12);
    writeFileSync(index(root), bytes);
    expect(read(root)).toMatchObject({ source: "none", problem });
    expect(read(root).tracked.files.size).toBe(0);
  });

  test("a newer version, an unknown extension, no regular file, a folder", () => {
    const root = repository();
    const bytes = readFileSync(index(root));
    const newer = Buffer.from(bytes);
    newer[7] = 5;
    writeFileSync(index(root), newer);
    expect(read(root)).toMatchObject({ source: "none", problem: "git's index has version 5" });
    writeFileSync(index(root), withoutChecksum(bytes.subarray(0, -20), Buffer.from("news\0\0\0\x02ab", "latin1")));
    expect(read(root)).toMatchObject({ source: "none", problem: "git's index needs the extension 'news'" });
    rmSync(index(root));
    expect(Bun.spawnSync(["mkfifo", index(root)]).exitCode).toBe(0);
    expect(read(root)).toMatchObject({ source: "none", problem: "git's index could not be read" });
    rmSync(index(root));
    mkdirSync(index(root));
    expect(read(root)).toMatchObject({ source: "none", problem: "git's index could not be read" });
  });
});

function withoutChecksum(...parts: Uint8Array[]): Buffer {
  return Buffer.concat([...parts, Buffer.alloc(20)]);
}

test("names that no work tree can have are dropped", () => {
  const root = gitRoot({ "aa/bb": "1", "cc/dddd": "2", eeee: "3", fine: "4" });
  git(root, "add", ".");
  const index = readFileSync(join(root, ".git/index"));
  const namesWith = (from: string, to: string) => {
    const text = index.subarray(0, -20).toString("latin1").replace(from, to);
    return parseIndex(withoutChecksum(Buffer.from(text, "latin1")), 20);
  };
  for (const [from, to] of [
    ["aa/bb", "../bb"],
    ["aa/bb", "aa/.."],
    ["aa/bb", "/a/bb"],
    ["aa/bb", "aa//b"],
    ["aa/bb", "./abb"],
    ["cc/dddd", "cc/.git"],
    ["cc/dddd", ".gIT/dd"],
    ["eeee", ".GIT"],
    ["eeee", "ee\0e"],
  ] as const)
    expect([to, namesWith(from, to).names.filter((name) => name !== "").length]).toEqual([to, 3]);
  expect(namesWith("eeee", "e.e.").names).toContain("e.e.");
  const undecodable = namesWith("eeee", "\xffeee");
  expect([undecodable.undecodable, undecodable.names.includes("fine")]).toEqual([1, true]);
});

for (const version of ["2", "4", "split"]) {
  test(`random damage ends in an error or in names (${version}, seed 7)`, () => {
    const root = repository();
    git(root, "update-index", ...(version === "split" ? ["--split-index"] : ["--index-version", version]));
    if (version === "split") git(root, "-c", "splitIndex.maxPercentChange=100", "rm", "-q", "--cached", "a/b/c", "b c");
    const whole = readFileSync(join(root, ".git/index"));
    // Zeros for a checksum, so that the damage is read and not only noticed.
    whole.fill(0, whole.length - 20);
    const random = randomFrom(7);
    let errors = 0;
    for (let round = 0; round < 4000; round++) {
      const bytes = Buffer.from(whole);
      for (let count = 1 + random(4); count > 0; count--) {
        const at = random(bytes.length - 20);
        bytes[at] = random(3) === 0 ? [0, 1, 0x7f, 0x80, 0xff][random(5)]! : random(256);
      }
      const end = random(10) === 0 ? random(bytes.length) : bytes.length;
      try {
        const { names } = parseIndex(bytes.subarray(0, end), 20);
        for (const name of names) expect(name).not.toMatch(/^\/|(^|\/)\.\.?(\/|$)|\0/);
      } catch (error) {
        if (!(error instanceof IndexError)) throw error;
        errors++;
      }
    }
    expect(errors).toBeGreaterThan(500);
  });
}

test("random bytes are not an index", () => {
  const random = randomFrom(11);
  for (let round = 0; round < 2000; round++) {
    const bytes = Buffer.alloc(random(400));
    for (let at = 0; at < bytes.length; at++) bytes[at] = random(256);
    if (random(2) === 0)
      bytes.set(Buffer.from(`DIRC\0\0\0${"\x02\x03\x04"[random(3)]}\0\0\0\x03`, "latin1").subarray(0, bytes.length));
    if (bytes.length > 40) bytes.fill(0, bytes.length - 20);
    expect(() => {
      parseIndex(bytes, 20);
      throw new IndexError("read");
    }).toThrow(IndexError);
  }
});
