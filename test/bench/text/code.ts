/** Code of this machine: files of what the checkout has installed. */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { CHUNK_DEFAULTS, chunkBytes, textOf } from "../../../src/repo/chunks/chunk.ts";
import { filesBelow, ROOTS, readableText, shuffled } from "./machine-text.ts";

const CODE = /\.(ts|mts|js|mjs|zig|c|h|cpp|py)$/;
/** A file with longer lines on average is minified. */
const LINE_MEAN_MAX = 100;
const SEED = 21;

/** Files of code as one folder, and their chunks as the repository's indexer cuts them. */
export interface Code {
  files: number;
  lines: number;
  chunks: string[];
}

/** Writes files below `folder` until they make `count` chunks. */
export function writeCode(folder: string, count: number): Code {
  const code: Code = { files: 0, lines: 0, chunks: [] };
  const seen = new Set<number | bigint>();
  mkdirSync(folder, { recursive: true });
  const all = ROOTS.flatMap(filesBelow).filter((path) => CODE.test(path));
  // Installed packages come first: elsewhere on the machine much of the code is generated.
  const own = ROOTS.at(-1)!;
  const ordered = [
    ...shuffled(
      all.filter((path) => path.startsWith(own)),
      SEED,
    ),
    ...shuffled(
      all.filter((path) => !path.startsWith(own)),
      SEED,
    ),
  ];
  for (const path of ordered) {
    if (code.chunks.length >= count) break;
    const text = readableText(path);
    if (text === undefined) continue;
    const lines = text.split("\n").length;
    if (text.length > lines * LINE_MEAN_MAX || seen.has(Bun.hash(text))) continue;
    seen.add(Bun.hash(text));
    // A numbered folder each: files may have the same name.
    const name = join(`part-${code.files}`, basename(path));
    mkdirSync(join(folder, `part-${code.files}`));
    writeFileSync(join(folder, name), text);
    code.files++;
    code.lines += lines;
    const bytes = new TextEncoder().encode(text);
    code.chunks.push(
      ...chunkBytes(bytes, CHUNK_DEFAULTS).map(({ from, to }) => `${name}\n${textOf(bytes.subarray(from, to))}`),
    );
  }
  return code;
}
