/** What a look at a root finds changed of the files that say what belongs to it. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Membership } from "../../../src/repo/files/membership.ts";
import { commitAll, git, gitRoot, put, rootWith, temporary } from "../helpers.ts";
import { listedByGit, makeRandomRepository, randomFrom, randomRules } from "./git-random.ts";
import { listed } from "./membership-list.ts";

/** A repository that was looked at once. */
function looked(files: Record<string, string>, env: Record<string, string> = {}) {
  const root = gitRoot(files);
  commitAll(root);
  const membership = Membership.open(root, env);
  listed(root, membership);
  return { root, membership };
}

const FILES = { "a/x": "1", "a/y": "2", "b/c/z": "3", ".gitignore": "*.o\n" };

describe("changes that the walk does not see", () => {
  test("nothing changed: nothing is judged again, also just after a change", () => {
    const { root, membership } = looked(FILES);
    expect([membership.refresh(), membership.refresh()]).toEqual([undefined, undefined]);
    // What git writes of the files' times says nothing of names.
    put(root, "a/x", "1");
    git(root, "update-index", "-q", "--refresh");
    git(root, "update-index", "--index-version", "4");
    expect([membership.refresh(), membership.refresh()]).toEqual([undefined, undefined]);
    git(root, "config", "user.name", "t");
    expect(membership.refresh()).toBeUndefined();
  });

  test("names that git tracks from now on, and no longer", () => {
    const { root, membership } = looked(FILES);
    put(root, "out/deep/file.o", "1");
    expect(membership.judge("out/deep/file.o", false)).toBe("ignored");
    git(root, "add", "-f", "out/deep/file.o");
    expect(membership.refresh()).toEqual(["out/deep/file.o", "out/deep", "out"]);
    expect(membership.judge("out/deep/file.o", false)).toBe("in");
    expect(membership.refresh()).toBeUndefined();
    git(root, "rm", "-q", "--cached", "out/deep/file.o", "a/x");
    expect([...(membership.refresh() as string[])].sort()).toEqual(["a/x", "out", "out/deep", "out/deep/file.o"]);
    expect([membership.judge("out/deep/file.o", false), membership.judge("a/x", false)]).toEqual(["ignored", "in"]);
  });

  test("a folder that is entered only for its tracked files", () => {
    const { root, membership } = looked({ ...FILES, "more/.gitignore": "/in/\n", "more/in/a": "1", "more/in/b": "2" });
    expect(membership.judge("more/in/a", false)).toBe("ignored");
    git(root, "add", "-f", "more/in/a");
    expect([...(membership.refresh() as string[])].sort()).toEqual(["more/in", "more/in/a"]);
    expect([membership.judge("more/in", true), membership.judge("more/in/a", false)]).toEqual(["in", "in"]);
    expect(membership.judge("more/in/b", false)).toBe("ignored");
  });

  test("excludes of the repository and of the user, and the configuration that names them", () => {
    const home = temporary();
    const { root, membership } = looked({ ...FILES }, { HOME: home });
    put(root, "a/new", "1");
    const judged = () => membership.judge("a/new", false);
    expect(judged()).toBe("in");
    for (const [change, verdict] of [
      [() => put(root, ".git/info/exclude", "new\n"), "ignored"],
      [() => put(root, ".git/info/exclude", "other\n"), "in"],
      [() => put(home, ".config/git/ignore", "/a/new\n"), "ignored"],
      [() => put(home, ".gitconfig", "[core]excludesFile=~/none\n"), "in"],
      [() => put(home, "none", "new\n"), "ignored"],
      [() => rmSync(join(home, "none")), "in"],
      [() => git(root, "config", "core.excludesFile", join(root, "a/y")), "in"],
      [() => put(root, "a/y", "new\n"), "ignored"],
      [() => put(root, ".git/info/exclude", "!new\n"), "in"],
    ] as const) {
      change();
      expect([membership.refresh(), judged(), membership.refresh()]).toEqual(["all", verdict, undefined]);
    }
  });

  test("a repository that comes and goes", () => {
    const root = rootWith({ "dist/a": "1", b: "2" });
    const membership = Membership.open(root, {});
    expect([membership.source, listed(root, membership)]).toEqual(["folder", ["b"]]);
    git(root, "init", "-q");
    expect(membership.refresh()).toBe("all");
    expect([membership.source, listed(root, membership)]).toEqual(["index", ["b", "dist/a"]]);
    renameSync(join(root, ".git"), join(root, ".svc"));
    expect(membership.refresh()).toBe("all");
    expect([membership.source, listed(root, membership)]).toEqual(["folder", ["b"]]);
  });

  test("an index that can no longer be read, and can be again", () => {
    const { root, membership } = looked(FILES);
    const index = readFileSync(join(root, ".git/index"));
    writeFileSync(join(root, ".git/index"), "no index");
    expect([membership.refresh(), membership.source, membership.problem]).toEqual([
      "all",
      "folder",
      "git's index is not an index",
    ]);
    writeFileSync(join(root, ".git/index"), index);
    expect([membership.refresh(), membership.source, membership.problem]).toEqual(["all", "index", undefined]);
  });

  test("a checkout that becomes one of git's below the walk, and a submodule that is checked out", () => {
    const inner = looked({ "dist/x": "1", ".gitignore": "dist\n" }).root;
    const { root, membership } = looked(FILES);
    put(root, "clone/a", "1");
    put(root, "clone/.git/other", "");
    expect(membership.judge("clone/a", false)).toBe("in");
    git(join(root, "clone"), "init", "-q");
    expect([membership.refresh(), membership.judge("clone/a", false)]).toEqual([["clone"], "nested"]);
    rmSync(join(root, "clone/.git/HEAD"));
    expect([membership.refresh(), membership.judge("clone/a", false)]).toEqual([["clone"], "in"]);

    git(root, "submodule", "--quiet", "add", inner, "sub");
    git(root, "submodule", "--quiet", "deinit", "-f", "sub");
    membership.refresh();
    expect(membership.judge("sub", true)).toBe("nested");
    git(root, "submodule", "--quiet", "update", "--init");
    expect([membership.refresh(), membership.judge("sub", true)]).toEqual([["sub"], "in"]);
    expect([membership.judge("sub/.gitignore", false), membership.judge("sub/dist/y", false)]).toEqual([
      "in",
      "ignored",
    ]);
    put(root, "sub/dist/y", "1");
    git(join(root, "sub"), "add", "-f", "dist/y");
    expect([membership.refresh(), membership.judge("sub/dist/y", false)]).toEqual([["sub/dist/y", "sub/dist"], "in"]);
  });
});

describe("changes that the walk sees", () => {
  test("which files have rules", () => {
    const { membership } = looked(FILES);
    const paths = [".gitignore", "a/.gitignore", "a/.svcignore", "sub/.git", "a/gitignore", "a/.gitignore.x"];
    expect(paths.filter((path) => membership.isRuleFile(path))).toEqual(paths.slice(0, 4));
  });

  test("an ignore file that appears, changes and vanishes", () => {
    const { root, membership } = looked(FILES);
    put(root, "a/deep/new.x", "1");
    for (const name of [".gitignore", ".svcignore"]) {
      const path = `a/${name}`;
      const verdict = name === ".gitignore" ? "ignored" : "svcignored";
      expect(membership.judge("a/deep/new.x", false)).toBe("in");
      put(root, path, "*.x\n");
      expect([membership.hasChanged(path), membership.judge("a/deep/new.x", false)]).toEqual(["a", verdict]);
      expect(membership.hasChanged(path)).toBeUndefined();
      rmSync(join(root, path));
      expect([membership.hasChanged(path), membership.judge("a/deep/new.x", false)]).toEqual(["a", "in"]);
    }
    put(root, ".gitignore", "deep\n");
    expect([membership.hasChanged(".gitignore"), membership.judge("a/deep/new.x", false)]).toEqual(["", "ignored"]);
  });

  test("hostile ignore files together fill no memory: what is beyond four megabytes is not read", () => {
    const hostile = `${"[a-z]*\n".repeat(140 * 1024)}*.x\n`;
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    const { root, membership } = looked({ z: "1" });
    for (const name of names) {
      put(root, `${name}/.gitignore`, hostile);
      put(root, `${name}/1.x`, "1");
    }
    const ignored = () => names.filter((name) => membership.judge(`${name}/1.x`, false) === "ignored");
    expect(ignored()).toEqual(["a", "b", "c", "d"]);
  });

  test("a checkout that appears and vanishes", () => {
    const { root, membership } = looked({ ...FILES });
    put(root, "clone/a", "1");
    expect(membership.judge("clone/a", false)).toBe("in");
    git(join(root, "clone"), "init", "-q");
    expect([membership.hasChanged("clone/.git"), membership.judge("clone/a", false)]).toEqual(["clone", "nested"]);
    expect(membership.hasChanged("clone/.git")).toBeUndefined();
    rmSync(join(root, "clone/.git"), { recursive: true });
    expect([membership.hasChanged("clone/.git"), membership.judge("clone/a", false)]).toEqual(["clone", "in"]);
  });
});

test("after random changes it judges as one that is opened again, and as git (seeds from 5000)", () => {
  for (let seed = 5000; seed < 5010; seed++) {
    const random = randomFrom(seed);
    const [root, home] = [temporary(), temporary()];
    makeRandomRepository(root, home, random);
    const membership = Membership.open(root, { HOME: home });
    listed(root, membership);
    for (let step = 0; step < 12; step++) {
      change(root, home, membership, random);
      membership.refresh();
      const found = { seed, step, paths: listed(root, membership) };
      expect(found).toEqual({ seed, step, paths: listed(root, Membership.open(root, { HOME: home })) });
      expect(found).toEqual({ seed, step, paths: listedByGit(root, home) });
    }
  }
});

/** One change, of which the membership hears what a walk would see. */
function change(root: string, home: string, membership: Membership, random: (bound: number) => number): void {
  const { files, folders } = entriesOf(root);
  const folder = folders[random(folders.length)]!;
  const file = files[random(Math.max(1, files.length))];
  const isInner = (path: string) => /(^|\/)nest\d/.test(path);
  const kind = random(6);
  if (kind === 0) {
    const path = join(folder, ".gitignore");
    if (random(3) === 0 && existsSync(join(root, path))) rmSync(join(root, path));
    else put(root, path, randomRules(random));
    if (membership.isRuleFile(path)) membership.hasChanged(path);
  } else if (kind === 1) put(root, ".git/info/exclude", randomRules(random));
  else if (kind === 2) put(home, ".config/git/ignore", randomRules(random));
  else if (kind === 3 && file && !isInner(file)) git(root, "--literal-pathspecs", "add", "--sparse", "-f", "--", file);
  else if (kind === 4 && file && !isInner(file)) {
    git(root, "--literal-pathspecs", "rm", "--sparse", "-q", "--cached", "-f", "--ignore-unmatch", "--", file);
  } else put(root, join(folder, `new${random(9)}`), "x");
}

/** Regular files but ignore files, and folders, without git's own. */
function entriesOf(root: string): { files: string[]; folders: string[] } {
  const [files, folders]: [string[], string[]] = [[], [""]];
  for (const folder of folders) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && entry.name !== ".git") folders.push(path);
      else if (entry.isFile() && entry.name !== ".gitignore" && entry.name !== ".git") files.push(path);
    }
  }
  return { files, folders };
}
