/** Rows for a person: texts in lines, a row as a file to edit. */
import { describe, expect, test } from "bun:test";
import { minuteOf } from "../../../src/answers/local-times.ts";
import { readAge } from "../../../src/cli/mem/delete.ts";
import { renderDetail } from "../../../src/cli/mem/render/detail.ts";
import { beginning, textLines } from "../../../src/cli/mem/render/paragraphs.ts";
import { renderList, renderWhole } from "../../../src/cli/mem/render/rows.ts";
import { documentOf, readDocument } from "../../../src/cli/mem/rows/document.ts";
import { editorOf } from "../../../src/cli/mem/rows/editor.ts";
import { FAKE_GATE, svc } from "../support.ts";

const at = (...parts: [number, number, number, number, number]) => new Date(...parts).getTime();

describe("texts in lines", () => {
  const text = `plain words that go on and on\n\n    indented words that go on\n\ttab\n${"x".repeat(50)}\n日本語のメモです 😀😀😀😀😀\n\u001b[2J`;

  test("fit every width, and nothing is lost", () => {
    const letters = (of: string) => of.replace(/\s/g, "");
    for (let columns = 3; columns < 130; columns++) {
      const lines = textLines(text, columns, " ");
      const begun = beginning(text, false, columns, 3);
      expect(Math.max(...[...lines, ...begun].map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(columns);
      expect(letters(lines.join(""))).toBe(letters(text).replace("\u001b", "\\x1b"));
      expect(begun.length).toBeLessThanOrEqual(3);
    }
  });

  test("are broken between words, and go on as far in as they began", () => {
    expect(textLines(text, 21, " ").slice(0, 7)).toEqual([
      " plain words that go",
      " on and on",
      "",
      "     indented words",
      "     that go on",
      "         tab",
      ` ${"x".repeat(20)}`,
    ]);
    expect(textLines("a\tb", undefined)).toEqual(["a\tb"]);
    expect(beginning("a\n\n b", false, 10, 2)).toEqual(["a b"]);
    expect(beginning("one two three", true, 80, 2)).toEqual(["one two three…"]);
    expect(beginning("one two three four", false, 9, 1)).toEqual(["one two…"]);
    expect(beginning("x".repeat(200), false, undefined, 3)[0]).toEndWith("x…");
  });
});

const row = {
  collection: "notes",
  id: "deploy",
  created: at(2025, 10, 3, 9, 0),
  updated: at(2026, 10, 21, 9, 12),
  metadata: { scope: "ops", n: "1", list: [1, { a: null }], long: "word ".repeat(30).trim() },
  text: "we deploy blue green, after the standup",
};
const changed = minuteOf(row.updated);

test("a list fits its columns and names the collection where there are several", () => {
  const added = { ...row, id: "x".repeat(70), updated: row.created, metadata: { scope: "ops" } };
  const lines = renderList([row, added], { columns: 60, withCollection: true }).split("\n");
  expect(lines.slice(0, 3)).toEqual([
    `deploy  changed ${changed} in notes`,
    '  scope=ops n="1" list=[1,{"a":null}] long=word word word w…',
    "  we deploy blue green, after the standup",
  ]);
  // An id is there to be copied, and is not cut.
  expect(lines.slice(3, 6)).toEqual([added.id, `  added ${minuteOf(row.created)} in notes`, "  scope=ops"]);
  const wide = renderList([{ ...row, metadata: { scope: "ops" } }], { columns: 120 });
  expect(wide.split("\n")[0]).toBe(`deploy  changed ${changed}  scope=ops`);
});

test("a text is in quotes where it could be another value", () => {
  const metadata = {
    a: "1",
    b: "true",
    c: "null",
    d: "[x",
    e: " x",
    f: "",
    g: "6a64",
    h: "2026-11-22",
    i: null,
    j: "a\nb",
  };
  const shown = renderList([{ ...row, metadata }], { columns: undefined }).split("\n")[0]!;
  expect(shown).toEndWith('a="1" b="true" c="null" d="[x" e=" x" f="" g=6a64 h=2026-11-22 i=null j="a\\nb"');
});

test("a row whole: times, metadata aligned, the text in lines", () => {
  const shown = renderWhole({ ...row, found: true }, { columns: 40 }).split("\n");
  expect(shown[0]).toBe("id:       deploy");
  expect(shown.join("").replace(/ /g, "")).toContain(`updated:${changed.replace(" ", "")}`);
  expect(shown).toContain('n:      "1"');
  expect(shown).toContain('list:   [1,{"a":null}]');
  expect(shown).toContain("        word word word word word word");
  expect(shown.slice(-2)).toEqual(["we deploy blue green, after the standup"].flatMap(() => ["", row.text]));
  for (const line of shown) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(40);
  expect(renderWhole({ id: "v", found: true, created: 1, updated: 1 }, { columns: 40 })).toEndWith(
    "(this row has no text)",
  );
});

test("a collection: what it is, or why it cannot be read", () => {
  const partitions = [
    { key: "ops", rows: 2 },
    { key: null, rows: 1 },
  ];
  const one = { name: "notes", rows: 3, bytes: 2e9, last_write: row.updated, partition_by: "scope" };
  const detail = { ...one, filter_columns: ["scope"], partitions, partition_count: 5, lexical: true };
  const shown = renderDetail({ ...detail, description: "the team's" });
  expect(shown).toContain("description:     the team's\nrows:            3\nsize:            2.0 GB\n");
  expect(shown).toContain("partitions:      ops (2), (none) (1), 3 more\n");
  expect(shown).toContain("indexes:         lexical\n");
  expect(renderDetail({ name: "lost", bytes: 900, damaged: "collection.json is missing" }, undefined)).toBe(
    "collection:  lost\ndamaged:     collection.json is missing\nsize:        1 KB",
  );
});

describe("a row as a file", () => {
  const values = {
    text: "ops",
    number: 1,
    "the text 1": "1",
    truth: "true",
    none: null,
    "a: b": "c # d",
    "": "",
    "---": "---",
    date: "2026-11-22",
    float: 1.5e-7,
    version: "1.10",
    control: "\u0001\u0085\u2028\r\n",
    nested: { "1": [[], {}, "😀", { deep: ["- x"] }] },
  };

  test.each([
    ["many values", { text: "first\n---\nsecond", metadata: values }],
    ["a key that YAML merges", { text: "x", metadata: { "<<": { a: 1 }, b: -0 } }],
    ["a prototype", { text: "x", metadata: JSON.parse('{"__proto__": {"a": 1}}') }],
    ["half of a pair", { text: "x", metadata: { a: "\ud800" } }],
    ["no metadata", { text: "---\nno front matter\n---\n" }],
    ["empty metadata", { text: "\n\n ends with lines\n\n", metadata: {} }],
    ["lines of another system", { text: "a\r\nb\r\n", metadata: { a: "\r" } }],
    ["a mark at its beginning", { text: "\ufeffmark", metadata: { a: [1] } }],
    ["no text", { text: "", metadata: { a: 1 } }],
  ])("%s: the same values come back", (_, content) => {
    const read = readDocument(documentOf(content, "row x of notes\n---"), content);
    expect(JSON.stringify(read)).toBe(JSON.stringify(content));
  });

  const before = { text: "old", metadata: { scope: "ops" } };
  const read = (file: string, of: { text: string; metadata?: object } = before) =>
    readDocument(file, of as typeof before);

  test("is read as a person writes it", () => {
    expect(read("---\nscope: team one\ntags:\n  - a\n  - 2\n# note\n---\nnew")).toEqual({
      text: "new",
      metadata: { scope: "team one", tags: ["a", 2] },
    });
    expect(read("---\r\nscope: ops\r\n---\r\nnew\r\n")).toEqual({ text: "new", metadata: { scope: "ops" } });
    expect(read('---\n{"scope": "ops"}\n---\nnew\n')).toEqual({ text: "new", metadata: { scope: "ops" } });
    expect(read("---\n---\nnew\n")).toEqual({ text: "new", metadata: {} });
    expect(read("---\n---\nnew\n", { text: "old" })).toEqual({ text: "new" });
  });

  test.each([
    ["new text only\n", "does not begin with its metadata between two lines of ---"],
    ["---\nscope: ops\nno end", "does not begin with its metadata"],
    ["---\nscope: [\n---\nnew", "is not YAML"],
    ['---\n{"scope": }\n---\nnew', "is not JSON"],
    ["---\njust words\n---\nnew", 'is not a list of "key: value"'],
    ["---\nscope: a\nscope: b\n---\nnew", "has the key 'scope' twice"],
    ["---\nn: 12345678901234567890\n---\nnew", "metadata.n"],
    [`---\na: ${"x".repeat(70_000)}\n---\nnew`, "the limit is 65536"],
    ["---\nscope: ops\n---\n", "the text is empty: 'svc mem delete' removes a row"],
    [`---\n---\n${"x".repeat(16 * 1024 * 1024 + 1)}`, "the limit is 16777216"],
  ])("%#: what it cannot be", (file, message) => {
    expect(() => read(file)).toThrow(message);
  });
});

test("the age of rows", () => {
  const now = at(2026, 10, 22, 14, 5);
  expect(readAge("90d", now)).toBe(now - 90 * 86_400_000);
  expect(readAge("12h", now)).toBe(now - 12 * 3_600_000);
  expect(readAge("2w", now)).toBe(now - 14 * 86_400_000);
  expect(readAge("2026-08-01", now)).toBe(Date.UTC(2026, 7, 1));
  for (const written of ["nonsense", "", "90", "0d", "-1d", "90y", "2026-02-30"]) {
    expect(() => readAge(written)).toThrow("give an age such as 12h, 90d or 8w, or a day such as 2026-08-01");
  }
});

test("the editor is the one that git takes", () => {
  const TERM = "xterm";
  expect(editorOf({ TERM, VISUAL: "code --wait", EDITOR: "ed" })).toBe("code --wait");
  expect(editorOf({ TERM, VISUAL: " ", EDITOR: "ed" })).toBe("ed");
  expect(editorOf({ TERM: "dumb", VISUAL: "code", EDITOR: "ed" })).toBe("ed");
  expect(() => editorOf({ TERM, PATH: "/nowhere" })).toThrow("name one with EDITOR");
  expect(() => editorOf({ PATH: process.env.PATH })).toThrow("this terminal cannot show vi");
});

test("wrong usage is refused before the memory is opened", async () => {
  const refusals: [string[], string][] = [
    [["delete", "notes", "--older-than", "nonsense", "--yes"], "--older-than is 'nonsense': give an age such as 12h"],
    [["delete", "notes", "a", "--where", "x=1", "--yes"], "ids and --where or --older-than exclude each other"],
    [["delete", "notes", "a", "--yes"], "--yes and --dry-run go with --where, --older-than or --purge"],
    [["delete", "notes", "--older-than", "90d"], "say so with --yes, or --dry-run"],
    [["show", "notes", "a", "--where", "x=1"], "--where and --limit choose rows of a list"],
    [["list", "notes", "--after", "b"], "--after and --max-bytes are for the list"],
  ];
  const env = { FAKE_CLOSED: "1", EDITOR: "true" };
  const ended = await Promise.all(refusals.map(([words]) => svc(["mem", ...words], { preload: [FAKE_GATE], env })));
  for (const [i, { code, stderr }] of ended.entries()) {
    expect([code, stderr]).toEqual([2, expect.stringContaining(refusals[i]![1])]);
  }
});
