/** Folders of notes: which files are read, and what of them becomes what. */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readFrontMatter } from "../../src/formats/notes/front-matter.ts";
import { anchors, sectionsOf } from "../../src/formats/notes/headings.ts";
import { file, folder, plain, read, SAMPLES } from "./support.ts";

const VAULT = join(SAMPLES, "vault");

test("a row a file: its path is the id, and a name that says what it is about begins the text", async () => {
  const { rows, remarks, error } = await read(VAULT);
  expect({ error, remarks }).toEqual({ error: undefined, remarks: [] });
  expect(rows.map(({ id }) => id)).toEqual(["Reading.md", "Rollback.md", "Runbooks/Blue-green deployment.md"]);
  expect(rows[0]!.text).toStartWith("# Reading list\n\nDesigning");
  expect(rows[1]!.text).toBe("Rollback\n\nRoll back first, look for the cause afterwards. No permission is needed.");
  expect(rows[2]!.text).toStartWith(
    "Blue-green deployment\n\nThe new version runs beside the old one. See [[Rollback]]",
  );
  expect(rows[2]!.created).toBe(Date.UTC(2026, 2, 2));
  expect(rows[2]!.metadata).toEqual({
    path: "Runbooks/Blue-green deployment.md",
    title: "Blue-green deployment",
    tags: ["deployment", "web"],
    date: "2026-03-02",
    review: { every: "90 days", owner: "ada" },
  });
});

test("a row a heading: the headings above begin the text, and code is not one", async () => {
  const { rows } = await read(VAULT, { split: "headings" });
  expect(rows.map(({ id }) => id)).toEqual([
    "Reading.md#reading-list",
    "Reading.md#done",
    "Rollback.md",
    "Runbooks/Blue-green deployment.md",
    "Runbooks/Blue-green deployment.md#switching-over",
    "Runbooks/Blue-green deployment.md#switching-back",
    "Runbooks/Blue-green deployment.md#who-decides",
  ]);
  expect(rows[4]!.text).toContain("# not a heading");
  expect(rows[6]!.text).toBe("Blue-green deployment > Switching back > Who decides\n\nThe engineer on call decides.");
  expect(rows[6]!.metadata!.headings).toEqual(["Switching back", "Who decides"]);
  expect(rows[6]!.where).toBe("'Runbooks/Blue-green deployment.md', line 22");
});

test("hidden folders, links and what is not text are left out; the last two are counted", async () => {
  const root = folder();
  mkdirSync(join(root, ".obsidian"));
  writeFileSync(join(root, ".obsidian/a.md"), "hidden");
  writeFileSync(join(root, "a.md"), "one");
  writeFileSync(join(root, "b.MARKDOWN"), "two");
  writeFileSync(join(root, "c.md"), Buffer.from([0xff, 0xfe, 0x41]));
  writeFileSync(join(root, "d.md"), "with\0NUL");
  writeFileSync(join(root, "e.txt"), "no note");
  writeFileSync(join(root, "f.md"), " \n");
  const outside = file("secret.md", "secret");
  symlinkSync(outside, join(root, "g.md"));
  symlinkSync(join(outside, ".."), join(root, "h"));
  Bun.spawnSync(["mkfifo", join(root, "i.md")]);
  const { rows, remarks, error } = await read(root);
  expect(error).toBeUndefined();
  expect(rows.map(({ id, text }) => [id, text])).toEqual([
    ["a.md", "a\n\none"],
    ["b.MARKDOWN", "b\n\ntwo"],
  ]);
  expect(remarks).toEqual([
    "2 left out, a link: 'g.md'; 'h'",
    "1 left out, no plain file: 'i.md'",
    "2 left out, not UTF-8: 'c.md'; 'd.md'",
    "1 left out, without text: 'f.md'",
  ]);
});

test("a folder without notes, and one file", async () => {
  expect((await read(folder())).error).toContain("holds no Markdown files");
  const { rows } = await read(file("one.md", "# One\n\ntext\n"));
  expect(rows.map(plain)).toEqual([
    { id: "one.md", text: "# One\n\ntext", metadata: { path: "one.md", title: "One" } },
  ]);
});

test("front matter: what is not YAML, or stands for too much, stays in the text", () => {
  expect(readFrontMatter("---\na: 1\ntags: [x]\n---\nbody")).toEqual({
    text: "body",
    lines: 4,
    fields: [
      ["a", 1],
      ["tags", ["x"]],
    ],
  });
  expect(readFrontMatter("---\r\ndate: 2024-01-02\r\n---\r\nbody").fields).toEqual([["date", "2024-01-02"]]);
  expect(readFrontMatter("---\n---\nbody")).toEqual({ text: "body", lines: 2, fields: [] });
  expect(readFrontMatter("---\nbig: 12345678901234567890\nx: .nan\n---\n").fields).toEqual([
    ["big", "12345678901234567000"],
    ["x", "NaN"],
  ]);
  expect(readFrontMatter("text\n---\na: 1\n---\n").fields).toEqual([]);
  expect(readFrontMatter("---\njust words\n---\nbody").text).toStartWith("---\njust");
  for (const yaml of [
    "a: [b\nc: }",
    "a: &a [*a]",
    `a0: &a0 [x,x]\n${Array.from({ length: 40 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i},*a${i}]`).join("\n")}`,
    `a: ${"[".repeat(5000)}`,
    `a: ${"x".repeat(70_000)}`,
  ]) {
    const whole = `---\n${yaml}\n---\nbody`;
    const { text, fields, problem } = readFrontMatter(whole);
    expect({ text, fields }).toEqual({ text: whole, fields: [] });
    expect(problem).toBeString();
  }
});

test("headings: marks, underlines, fences, comments, and names for anchors", () => {
  const titles = (text: string) => sectionsOf(text).map(({ level, title }) => `${level} ${title}`);
  expect(titles("a\n# B #\nc\n###### D\n####### e\n#f")).toEqual(["0 ", "1 B", "6 D"]);
  expect(titles("A\n=\nb\nc\n---\n\nD\n---\n- x\n---")).toEqual(["1 A", "2 D"]);
  expect(titles("~~~\n# a\n```\n~~~~\n# B\n````md\n```\n# c\n````")).toEqual(["0 ", "1 B"]);
  expect(titles("<!-- x\n# a\n-->\n# B")).toEqual(["0 ", "1 B"]);
  expect(anchors(sectionsOf("# A b!\n# A b\n# Ünï_c-1\n# !"))).toEqual(["a-b", "a-b-1", "ünï_c-1", "section"]);
  expect(sectionsOf("# A\n## B\n# C").map(({ path }) => path)).toEqual([["A"], ["A", "B"], ["C"]]);
});

test("200,000 equal headings have names of their own", async () => {
  const { rows, error } = await read(file("notes.md", "# a\nb\n".repeat(200_000)), { split: "headings" });
  expect(error).toBeUndefined();
  expect(rows.length).toBe(200_000);
  expect(rows.at(-1)!.id).toBe("notes.md#a-199999");
}, 60_000);
