/**
 * The example in FORMAT.md: a collection of two rows, byte by byte. `bun test/format/example.ts` writes it there again,
 * which a new version of the format needs.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Put } from "../../ffi/ty_collection.ts";
import { withOrigin } from "../../src/origin.ts";
import { Store } from "../../src/store/store.ts";
import type { Native } from "../../src/trust/runtime/libraries.ts";
import { type Region, regionsOf } from "../fault/layout.ts";

export const FORMAT = join(import.meta.dir, "../../ffi/ty_runtime/FORMAT.md");
export const EXAMPLE = "example";
const TITLE = "## An example";
const LINE = 32;

/** The calls that the example is made by. */
export async function makeExample(dir: string, native: Native): Promise<void> {
  const store = new Store(dir, native.env, "1.0.0");
  const rows = store.create(EXAMPLE, { dim: 2, dtype: "f32", metric: "inner_product" });
  const vectors = Float32Array.of(1, 0, 0.6, 0.8);
  await rows.change(async (t) => {
    await t.put(Put.ADD, { ids: ["a", "b"], vectors, texts: ["hi", "ho"], metadata: [{ scope: "x" }, undefined] });
    t.note("history", { days: 36_500, percent: 25 });
  });
  const replace = (x: number, y: number, text: string) =>
    rows.upsert({ ids: ["b"], vectors: Float32Array.of(x, y), texts: [text] });
  await withOrigin({ client: "terminal" }, () => replace(0.8, 0.6, "hu"));
  await rows.compact(undefined, true);
  await withOrigin({ client: "terminal" }, async () => {
    await replace(0, 1, "he");
    await rows.delete(["a"]);
  });
  await store.close();
}

/**
 * The structures that are listed: none lies in another one. An entry of a table is one, what is after a put's fields
 * too.
 */
function listed(name: string, file: Buffer): Region[] {
  const out = regionsOf(name, file).flatMap((region): Region[] => {
    const { what, at, bytes } = region;
    if (/^table entry of .*: id$/.test(what)) return [{ what: what.slice(0, -4), at, bytes: 32 }];
    if (/^operation of/.test(what)) return [{ what: "operation: parts", at: at + 64, bytes: bytes - 64 }];
    const isGroup = /^whole|^padding|^section table|^block \d+$|^shape \d|^operation: (end|vector)$/.test(what);
    if (isGroup || /^table entry/.test(what) || (what === "header" && name.endsWith(".slab"))) return [];
    return [region];
  });
  return out.sort((a, b) => a.at - b.at);
}

/** Lines of at most 32 bytes in groups of four, without those that are zero. */
function linesOf(file: Buffer, { what, at, bytes }: Region): string[] {
  const out: string[] = [];
  for (let from = at; from < at + bytes; from += LINE) {
    const part = file.subarray(from, Math.min(from + LINE, at + bytes));
    if (part.every((byte) => byte === 0)) continue;
    const groups = part
      .toString("hex")
      .match(/.{1,8}/g)!
      .join(" ");
    out.push(`${String(from).padStart(5)}  ${groups.padEnd(71)}  ${out.length === 0 ? what : ""}`.trimEnd());
  }
  return out;
}

/** The section of FORMAT.md. */
export function exampleText(folder: string): string {
  const manifest = readFileSync(join(folder, "collection.json"), "utf8");
  const body = manifest.trimEnd();
  const out = [
    TITLE,
    "",
    "Save 1 added rows `a` and `b` of two dimensions. Save 2 replaced `b`. A compaction (generation 3) kept the history.",
    'Save 4 replaced `b` again, and save 5 deleted `a`. Saves 2, 4 and 5 have the origin `{"client":"terminal"}`. For each',
    "file there are offsets, bytes in hexadecimal, and what begins there. Bytes that are not listed are zero.",
    `\`collection.json\`, followed by a newline and ${manifest.length - body.length - 1} spaces:`,
    "",
    "```json",
    body,
    "```",
  ];
  for (const name of readdirSync(folder)
    .filter((file) => /\.(slab|npy)$/.test(file))
    .sort()) {
    const file = readFileSync(join(folder, name));
    const lines = listed(name, file).flatMap((region) => linesOf(file, region));
    out.push("", `\`${name}\`, ${file.length} bytes:`, "", "```", ...lines, "```");
  }
  return `${out.join("\n")}\n`;
}

/** The files of the example as FORMAT.md has them. */
export function filesOf(text: string): Map<string, Buffer> {
  const section = text.slice(text.indexOf(TITLE));
  const spaces = Number(/a newline and (\d+) spaces/.exec(section)![1]);
  const manifest = /```json\n([\s\S]*?)\n```/.exec(section)![1]!;
  const files = new Map([["collection.json", Buffer.from(`${manifest}\n${" ".repeat(spaces)}`)]]);
  for (const [, name, bytes, lines] of section.matchAll(/`([\w.-]+)`, (\d+) bytes:\n\n```\n([\s\S]*?)\n```/g)) {
    const file = Buffer.alloc(Number(bytes));
    for (const line of lines!.split("\n")) {
      const [, at, hex] = /^ *(\d+) {2}((?:[0-9a-f]+ ?)+)(?: |$)/.exec(line)!;
      file.write(hex!.replaceAll(" ", ""), Number(at), "hex");
    }
    files.set(name!, file);
  }
  return files;
}

if (import.meta.main) {
  const [{ openBuiltNative }, { scratchDir }] = await Promise.all([import("../native.ts"), import("../fixture.ts")]);
  const dir = scratchDir();
  await makeExample(dir, await openBuiltNative());
  const text = readFileSync(FORMAT, "utf8");
  const before = text.includes(TITLE) ? text.slice(0, text.indexOf(TITLE)) : `${text.trimEnd()}\n\n`;
  writeFileSync(FORMAT, before + exampleText(join(dir, EXAMPLE)));
}
