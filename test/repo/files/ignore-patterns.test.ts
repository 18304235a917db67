/** Patterns of ignore files: a table of what git says, and what hostile ones cost. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bytesOf } from "../../../src/repo/files/ignore/pattern.ts";
import { IgnoreFile } from "../../../src/repo/files/ignore/rules.ts";
import { git, temporary } from "../helpers.ts";

/** Patterns, and paths that each of them is asked about; a final slash: a directory. */
// biome-ignore format: one line a family
const FAMILIES: [patterns: string[], paths: string[]][] = [
  [["*", "*.c", "a*", "*a", "a*c", "*/c", "a/*", "a/*/c"], ["a", "c", "a.c", "abc", "a/c", "a/b/", "a/b/c", "x/abc"]],
  [["**", "**/c", "a/**", "a/**/c", "**/a/**", "a**/c", "**c", "a**", "***/c"], ["c", "a/c", "ax/c", "a/b/x/c", "ab/x/c", "x/a/y"]],
  [["?", "a?c", "a/?", "??"], ["a", "é", "abc", "a/c", "日", "ab"]],
  [["[a-c]", "[!a-c]", "[^a-c]", "[]-]", "[!]]", "[a-]", "[c-a]", "[]a]x", "[[:alpha:]]", "[[:foo:]]", "[[:alpha]"], ["a", "b", "d", "]", "-", "]x", "[", ":"]],
  [["[a", "[[:alpha:]", "a\\", "[\\]]", "[a\\-c]", "[/]", "a[/]b", "a[^x]b"], ["[a", "a", "]", "b", "-", "a\\", "a/b", "a-b"]],
  [["\\#a", "\\!a", "\\*", "\\a", "a\\ ", "a ", "a  ", "a\\  ", "a\t", " a", "a\\/b", "\\/a"], ["#a", "!a", "*", "a", "a ", "a\t", " a", "a/b"]],
  [["/a", "a/", "/a/", "a/b", "a/b/", "//a", "a//b", "/", "!", "#a", "./a", "../a"], ["a", "a/", "x/a", "x/a/", "a/b", "a/b/", "x/a/b"]],
  [["é", "[é]", "日*", "*\u0301"], ["é", "e\u0301", "日本", "\u0301"]],
];

interface Case {
  pattern: string;
  path: string;
  isDirectory: boolean;
  /** Where the pattern is the only one of an ignore file, and the path lies. */
  folder: string;
}

/** One folder a case, so that git answers all of them in one process. */
function casesIn(root: string): Case[] {
  const cases: Case[] = [];
  for (const [patterns, paths] of FAMILIES) {
    for (const pattern of [...patterns, ...patterns.map((text) => text.toUpperCase())]) {
      for (const named of paths) {
        const folder = String(cases.length);
        const [path, isDirectory] = [named.replace(/\/$/, ""), named.endsWith("/")];
        mkdirSync(join(root, folder, isDirectory ? path : dirname(path)), { recursive: true });
        if (!isDirectory) writeFileSync(join(root, folder, path), "");
        writeFileSync(join(root, folder, ".gitignore"), `${pattern}\n`);
        cases.push({ pattern, path, isDirectory, folder });
      }
    }
  }
  return cases;
}

for (const ignoresCase of [false, true]) {
  test(`each pattern matches what git matches${ignoresCase ? ", with core.ignoreCase" : ""}`, () => {
    const root = temporary();
    git(root, "init", "-q");
    const cases = casesIn(root);
    const ignored = checkIgnore(root, cases, ignoresCase);
    const other = cases.filter((one) => isIgnored(one, ignoresCase) !== ignored.has(`./${one.folder}/${one.path}`));
    expect(other).toEqual([]);
    expect(ignored.size).toBeGreaterThan(100);
  });
}

function isIgnored({ pattern, path, isDirectory }: Case, ignoresCase: boolean): boolean {
  const file = new IgnoreFile(bytesOf(pattern), ignoresCase);
  const names = path.split("/");
  const above = names.slice(1).some((_, i) => file.verdict(bytesOf(names.slice(0, i + 1).join("/")), true) === true);
  return above || file.verdict(bytesOf(path), isDirectory) === true;
}

function checkIgnore(root: string, cases: readonly Case[], ignoresCase: boolean): Set<string> {
  const words = ["-c", `core.ignorecase=${ignoresCase}`, "check-ignore", "--no-index", "-z", "--stdin"];
  const input = cases.map(({ folder, path }) => `./${folder}/${path}\0`).join("");
  return new Set(spawnSync("git", words, { cwd: root, input }).stdout.toString().split("\0"));
}

test("of several patterns the last that matches counts, wherever it is kept", () => {
  const verdict = (text: string, path: string) => new IgnoreFile(text, false).verdict(path, true);
  expect(verdict("a\n!*\na/\n", "a")).toBe(true);
  expect(verdict("a/\n/a\n!a\n", "a")).toBe(false);
  expect(verdict("*\n!/x/a\n", "x/a")).toBe(false);
  expect(verdict("!/x/a\n*\n", "x/a")).toBe(true);
  expect(verdict("b\n", "a")).toBeUndefined();
});

test("lines as git parts them", () => {
  const text = "\xEF\xBB\xBFfirst\r\nse\rcond\nthi\0rd\n# no\nlast\r";
  const file = new IgnoreFile(text, false);
  const names = ["first", "first\r", "se\rcond", "thi", "third", "# no", "last", "last\r"];
  expect(names.filter((name) => file.verdict(name, false))).toEqual(["first", "se\rcond", "thi", "last"]);
});

test("hostile patterns end: many stars, and a million of bytes", () => {
  const name = "a".repeat(4000);
  for (const pattern of [`${"*a".repeat(500)}*b`, `/${"**/*a".repeat(300)}b`, `${"[a-z]*".repeat(500)}[!a]`]) {
    expect(new IgnoreFile(pattern, false).verdict(name, false)).toBeUndefined();
    expect(new IgnoreFile(pattern, false).verdict("a/".repeat(2000) + "c", false)).toBeUndefined();
  }
  const literal = new IgnoreFile(Array.from({ length: 60_000 }, (_, i) => `/folder/${i}\n`).join(""), false);
  let matched = 0;
  for (let i = 0; i < 60_000; i++) if (literal.verdict(`folder/${i}`, false)) matched++;
  expect(matched).toBe(60_000);
});
