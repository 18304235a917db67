/** The scope of a project: from git's files, whatever form the address of the remote has. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { addressOf, projectOf } from "../../src/memory/project.ts";
import { temporary } from "../repo/helpers.ts";

const IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"];

function git(cwd: string, ...words: string[]): void {
  const { status, stderr } = spawnSync("git", [...IDENTITY, ...words], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ${words.join(" ")}: ${stderr}`);
}

/** A work tree in a folder of this name, with these remotes. */
function workTree(name: string, remotes: Record<string, string> = {}): string {
  const top = join(temporary(), name);
  mkdirSync(top);
  git(top, "init", "-q");
  for (const [remote, url] of Object.entries(remotes)) git(top, "remote", "add", remote, url);
  return top;
}

/** As a user whose own configuration of git has nothing. */
const scopeOf = (folder: string) => projectOf(folder, { HOME: "/nonexistent" });

describe("an address", () => {
  test.each([
    ["https://github.com/owner/name.git", "github.com/owner/name"],
    ["https://User:secret@GitHub.com:8443/Owner/Name.git/?token=x#y", "github.com/Owner/Name"],
    ["https://token@host/a%20b/c", "host/a b/c"],
    ["https://host/a%ZZ/c", "host/a%ZZ/c"],
    ["http://host/group/sub/name", "host/group/sub/name"],
    ["ssh://git@host:2222/owner/name.git", "host/owner/name"],
    ["ssh://git@[::1]:22/~/name.git", "[::1]/name"],
    ["git+ssh://git@host/owner/name", "host/owner/name"],
    ["git://host/name.git", "host/name"],
    ["git@github.com:owner/name.git", "github.com/owner/name"],
    ["GitHub.com:owner/name", "github.com/owner/name"],
    ["git@host:/srv/git/name.git", "host/srv/git/name"],
    ["[git@host:2222]:owner/name.git", "host/owner/name"],
    ["git@[::1]:owner/name", "[::1]/owner/name"],
    ["git@host:gruppe/🦊.git", "host/gruppe/🦊"],
    ["/srv/git/name.git", "name"],
    ["/srv/name/.git", "name"],
    ["../name", "name"],
    ["./a:b/name", "name"],
    ["file:///srv/git/a%20name.git", "a name"],
    ["/", undefined],
    ["..", undefined],
    ["https://host/", undefined],
    ["https://user:se/cret@host/owner/name", undefined],
    ["git@host:", undefined],
    ["ext::ssh git@host %S name", undefined],
    ["", undefined],
  ])("%s", (url, scope) => {
    expect(addressOf(url)).toBe(scope);
  });
});

describe("a git work tree", () => {
  test("has the scope of origin, from each of its folders and through a link", () => {
    const top = workTree("here", { other: "https://host/other/name", origin: "git@host:owner/name.git" });
    mkdirSync(join(top, "src/deep"), { recursive: true });
    const link = join(temporary(), "link");
    symlinkSync(join(top, "src"), link);
    for (const folder of [top, join(top, "src/deep"), link]) expect(scopeOf(folder)).toBe("host/owner/name");
  });

  test("has that of the only remote, and its folder's name where there are several or none", () => {
    expect(scopeOf(workTree("here", { upstream: "https://host/owner/name" }))).toBe("host/owner/name");
    expect(scopeOf(workTree("here", { a: "https://host/a", b: "https://host/b" }))).toBe("here");
    expect(scopeOf(workTree("🦊 here"))).toBe("🦊 here");
    expect(scopeOf(workTree("here", { origin: "https://host/" }))).toBe("here");
  });

  test("that is linked has the scope of the main one", () => {
    for (const [remotes, scope] of [
      [{ origin: "https://host/owner/name" }, "host/owner/name"],
      [{}, "main"],
    ] as const) {
      const top = workTree("main", remotes);
      git(top, "commit", "-q", "--allow-empty", "-m", "first");
      git(top, "worktree", "add", "-q", "../linked");
      expect(scopeOf(join(top, "../linked"))).toBe(scope);
      renameSync(join(top, "../linked"), join(top, "../moved"));
      expect(scopeOf(join(top, "../moved"))).toBe(scope);
    }
  });

  test("that is a submodule has a scope of its own", () => {
    const inner = workTree("inner");
    git(inner, "commit", "-q", "--allow-empty", "-m", "first");
    const top = workTree("outer", { origin: "https://host/owner/outer" });
    git(top, "submodule", "add", "-q", inner, "part");
    expect(scopeOf(join(top, "part"))).toBe("inner");
    git(join(top, "part"), "remote", "set-url", "origin", "https://host/owner/part");
    expect(scopeOf(join(top, "part"))).toBe("host/owner/part");
    git(join(top, "part"), "remote", "remove", "origin");
    expect(scopeOf(join(top, "part"))).toBe("part");
    expect(scopeOf(top)).toBe("host/owner/outer");
  });

  test("has the scope of the address that git uses first, of remotes in included files too", () => {
    const top = workTree("here", { origin: "https://host/first" });
    git(top, "remote", "set-url", "--add", "origin", "https://host/second");
    expect(scopeOf(top)).toBe("host/first");
    git(top, "remote", "remove", "origin");
    writeFileSync(join(top, ".git/more"), '[remote "origin"]\n\turl = https://host/included\n');
    git(top, "config", "include.path", "more");
    expect(scopeOf(top)).toBe("host/included");
  });

  test("whose files are damaged has its folder's name", () => {
    const top = workTree("here", { origin: "https://host/owner/name" });
    writeFileSync(join(top, ".git/config"), '[remote "origin"\n\turl = https://host/owner/name\n');
    expect(scopeOf(top)).toBe("here");
    rmSync(join(top, ".git"), { recursive: true });
    writeFileSync(join(top, ".git"), "gitdir: /nonexistent\n");
    expect(scopeOf(top)).toBe("here");
  });
});

test("any other folder has its name", () => {
  const folder = join(temporary(), "notes");
  mkdirSync(folder);
  expect(scopeOf(folder)).toBe("notes");
});

test("there is none for /, the home directory, a file, or a folder that is gone", () => {
  const home = join(temporary(), "home");
  mkdirSync(join(home, "project"), { recursive: true });
  git(home, "init", "-q");
  expect(projectOf(home, { HOME: home })).toBeUndefined();
  expect(projectOf(join(home, "project"), { HOME: home })).toBe("project");
  expect(projectOf(homedir())).toBeUndefined();
  writeFileSync(join(home, "file"), "");
  for (const none of ["/", "", join(home, "gone"), join(home, "file")]) expect(scopeOf(none)).toBeUndefined();
});

test("a scope is one line of at most 512 bytes", () => {
  expect(scopeOf(workTree("a\nb\u2028c"))).toBe("a b c");
  const long = (end: string) => scopeOf(workTree("here", { origin: `https://host/${"🦊".repeat(200)}/${end}` }))!;
  expect(Buffer.byteLength(long("a"))).toBeLessThanOrEqual(512);
  expect(long("a")).toMatch(/^host\/(🦊)+~[0-9a-f]{16}$/u);
  expect(long("a")).not.toBe(long("b"));
  expect(basename(long("a"))).not.toContain("\uFFFD");
});
