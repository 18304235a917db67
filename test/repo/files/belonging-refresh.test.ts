/** What a look at a root finds changed of the files that say what belongs to it. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Belonging } from "../../../src/repo/files/belonging.ts";
import { commitAll, git, gitRoot, put, rootWith, temporary } from "../helpers.ts";
import { listed } from "./belonging-list.ts";
import { listedByGit, makeRandomRepository, randomFrom, randomRules } from "./git-random.ts";

/** A repository that was looked at once. */
function looked(files: Record<string, string>, env: Record<string, string> = {}) {
  const root = gitRoot(files);
  commitAll(root);
  const belonging = Belonging.open(root, env);
  listed(root, belonging);
  return { root, belonging };
}

const FILES = { "a/x": "1", "a/y": "2", "b/c/z": "3", ".gitignore": "*.o\n" };

describe("changes that the walk does not see", () => {
  test("nothing changed: nothing is judged again, also just after a change", () => {
    const { root, belonging } = looked(FILES);
    expect([belonging.refresh(), belonging.refresh()]).toEqual([undefined, undefined]);
    // What git writes of the files' times says nothing of names.
    put(root, "a/x", "1");
    git(root, "update-index", "-q", "--refresh");
    git(root, "update-index", "--index-version", "4");
    expect([belonging.refresh(), belonging.refresh()]).toEqual([undefined, undefined]);
    git(root, "config", "user.name", "t");
    expect(belonging.refresh()).toBeUndefined();
  });

  test("names that git tracks from now on, and no longer", () => {
    const { root, belonging } = looked(FILES);
    put(root, "out/deep/file.o", "1");
    expect(belonging.judge("out/deep/file.o", false)).toBe("ignored");
    git(root, "add", "-f", "out/deep/file.o");
    expect(belonging.refresh()).toEqual(["out/deep/file.o", "out/deep", "out"]);
    expect(belonging.judge("out/deep/file.o", false)).toBe("in");
    expect(belonging.refresh()).toBeUndefined();
    git(root, "rm", "-q", "--cached", "out/deep/file.o", "a/x");
    expect([...(belonging.refresh() as string[])].sort()).toEqual(["a/x", "out", "out/deep", "out/deep/file.o"]);
    expect([belonging.judge("out/deep/file.o", false), belonging.judge("a/x", false)]).toEqual(["ignored", "in"]);
  });

  test("a folder that is entered only for its tracked files", () => {
    const { root, belonging } = looked({ ...FILES, "more/.gitignore": "/in/\n", "more/in/a": "1", "more/in/b": "2" });
    expect(belonging.judge("more/in/a", false)).toBe("ignored");
    git(root, "add", "-f", "more/in/a");
    expect([...(belonging.refresh() as string[])].sort()).toEqual(["more/in", "more/in/a"]);
    expect([belonging.judge("more/in", true), belonging.judge("more/in/a", false)]).toEqual(["in", "in"]);
    expect(belonging.judge("more/in/b", false)).toBe("ignored");
  });

  test("excludes of the repository and of the user, and the configuration that names them", () => {
    const home = temporary();
    const { root, belonging } = looked({ ...FILES }, { HOME: home });
    put(root, "a/new", "1");
    const judged = () => belonging.judge("a/new", false);
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
      expect([belonging.refresh(), judged(), belonging.refresh()]).toEqual(["all", verdict, undefined]);
    }
  });

  test("a repository that comes and goes", () => {
    const root = rootWith({ "dist/a": "1", b: "2" });
    const belonging = Belonging.open(root, {});
    expect([belonging.source, listed(root, belonging)]).toEqual(["folder", ["b"]]);
    git(root, "init", "-q");
    expect(belonging.refresh()).toBe("all");
    expect([belonging.source, listed(root, belonging)]).toEqual(["index", ["b", "dist/a"]]);
    renameSync(join(root, ".git"), join(root, ".svc"));
    expect(belonging.refresh()).toBe("all");
    expect([belonging.source, listed(root, belonging)]).toEqual(["folder", ["b"]]);
  });

  test("an index that can no longer be read, and can be again", () => {
    const { root, belonging } = looked(FILES);
    const index = readFileSync(join(root, ".git/index"));
    writeFileSync(join(root, ".git/index"), "no index");
    expect([belonging.refresh(), belonging.source, belonging.problem]).toEqual([
      "all",
      "folder",
      "git's index is no index",
    ]);
    writeFileSync(join(root, ".git/index"), index);
    expect([belonging.refresh(), belonging.source, belonging.problem]).toEqual(["all", "index", undefined]);
  });

  test("a checkout that becomes one of git's below the walk, and a submodule that is checked out", () => {
    const inner = looked({ "dist/x": "1", ".gitignore": "dist\n" }).root;
    const { root, belonging } = looked(FILES);
    put(root, "clone/a", "1");
    put(root, "clone/.git/other", "");
    expect(belonging.judge("clone/a", false)).toBe("in");
    git(join(root, "clone"), "init", "-q");
    expect([belonging.refresh(), belonging.judge("clone/a", false)]).toEqual([["clone"], "nested"]);
    rmSync(join(root, "clone/.git/HEAD"));
    expect([belonging.refresh(), belonging.judge("clone/a", false)]).toEqual([["clone"], "in"]);

    git(root, "submodule", "--quiet", "add", inner, "sub");
    git(root, "submodule", "--quiet", "deinit", "-f", "sub");
    belonging.refresh();
    expect(belonging.judge("sub", true)).toBe("nested");
    git(root, "submodule", "--quiet", "update", "--init");
    expect([belonging.refresh(), belonging.judge("sub", true)]).toEqual([["sub"], "in"]);
    expect([belonging.judge("sub/.gitignore", false), belonging.judge("sub/dist/y", false)]).toEqual(["in", "ignored"]);
    put(root, "sub/dist/y", "1");
    git(join(root, "sub"), "add", "-f", "dist/y");
    expect([belonging.refresh(), belonging.judge("sub/dist/y", false)]).toEqual([["sub/dist/y", "sub/dist"], "in"]);
  });
});

describe("changes that the walk sees", () => {
  test("which files have rules", () => {
    const { belonging } = looked(FILES);
    const paths = [".gitignore", "a/.gitignore", "a/.svcignore", "sub/.git", "a/gitignore", "a/.gitignore.x"];
    expect(paths.filter((path) => belonging.isRuleFile(path))).toEqual(paths.slice(0, 4));
  });

  test("an ignore file that appears, changes and vanishes", () => {
    const { root, belonging } = looked(FILES);
    put(root, "a/deep/new.x", "1");
    for (const name of [".gitignore", ".svcignore"]) {
      const path = `a/${name}`;
      const verdict = name === ".gitignore" ? "ignored" : "svcignored";
      expect(belonging.judge("a/deep/new.x", false)).toBe("in");
      put(root, path, "*.x\n");
      expect([belonging.hasChanged(path), belonging.judge("a/deep/new.x", false)]).toEqual(["a", verdict]);
      expect(belonging.hasChanged(path)).toBeUndefined();
      rmSync(join(root, path));
      expect([belonging.hasChanged(path), belonging.judge("a/deep/new.x", false)]).toEqual(["a", "in"]);
    }
    put(root, ".gitignore", "deep\n");
    expect([belonging.hasChanged(".gitignore"), belonging.judge("a/deep/new.x", false)]).toEqual(["", "ignored"]);
  });

  test("hostile ignore files together fill no memory: what is beyond four megabytes is not read", () => {
    const hostile = `${"[a-z]*\n".repeat(140 * 1024)}*.x\n`;
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    const { root, belonging } = looked({ z: "1" });
    for (const name of names) {
      put(root, `${name}/.gitignore`, hostile);
      put(root, `${name}/1.x`, "1");
    }
    const ignored = () => names.filter((name) => belonging.judge(`${name}/1.x`, false) === "ignored");
    expect(ignored()).toEqual(["a", "b", "c", "d"]);
  });

  test("a checkout that appears and vanishes", () => {
    const { root, belonging } = looked({ ...FILES });
    put(root, "clone/a", "1");
    expect(belonging.judge("clone/a", false)).toBe("in");
    git(join(root, "clone"), "init", "-q");
    expect([belonging.hasChanged("clone/.git"), belonging.judge("clone/a", false)]).toEqual(["clone", "nested"]);
    expect(belonging.hasChanged("clone/.git")).toBeUndefined();
    rmSync(join(root, "clone/.git"), { recursive: true });
    expect([belonging.hasChanged("clone/.git"), belonging.judge("clone/a", false)]).toEqual(["clone", "in"]);
  });
});

test("after random changes it judges as one that is opened anew, and as git (seeds from 5000)", () => {
  for (let seed = 5000; seed < 5010; seed++) {
    const random = randomFrom(seed);
    const [root, home] = [temporary(), temporary()];
    makeRandomRepository(root, home, random);
    const belonging = Belonging.open(root, { HOME: home });
    listed(root, belonging);
    for (let step = 0; step < 12; step++) {
      change(root, home, belonging, random);
      belonging.refresh();
      const found = { seed, step, paths: listed(root, belonging) };
      expect(found).toEqual({ seed, step, paths: listed(root, Belonging.open(root, { HOME: home })) });
      expect(found).toEqual({ seed, step, paths: listedByGit(root, home) });
    }
  }
});

/** One change, of which the belonging hears what a walk would see. */
function change(root: string, home: string, belonging: Belonging, random: (bound: number) => number): void {
  const { files, folders } = entriesOf(root);
  const folder = folders[random(folders.length)]!;
  const file = files[random(Math.max(1, files.length))];
  const isInner = (path: string) => /(^|\/)nest\d/.test(path);
  const kind = random(6);
  if (kind === 0) {
    const path = join(folder, ".gitignore");
    if (random(3) === 0 && existsSync(join(root, path))) rmSync(join(root, path));
    else put(root, path, randomRules(random));
    if (belonging.isRuleFile(path)) belonging.hasChanged(path);
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
