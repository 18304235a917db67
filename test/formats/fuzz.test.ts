/**
 * Every format under damage: seeded changes of the samples. What is read is rows whose parts hold, or an error that names
 * the file; nothing crashes, hangs, or is read twice.
 */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { encodeMetadata } from "../../src/checks/metadata.ts";
import { random } from "../random.ts";
import { folder, read, SAMPLES } from "./support.ts";

const MUTATIONS = Number(process.env.FORMAT_MUTATIONS ?? 120);
/** Bytes that mean something to one of the parsers. */
const TOKENS = [
  '"',
  "\\",
  "{",
  "}",
  "[",
  "]",
  ",",
  "\n",
  "\r",
  "---\n",
  "\0",
  "\xff",
  "null",
  "__proto__",
  "1e999",
  "#",
  "- ",
  "```\n",
  "    ",
  "&a",
  "*a",
];

/** A sample, and how a changed copy of it is read. */
const CASES: readonly (readonly [sample: string, flags: object])[] = [
  ["memory.jsonl", {}],
  ["chroma-get.json", {}],
  ["chroma-get.json", { from: "chroma" }],
  ["mem0.json", {}],
  ["mem0.json", { from: "mem0" }],
  ["notes.json", {}],
  ["chatgpt/conversations.json", {}],
  ["chatgpt/conversations.json", { from: "chats" }],
  ["claude/conversations.json", {}],
  ["claude/conversations.json", { from: "chats" }],
  ["claude/memories.json", {}],
  ["claude/projects.json", { from: "chats" }],
  ["chatgpt-2026/conversations-000.json", {}],
  ["notes.csv", {}],
  ["notes.csv", { from: "csv", typed: true, textColumn: "note" }],
  ["vault/Runbooks/Blue-green deployment.md", { split: "headings" }],
  ["agents/CLAUDE.md", {}],
  ["agents/style.mdc", {}],
  ["agents/memory/feedback_database.md", { split: "bullets" }],
  ["notes.txt", {}],
  ["chroma/chroma.sqlite3", { chromaCollection: "notes" }],
  ["chroma/chroma.sqlite3", { from: "chroma" }],
  ["mem0/vector_store.db", { from: "mem0" }],
];

/** One to eight changes of bytes: flipped, overwritten, cut, doubled, or a token put in. */
function changed(original: Uint8Array, next: () => number): Uint8Array {
  let bytes = Buffer.from(original);
  const at = () => Math.floor(next() * bytes.length);
  for (let changes = 1 + Math.floor(next() * 8); changes > 0 && bytes.length > 0; changes--) {
    const place = at();
    switch (Math.floor(next() * 6)) {
      case 0:
        bytes[place]! ^= 1 << Math.floor(next() * 8);
        break;
      case 1:
        bytes[place] = [0, 0xff, 0x7f, 0x80][Math.floor(next() * 4)]!;
        break;
      case 2:
        bytes = bytes.subarray(0, place);
        break;
      case 3: {
        const [from, to] = [at(), at()].sort((a, b) => a - b) as [number, number];
        bytes = Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
        break;
      }
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, place), bytes.subarray(at())]);
        break;
      default: {
        const token = Buffer.from(TOKENS[Math.floor(next() * TOKENS.length)]!, "latin1");
        bytes = Buffer.concat([bytes.subarray(0, place), token, bytes.subarray(place)]);
      }
    }
  }
  return bytes.subarray(0, 1024 * 1024);
}

for (const [i, [sample, flags]] of CASES.entries()) {
  test(`${sample} as ${JSON.stringify(flags)}`, async () => {
    const original = readFileSync(join(SAMPLES, sample));
    const name = basename(sample);
    const dir = folder();
    for (let seed = 0; seed < MUTATIONS; seed++) {
      const path = join(dir, name);
      writeFileSync(path, changed(original, random(1000 * i + seed + 1)));
      const { rows, error } = await read(path, flags);
      const of = `seed ${seed}`;
      // An error of the language is a bug of ours.
      if (error !== undefined && !/^(ValueError|TypeError|OSError): /.test(error)) throw new Error(`${of}: ${error}`);
      if (error !== undefined && !error.includes(name)) throw new Error(`${of}: without the file's name: ${error}`);
      for (const { id, text, metadata, where } of rows) {
        if (typeof text !== "string" || !text.isWellFormed() || !where.includes(name))
          throw new Error(`${of}: ${where}`);
        if (id !== undefined && (id === "" || id.includes("\0") || Buffer.byteLength(id) > 512))
          throw new Error(`${of}: ${id}`);
        if (metadata) encodeMetadata(metadata, of);
      }
    }
    rmSync(dir, { recursive: true });
  });
}

test("a folder of damaged notes is read to its end", async () => {
  const dir = folder();
  mkdirSync(join(dir, "notes"));
  const original = readFileSync(join(SAMPLES, "vault/Runbooks/Blue-green deployment.md"));
  for (let seed = 0; seed < MUTATIONS; seed++) {
    writeFileSync(join(dir, "notes", `${seed}.md`), changed(original, random(90_000 + seed)));
  }
  for (const split of ["files", "headings", "bullets"] as const) {
    const { rows, error } = await read(dir, { split });
    expect(error).toBeUndefined();
    expect(rows.length).toBeGreaterThan(MUTATIONS / 4);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  }
});
