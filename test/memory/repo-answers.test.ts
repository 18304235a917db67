/** What an answer about a repository shows, in each form, within its bound. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";

interface Hit {
  id: string;
  metadata: { path: string; start_line: number; end_line: number; language: string; symbol?: string };
  text?: string;
  truncated?: true;
  start?: number;
}

const FILES = 30;
const root = realpathSync(scratchDir());
const other = realpathSync(scratchDir());
let m: TestMemory;

/** The nth file: 120 lines, of which the 60th has the word most. */
const source = (n: number) =>
  Array.from({ length: 120 }, (_, i) =>
    i === 59 ? `  quokka quokka keeper ${n}` : i % 20 === 0 ? `  quokka ${i}` : `  other line ${i} of file ${n}`,
  ).join("\n");
const name = (n: number) => `src/file-${String(n).padStart(2, "0")}.md`;

beforeAll(async () => {
  mkdirSync(join(root, "src"));
  for (let n = 0; n < FILES; n++) writeFileSync(join(root, name(n)), `${source(n)}\n`);
  writeFileSync(join(other, "elsewhere.md"), "quokka elsewhere\n");
  m = await TestMemory.open(undefined, root);
  await m.call("index_repo");
});
afterAll(() => m.close());

/** An answer, which keeps to its bound. */
// biome-ignore lint/suspicious/noExplicitAny: a payload is JSON, and a test reads what it expects of it
async function ask(args: Record<string, unknown>, most = 6000): Promise<any> {
  const text = await m.text("repo_search", { query: "quokka keeper", ...args });
  if (most > 0) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
  return JSON.parse(text);
}

/** The numbered lines of a text in ranges. */
function numbered(text: string): Map<number, string> {
  const lines = new Map<number, string>();
  for (const range of text.split("\n…\n")) {
    const [, first, rest] = /^(\d+):(.*)$/s.exec(range)!;
    for (const [i, line] of rest!.split("\n").entries()) lines.set(Number(first) + i, line);
  }
  return lines;
}

test("the answer: the workspace, whether all was looked at, five files, and how many more there are", async () => {
  const answer = await ask({});
  expect(Object.keys(answer)).toEqual([
    ...["collection", "query", "workspace", "index_status", "partial", "hits", "more"],
  ]);
  expect(answer).toMatchObject({ collection: "repo_symbols", workspace: root, index_status: "hit", partial: false });
  expect([answer.hits.length, answer.more]).toEqual([5, FILES - 5]);
  for (const { id, metadata, ...rest } of answer.hits as Hit[]) {
    expect(Object.keys(rest)).toEqual(["text"]);
    expect(Object.keys(metadata)).toEqual(["path", "start_line", "end_line", "language"]);
    expect(id).toContain(`:${metadata.path}:`);
    expect(metadata.start_line <= 60 && metadata.end_line >= 60).toBe(true);
  }
  expect((await ask({ top_k: FILES, form: "files" })).more).toBeUndefined();
});

test("lines: those of the file, with their numbers; the first file has most", async () => {
  const { hits } = await ask({ top_k: 8 });
  const counts = (hits as Hit[]).map(({ metadata, text }) => {
    const file = readFileSync(join(root, metadata.path), "utf8").split("\n");
    const lines = numbered(text!);
    for (const [number, line] of lines) expect(line).toBe(file[number - 1]!);
    expect(lines.get(60)).toContain("quokka quokka keeper");
    return lines.size;
  });
  expect(counts[0]).toBeWithin(5, 41);
  expect(Math.max(...counts.slice(1, 5))).toBeLessThanOrEqual(12);
  expect(counts.slice(5)).toEqual([2, 2, 2]);
});

test("grep: three lines a file; files: none; windows: whole ones", async () => {
  for (const { metadata, text } of (await ask({ form: "grep" })).hits as Hit[]) {
    const lines = text!.split("\n");
    expect(lines.length).toBe(3);
    const file = readFileSync(join(root, metadata.path), "utf8").split("\n");
    for (const line of lines) {
      const [, path, number, rest] = /^([^:]+):(\d+):(.*)$/.exec(line)!;
      expect([path, rest]).toEqual([metadata.path, file[Number(number) - 1]!.trim()]);
    }
    expect(text).toContain(":60:quokka quokka keeper");
  }
  for (const hit of (await ask({ form: "files" })).hits as Hit[]) {
    expect(hit.text).toBeUndefined();
    expect([hit.metadata.start_line, hit.metadata.end_line]).toEqual([60, 60]);
  }
  for (const args of [{ form: "windows" }, { with_text: true }]) {
    for (const { metadata, text, truncated } of (await ask(args, 24_000)).hits as Hit[]) {
      const file = readFileSync(join(root, metadata.path), "utf8").split("\n");
      expect(truncated).toBeUndefined();
      expect(text).toBe(`${file.slice(metadata.start_line - 1, metadata.end_line).join("\n")}\n`);
    }
  }
});

test("the symbol that the lines are part of", async () => {
  const code = realpathSync(scratchDir());
  writeFileSync(
    join(code, "a.py"),
    `import os\n\n\ndef first():\n    pass\n\n\ndef second():\n    keep(the, quokka)\n`,
  );
  writeFileSync(join(code, "b.txt"), "def no_code():\n    a quokka too\n");
  for (const form of ["lines", "files", "grep", "windows"]) {
    const { hits } = await ask({ workspace: code, form }, 24_000);
    const symbols = (hits as Hit[]).map(({ metadata }) => [metadata.path, metadata.symbol]);
    expect([form, Object.fromEntries(symbols)]).toEqual([form, { "a.py": "second", "b.txt": undefined }]);
  }
});

test("per_file: windows of a file as hits of their own, each with its own lines", async () => {
  for (const form of ["lines", "windows", "grep", "files"]) {
    const { hits, more } = await ask({ form, per_file: 2, top_k: 3 }, 24_000);
    const paths = (hits as Hit[]).map(({ metadata }) => metadata.path);
    expect([form, paths.length, new Set(paths).size, more]).toEqual([form, 6, 3, FILES - 3]);
    expect(new Set((hits as Hit[]).map(({ id }) => id)).size).toBe(6);
    const [a, b] = hits as [Hit, Hit];
    expect(a.metadata.path).toBe(b.metadata.path);
    expect(a.metadata.start_line).not.toBe(b.metadata.start_line);
  }
});

describe("max_bytes", () => {
  test.each(["lines", "files", "grep", "windows"])("%s: ids and paths of all hits before any text", async (form) => {
    const bare = await ask({ form: "files", top_k: 20, max_bytes: 0 }, 0);
    const least = Buffer.byteLength(JSON.stringify(bare));
    for (const max_bytes of [least + 40, least + 300, least + 2000, 20_000]) {
      const { hits, next } = await ask({ form, top_k: 20, max_bytes }, max_bytes);
      expect(next).toBeUndefined();
      expect((hits as Hit[]).map(({ metadata }) => metadata.path)).toEqual(
        bare.hits.map(({ metadata }: Hit) => metadata.path),
      );
      if (form !== "files" && max_bytes === 20_000) for (const { text } of hits as Hit[]) expect(text).not.toBe("");
    }
  });

  test("hits that do not fit follow after next, in every form the same ones", async () => {
    const whole = (await ask({ top_k: FILES, max_bytes: 0 }, 0)).hits.map(({ metadata }: Hit) => metadata.path);
    const paths: string[] = [];
    const forms = ["lines", "grep", "files", "windows"];
    let after: string | undefined;
    do {
      const { hits, next, more } = await ask(
        { top_k: FILES, max_bytes: 1000, form: forms[paths.length % 4], after },
        1000,
      );
      paths.push(...hits.map(({ metadata }: Hit) => metadata.path));
      expect(more).toBe(FILES === paths.length ? undefined : FILES - paths.length);
      after = next;
    } while (after !== undefined);
    expect(paths).toEqual(whole);
  });

  test("0: whole", async () => {
    const { hits } = await ask({ top_k: FILES, max_bytes: 0, form: "windows" }, 0);
    expect(hits.every(({ text, truncated }: Hit) => text!.length > 500 && truncated === undefined)).toBe(true);
  });
});

test("another workspace, and another collection", async () => {
  const there = await ask({ workspace: other });
  expect(there).toMatchObject({ workspace: other, index_status: "built" });
  expect(there.hits.map(({ metadata }: Hit) => metadata.path)).toEqual(["elsewhere.md"]);
  const apart = await ask({ workspace: other, collection: "apart" });
  expect(apart).toMatchObject({ collection: "apart", index_status: "built" });
  await m.call("create_collection", { name: "notes" });
  await m.call("add", { collection: "notes", texts: ["a quokka"] });
  await expect(ask({ collection: "notes" })).rejects.toThrow(
    "collection 'notes' is partitioned by 'scope', but a repository needs 'repo_id': choose another collection",
  );
});

test("a file that changes or goes between ranking and reading: its lines as they are, or none", async () => {
  const changing = realpathSync(scratchDir());
  const path = join(changing, "a.md");
  const lines = Array.from({ length: 90 }, (_, i) => `line ${i}`);
  for (const [state, expected] of [
    [undefined, undefined],
    ["\n\n", undefined],
    ["quokka\n", "1:quokka"],
    [`${"x".repeat(300_000)} quokka ${"y".repeat(300_000)}`, "quokka"],
    [new Uint8Array([0, 1, 2]), undefined],
  ] as const) {
    const changed = await TestMemory.open(undefined, changing);
    // biome-ignore lint/suspicious/noExplicitAny: a step in the middle of a call
    const repositories: any = await changed.memory.repositories();
    const refresh = repositories.refresh.bind(repositories);
    repositories.refresh = async (...args: unknown[]) => {
      writeFileSync(path, `${[...lines, "the quokka"].join("\n")}\n`);
      const result = await refresh(...args);
      if (state === undefined) rmSync(path);
      else writeFileSync(path, state);
      return result;
    };
    for (const form of ["lines", "grep", "files", "windows"]) {
      const { hits } = await changed.call("repo_search", { query: "quokka", form });
      expect([form, hits.length]).toEqual([form, 1]);
      if (form === "lines" && expected !== undefined) expect(hits[0].text).toContain(expected);
      if (expected === undefined || form === "files") expect(hits[0].text).toBeUndefined();
      expect(hits[0].metadata).toMatchObject({ path: "a.md", start_line: expect.any(Number) });
      expect(hits[0].unreadable).toBe(typeof state === "string" ? undefined : true);
    }
    await changed.close();
  }
});

test("a file of one line of 1 MB makes no large answer, in no form", async () => {
  const minified = realpathSync(scratchDir());
  const line = `${"function a(){return 1};".repeat(25_000)}var bandicoot=1;${"function b(){return 2};".repeat(20_000)}`;
  writeFileSync(join(minified, "app.min.js"), line);
  const big = await TestMemory.open(undefined, minified);
  for (const [form, most] of [
    ["lines", 700],
    ["grep", 700],
    ["files", 500],
    ["windows", 24_000],
  ] as const) {
    const text = await big.text("repo_search", { query: "bandicoot", form });
    expect([form, Buffer.byteLength(text) <= most]).toEqual([form, true]);
    const { hits } = JSON.parse(text);
    expect(hits.length).toBe(1);
    expect(hits[0].metadata).toMatchObject({ path: "app.min.js", start_line: 1, end_line: 1 });
    if (form !== "files") expect(hits[0].text).toContain("bandicoot=1");
  }
});
