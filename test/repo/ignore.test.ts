import { describe, expect, test } from "bun:test";
import { IgnoreRules } from "../../src/repo/ignore.ts";
import { git, put, rootWith, walkRepo } from "./helpers.ts";

/** name, directory of the .gitignore, its text, path (a final slash: a directory), ignored? */
const table: [string, string, string, string, boolean][] = [
  ["a name floats", "", "foo", "a/b/foo", true],
  ["a leading slash anchors", "", "/foo", "a/foo", false],
  ["a leading slash anchors (at home)", "", "/foo", "foo", true],
  ["a middle slash anchors", "", "a/foo", "b/a/foo", false],
  ["a final slash wants a directory", "", "foo/", "foo", false],
  ["a final slash takes a directory", "", "foo/", "foo/", true],
  ["a star stays within a component", "", "a/*.c", "a/b/x.c", false],
  ["two stars cross", "", "a/**/x.c", "a/b/c/x.c", true],
  ["the last match wins", "", "*.log\n!keep.log", "keep.log", false],
  ["a comment is none", "", "#foo", "#foo", false],
  ["an escaped hash is a name", "", "\\#foo", "#foo", true],
  ["an escaped bang is a name", "", "\\!foo", "!foo", true],
  ["case counts", "", "Foo", "foo", false],
  ["CRLF ends a line too", "", "foo\r\nbar\r\n", "foo", true],
  ["trailing blanks do not count", "", "foo   ", "foo", true],
  ["character classes", "", "*.[oa]", "x.o", true],
  ["inner: a name floats below", "sub", "foo", "sub/a/foo", true],
  ["inner: a name does not rise", "sub", "foo", "foo", false],
  ["inner: a slash anchors there", "sub", "/foo", "sub/a/foo", false],
  ["inner: a slash anchors there (at home)", "sub", "/foo", "sub/foo", true],
  ["inner: a middle slash anchors there", "sub", "a/foo", "sub/a/foo", true],
  ["inner: an escaped bang", "sub", "\\!foo", "sub/!foo", true],
  ["inner: an escaped hash", "sub", "\\#foo", "sub/#foo", true],
  ["inner: two stars", "sub", "**/foo", "sub/x/y/foo", true],
  ["inner: a lone slash means nothing", "sub", "/", "sub/x/", false],
  ["inner: in a directory named like a pattern", "s*[b]", "foo", "s*[b]/foo", true],
  ["inner: and only there", "s*[b]", "foo", "sxb/foo", false],
  ["the usual folders", "", "", "web/node_modules/", true],
  ["a usual folder taken back", "", "!dist/", "dist/", false],
  ["a file is no folder", "", "", "build", false],
];

describe("gitignore rules", () => {
  for (const [name, directory, text, path, ignored] of table) {
    test(name, () => {
      const rules = IgnoreRules.usual().within(directory, text);
      const isDirectory = path.endsWith("/");
      expect(rules.ignores(isDirectory ? path.slice(0, -1) : path, isDirectory)).toBe(ignored);
    });
  }

  test("an inner file re-opens what an outer one closed", () => {
    const rules = IgnoreRules.usual().within("", "foo/*").within("foo", "!bar/");
    expect(rules.ignores("foo/baz", false)).toBe(true);
    expect(rules.ignores("foo/bar", true)).toBe(false);
    expect(rules.ignores("foo/bar/x", false)).toBe(false);
  });
});

test("the walk and git agree on a tree of awkward rules", async () => {
  const root = rootWith({
    ".gitignore": "*.log\n!keep.log\n/top\nfoo/*\ndeep/**/gone\n*.[oa]\ndir/\n",
    "foo/.gitignore": "!bar/\n",
    "sub/.gitignore": "# comment\n/here\n!x.log\n\\#odd\n",
    "we[i]rd/.gitignore": "inner\n",
  });
  for (const path of [
    "a.log",
    "keep.log",
    "top",
    "sub/top",
    "foo/x",
    "foo/bar/x",
    "foo/bar/y.log",
    "deep/gone",
    "deep/a/b/gone",
  ]) {
    put(root, path, "text\n");
  }
  for (const path of [
    "x.o",
    "x.ox",
    "dir/x",
    "sub/dir/x",
    "sub/here",
    "sub/a/here",
    "sub/x.log",
    "sub/#odd",
    "sub/y.log",
  ]) {
    put(root, path, "text\n");
  }
  for (const path of ["we[i]rd/inner", "weird/inner", "we[i]rd/other", "sub/dir.x", "a b/c d", "ünï/cödé"])
    put(root, path, "text\n");

  const walked = await walkRepo(root);
  git(root, "init", "-q");
  const asked = await walkRepo(root);
  expect([walked.source, asked.source]).toEqual(["walk", "git"]);
  expect(walked.files.map((file) => file.path)).toEqual(asked.files.map((file) => file.path));
  expect(walked.files.length).toBe(14);
});
