/** Git's configuration as it is read here, against what `git config` reads, and files that are not valid. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { readConfig } from "../../../../src/repo/files/git/config.ts";
import { parseConfig } from "../../../../src/repo/files/git/config-text.ts";
import { layoutOf } from "../../../../src/repo/files/git/layout.ts";
import { git, put, temporary } from "../../helpers.ts";
import { randomFrom } from "../git-random.ts";

/** What `git config --list -z` says of a text; undefined where it says that the file is malformed. */
function asGit(text: string): string[] | undefined {
  const path = join(temporary(), "config");
  put(path, "../config", text);
  const child = spawnSync("git", ["config", "-f", path, "--list", "-z"]);
  return child.status === 0 ? child.stdout.toString().split("\0").slice(0, -1) : undefined;
}

function asHere(text: string): string[] {
  return parseConfig(text).map(({ section, subsection, name, value }) => {
    const key = [section, ...(subsection === undefined ? [] : [subsection]), name].join(".");
    return value === null ? key : `${key}\n${value}`;
  });
}

test("what git reads in a file, git reads here", () => {
  for (const text of [
    "[core]\n\texcludesFile = ~/x\n",
    "[core] excludesFile=a b  \n bare\n",
    '[core]a="  x  " ; words\nb = x" y "z # words\n',
    '[core]\na = one\\\n two\\\n\\\nthree\nb = \\t\\n\\b\\\\\\"\n',
    '[Core.Sub]\nA-1=x\n[core "Sub \\" x\\y"]\nb=y\n[core]\r\nc = z\r\nd\r\n',
    '\uFEFF[a]\nb=ü\n# words\n; words\n\n[a]b=\n c = ""\n',
    '[a]\nb = #\nc = ;x\nd = x;y\ne="#;"\n\tf  =  g  h \t\n',
    "[a]b=c[d]e=f",
    "[a] [b] c",
  ]) {
    const expected = asGit(text);
    expect({ text, entries: expected }).not.toEqual({ text, entries: undefined });
    expect({ text, entries: asHere(text) }).toEqual({ text, entries: expected! });
  }
});

test("random texts: as git reads them, or as far as they are well-formed (seed 5)", () => {
  const random = randomFrom(5);
  const pieces = [
    "[a]",
    "[B.c]",
    '[d "E"]',
    "x",
    "Y-1",
    "=",
    "= ",
    " ",
    "\t",
    "\n",
    "\n",
    "\n",
    "\r\n",
    '"',
    '"',
    "\\",
    "\\n",
    "\\\n",
    "#",
    ";",
    "ü",
    "[",
    "]",
    ".",
    "v",
  ];
  let whole = 0;
  for (let round = 0; round < 400; round++) {
    let text = "[a]";
    for (let count = random(16); count > 0; count--) text += pieces[random(pieces.length)]!;
    const expected = asGit(text);
    const entries = asHere(text);
    if (!expected) continue;
    whole++;
    // Git before 2.45 makes a space of a tab in the middle of a value.
    const plain = (all: string[]) => all.map((entry) => entry.replaceAll("\t", " "));
    expect({ text, entries: plain(entries) }).toEqual({ text, entries: plain(expected) });
  }
  expect(whole).toBeGreaterThan(50);
});

test("random bytes end", () => {
  const random = randomFrom(6);
  for (let round = 0; round < 3000; round++) {
    let text = random(2) === 0 ? "[core]" : "";
    for (let count = random(60); count > 0; count--)
      text += String.fromCharCode(random(4) === 0 ? random(0x500) : 9 + random(90));
    parseConfig(text);
  }
  parseConfig(`[a]\n${"\\\n".repeat(100_000)}`);
  parseConfig(`[a]\nb=${'"'.repeat(100_000)}`);
  parseConfig(`[a "${"\\".repeat(100_000)}`);
  expect(parseConfig(`[a]\nb=${"x ".repeat(100_000)}`)[0]!.value!.length).toBe(199_999);
});

test("the files of the user and of the repository, the last one wins", () => {
  const [root, home, xdg] = [temporary(), temporary(), temporary()];
  git(root, "init", "-q");
  const excludes = (env: Record<string, string>) => readConfig(layoutOf(root), env).excludesFile;
  expect(excludes({})).toBe("");
  expect(excludes({ HOME: home })).toBe(join(home, ".config/git/ignore"));
  expect(excludes({ HOME: home, XDG_CONFIG_HOME: xdg })).toBe(join(xdg, "git/ignore"));
  put(xdg, "git/config", "[core]excludesFile=/xdg");
  expect(excludes({ HOME: home, XDG_CONFIG_HOME: xdg })).toBe("/xdg");
  expect(excludes({ HOME: home })).toBe(join(home, ".config/git/ignore"));
  put(home, ".gitconfig", "[core]excludesFile=~/home");
  expect(excludes({ HOME: home, XDG_CONFIG_HOME: xdg })).toBe(join(home, "home"));
  put(home, ".gitconfig", "[core]excludesFile=~other/home");
  expect(excludes({ HOME: home })).toBe("");
  git(root, "config", "core.excludesFile", "relative");
  expect(excludes({ HOME: home })).toBe("relative");
  git(root, "config", "core.excludesFile", "");
  expect(excludes({ HOME: home })).toBe("");
});

test("includes are followed, circles are not", () => {
  const [root, home] = [temporary(), temporary()];
  git(root, "init", "-q");
  const config = () => readConfig(layoutOf(root), { HOME: home });
  put(home, ".gitconfig", "[include]path=a\n[include]\npath=~/b\n");
  put(home, "a", "[core]excludesFile=/a\nignoreCase\n");
  put(home, "b", "[core]excludesFile=/b\n");
  expect([config().excludesFile, config().ignoresCase]).toEqual(["/b", true]);
  put(home, "b", `${"[include]path=b\n".repeat(200)}[core]excludesFile=/b\n`);
  expect([config().excludesFile, config().files.length < 100]).toEqual(["/b", true]);
  const conditions = [
    `gitdir:${root}/`,
    `gitdir:${root}/.git`,
    "gitdir/i:**/.GIT",
    `gitdir:${root}/*`,
    "gitdir:.git",
    "gitdir:",
  ];
  const others = ["gitdir:/elsewhere/", "gitdir:~/", "onbranch:main", "hasconfig:remote.*.url:x"];
  for (const [condition, holds] of [
    ...conditions.map((text) => [text, true] as const),
    ...others.map((text) => [text, false] as const),
  ]) {
    put(home, ".gitconfig", `[core]excludesFile=/none\n[includeIf "${condition}"]path=a\n`);
    expect([condition, config().excludesFile]).toEqual([condition, holds ? "/a" : "/none"]);
    const env = { PATH: process.env.PATH!, HOME: home };
    const said = spawnSync("git", ["config", "core.excludesFile"], { cwd: root, env }).stdout.toString().trim();
    if (!condition.startsWith("onbranch")) expect([condition, said]).toEqual([condition, holds ? "/a" : "/none"]);
  }
});

test("what a repository's configuration says of case, hashes and its work tree", () => {
  const root = temporary();
  git(root, "init", "-q", "--object-format=sha256");
  const config = () => readConfig(layoutOf(root), {});
  expect([config().hashBytes, config().ignoresCase]).toEqual([32, false]);
  for (const [text, isTrue] of [
    ["true", true],
    ["YES", true],
    ["on", true],
    ["2", true],
    ["0", false],
    ["no", false],
    ["", false],
  ] as const) {
    git(root, "config", "core.ignorecase", text);
    expect([text, config().ignoresCase]).toEqual([text, isTrue]);
  }
  git(root, "config", "extensions.worktreeConfig", "true");
  git(root, "config", "core.worktree", "../elsewhere");
  expect(config().workTree).toBe(join(root, "elsewhere"));
  put(root, ".git/config.worktree", "[core]\n\tignoreCase = yes\n");
  expect(config().ignoresCase).toBe(true);
});
