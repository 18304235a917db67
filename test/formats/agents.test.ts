/** Memories of agents as bullets, and plain text as paragraphs. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf } from "../../src/formats/notes/blocks.ts";
import { readFrontMatter } from "../../src/formats/notes/front-matter.ts";
import { random } from "../random.ts";
import { file, folder, read, SAMPLES } from "./support.ts";

const AGENTS = join(SAMPLES, "agents");
const texts = async (path: string, flags = {}) => (await read(path, flags)).rows.map(({ text }) => text);

describe("bullets", () => {
  test("a row each, below its headings and what introduces the list; paragraphs too, code whole", async () => {
    const { rows, remarks, error } = await read(join(AGENTS, "CLAUDE.md"));
    expect(error).toBeUndefined();
    expect(rows.map(({ text }) => text)).toEqual([
      "Orders service\n\nThe service that takes orders. See @docs/architecture.md for how it is built.",
      "Orders service > Commands\n\n`npm test` runs the tests",
      "Orders service > Commands\n\nTo start the database:\n```sh\n# the port is 5433, not 5432\ndocker compose up -d db\n```",
      "Orders service > Commands\n\nDeploys go through the pipeline only",
      "Orders service > Style\n\nRules for TypeScript:\n\nNo default exports\n- except where a framework wants one\n- say so in a comment",
      "Orders service > Style\n\nRules for TypeScript:\n\nErrors name the value\nand the remedy.",
      "Orders service > Style\n\nReviews are answered within a day.",
    ]);
    expect(rows[1]!.metadata).toEqual({
      path: "CLAUDE.md",
      title: "Orders service",
      headings: ["Orders service", "Commands"],
    });
    expect(rows[1]!.where).toBe("'CLAUDE.md', line 9");
    expect(remarks).toEqual(["1 left out, a reference to another file: 'CLAUDE.md', line 5"]);
  });

  test("a bullet keeps its id where it moves, and equal ones have ids of their own", async () => {
    const ids = async (text: string) => (await read(file("AGENTS.md", text))).rows.map(({ id }) => id);
    const [a, b] = await ids("- one\n- two\n");
    expect(await ids("- new\n- two\n\n- one\n")).toEqual([expect.any(String), b, a]);
    expect(await ids("- one\n- one\n")).toEqual([a, `${a}-2`]);
  });

  test("by the names of files and folders, and one fact of Claude Code as one row", async () => {
    expect(await texts(join(AGENTS, "style.mdc"))).toEqual([
      "Components are functions.",
      "State lives in hooks, not in classes.",
    ]);
    const found = await texts(join(AGENTS, "memory"));
    expect(found).toHaveLength(3);
    expect(found[2]).toStartWith("Tests use the real database\n\nIntegration tests use the real database");
    expect(found[2]).toContain("**How to apply:**");
    expect(await texts(join(AGENTS, "CLAUDE.md"), { split: "files" })).toHaveLength(1);
    expect(await texts(file("notes.md", "- a\n- b"))).toEqual(["notes\n\n- a\n- b"]);
    expect(await texts(file("notes.md", "- a\n- b"), { split: "bullets" })).toEqual(["a", "b"]);
    expect(await texts(file(".cursorrules", "- a\n- b"))).toEqual(["a", "b"]);
    const root = folder();
    for (const name of ["memory-bank", ".cursor/rules"]) {
      mkdirSync(join(root, name), { recursive: true });
      writeFileSync(join(root, name, "progress.md"), "- a\n- b");
    }
    expect(await texts(root)).toEqual(["a", "b"]);
    expect(await texts(join(root, ".cursor/rules"))).toEqual(["a", "b"]);
  });

  test("what Cursor writes without quotes is read", () => {
    const { fields } = readFrontMatter("---\ndescription: x\nglobs: *.ts,*.tsx\nalwaysApply: true\n---\n", true);
    expect(fields).toEqual([
      ["description", "x"],
      ["globs", "*.ts,*.tsx"],
      ["alwaysApply", true],
    ]);
  });

  const BLOCKS: [string, string[]][] = [
    ["", []],
    ["a\nb\n\nc", ["a\nb", "c"]],
    ["- a\n\n  b\n- c", ["a\n\nb", "c"]],
    ["- a\nlazy\n\nb", ["a\nlazy", "b"]],
    ["* a\n\t* b\n\t\tc\n+ d", ["a\n  * b\n      c", "d"]],
    ["1. a\n2) b\n10. c\n    - d", ["a", "b", "c\n- d"]],
    ["a:\n- b\n\n- c\n\nd\n- e", ["b", "c", "d", "e"]],
    ["a:\n```\n- b\n\nc\n```\nd", ["a:\n```\n- b\n\nc\n```", "d"]],
    ["```\n- a\n~~~\n````", ["```\n- a\n~~~\n````"]],
    ["```\nopen\n\nend", ["```\nopen\n\nend"]],
    ["- a\n  ~~~\n- b\n  ~~~\n- c", ["a\n~~~\n- b\n~~~", "c"]],
    ["- - -\n***\n-\n- \n-x", ["-x"]],
    ["<!-- x -->\n\n- [ ] todo\n- **b**", ["[ ] todo", "**b**"]],
    ["| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |\n|---|---|\n| 1 | 2 |"]],
  ];
  test.each(BLOCKS)("blocks of %j", (text, expected) => {
    expect(blocksOf(text).map((block) => block.text)).toEqual(expected);
  });

  test("a long paragraph is not repeated in each bullet", () => {
    const long = `${"x ".repeat(300)}:`;
    const blocks = blocksOf(`${long}\n${"- a\n".repeat(1000)}`);
    expect([blocks.length, blocks[0]!.text, blocks[1]!.lead]).toEqual([1001, long, undefined]);
  });

  test("nothing but marks, blanks, comments and ruled lines is lost of random lists", () => {
    const parts = ["- a", "  - b", "c", "", "```", "    d", "1. e", "f:", "\t- g", "> h", "***", "~~~"];
    for (let seed = 1; seed <= 2000; seed++) {
      const next = random(seed);
      const lines = Array.from({ length: Math.floor(next() * 14) }, () => parts[Math.floor(next() * parts.length)]!);
      const blocks = blocksOf(lines.join("\n"));
      const found = blocks.map(({ text, lead = "" }) => `${lead}\n${text}`).join("\n");
      const letters = (text: string) => new Set(text.replace(/[^a-h]/g, ""));
      const lost = [...letters(lines.join("\n"))].filter((letter) => !letters(found).has(letter));
      if (lost.length > 0) throw new Error(`seed ${seed}: lost ${lost}`);
      if (blocks.some(({ text, line }) => text.trim() === "" || line >= lines.length)) throw new Error(`seed ${seed}`);
    }
  });
});

describe("plain text", () => {
  test("a paragraph a row, with the ends of lines of every system, and no more in the name of the text", async () => {
    const { rows, error } = await read(file("a.txt", "\ufeffone\r\ntwo\r\n\r\n \t\r\nthree\r\rfour\n\n"));
    expect(error).toBeUndefined();
    expect(rows.map(({ text, metadata }) => [text, metadata])).toEqual([
      ["one\ntwo", { path: "a.txt" }],
      ["three", { path: "a.txt" }],
      ["four", { path: "a.txt" }],
    ]);
    expect(await texts(file("a.txt", ""))).toEqual([]);
    expect(await texts(file("a.json", "x\n\ny"), { from: "text" })).toEqual(["x", "y"]);
    expect(await texts(file("rows.txt", '{"text": "a row of JSON"}'))).toEqual(["a row of JSON"]);
  });

  test("what is not text is named with its line, and rows before it come first", async () => {
    const binary = await read(file("a.txt", "one\n\ntwo\n\nx\0y\n"));
    expect(binary.error).toContain("a.txt', line 5: has a NUL");
    expect(binary.rows).toHaveLength(2);
    expect((await read(file("a.txt", Buffer.from([0x61, 0x0a, 0xff, 0xfe])))).error).toContain("line 2: not UTF-8");
    const long = await read(file("a.txt", `one\n\n${"x ".repeat(9 * 1024 * 1024)}\n`));
    expect(long.error).toContain("line 3: a paragraph of more than 16777216 bytes");
    const lines = await read(file("a.txt", `${"x".repeat(1023)}\n`.repeat(17 * 1024)));
    expect(lines.error).toContain("line 1: a paragraph of more than");
  });

  test("a folder of it has to be named, and files that are not text are left out", async () => {
    const root = folder();
    writeFileSync(join(root, "a.txt"), "one\n\ntwo");
    writeFileSync(join(root, "b.txt"), Buffer.from([0xff]));
    const { rows, remarks } = await read(root, { from: "text" });
    expect(rows.map(({ text }) => text)).toEqual(["one", "two"]);
    expect(remarks).toEqual(["1 left out, not UTF-8: 'b.txt'"]);
    expect((await read(root)).error).toContain("holds no Markdown files");
  });
});

describe("times of tables", () => {
  const first = async (header: string, ...cells: string[]) => {
    const { rows, remarks, error } = await read(file("t.csv", `text,${header}\nx,${cells.join(",")}\n`));
    if (error !== undefined) throw new Error(error);
    return { created: rows[0]!.created, updated: rows[0]!.updated, metadata: rows[0]!.metadata, remarks };
  };
  const NOON = Date.UTC(2026, 10, 22, 12);

  test.each([
    ["Created At", "2026-11-22T12:00:00Z"],
    ["created_at", "2026-11-22 12:00"],
    ["CREATED-AT", "2026-11-22 12:00:00 UTC"],
    ["createdTime", "2026-11-22 14:00:00 +0200"],
    ["Date Created", `${NOON / 1000}`],
    ["creationDate", `${NOON}`],
    ["create time", `${NOON}000`],
    [" Added At ", `${NOON / 1000}.0`],
  ])("%s with %s", async (name, cell) => {
    expect(await first(name, cell)).toEqual({ created: NOON, updated: undefined, metadata: null, remarks: [] });
  });

  test.each(["Updated", "Last Modified", "last_edited_time", "modifiedAt"])("%s is the last update", async (name) => {
    expect((await first(name, "2026-11-22T12:00Z")).updated).toBe(NOON);
  });

  test("a date or timestamp is the time too, and stays; the name that says more is taken", async () => {
    const found = await first("Date", "2026-11-22");
    expect([found.created, found.metadata]).toEqual([Date.UTC(2026, 10, 22), { Date: "2026-11-22" }]);
    const both = await first("date,created", "2020-01-01", `${NOON}`);
    expect([both.created, both.metadata]).toEqual([NOON, { date: "2020-01-01" }]);
    expect((await first("timestamp", "1960-01-01")).created).toBeUndefined();
  });

  test("what could be two days, or is not a time, stays metadata and is named", async () => {
    for (const cell of ["11/12/2026", "22.11.2026", "yesterday", "20261122", "-5", "1e12"]) {
      const found = await first("Created At", cell);
      expect([found.created, found.metadata]).toEqual([undefined, { "Created At": cell }]);
      expect(found.remarks[0]).toStartWith(
        "1 kept as metadata, 'Created At' is not a time in ISO 8601 or since 1970: '",
      );
    }
  });
});
