/** Reads the source of rows: the lines as they are on disk now. */

import type { Environment } from "../../../ffi/ty_runtime.ts";
import { holdsSecret } from "../../secrets/content.ts";
import { isSecret } from "../../secrets/names.ts";
import { CHUNK_BYTES_MAX, decodeText, splitLines, splitLongLine } from "../chunks/chunk.ts";
import { INTERNAL } from "./directory-rules.ts";
import { readFile, readFileOf } from "./read.ts";
import { isPath } from "./relative.ts";

/**
 * Reads lines `startLine` to `endLine` (from 1, both included) of a file below the resolved `root`; `piece` chooses a
 * part of a line too long for one chunk. Undefined if the file or the lines are gone.
 */
export function readChunk(
  env: Environment,
  root: string,
  path: string,
  startLine: number,
  endLine: number,
  piece?: number,
): string | undefined {
  const lines = readLines(env, root, path);
  return lines && chunkOf(lines, startLine, endLine, piece);
}

/**
 * The lines of a file below the resolved `root`, each with its line end; undefined if it is gone. The path is untrusted
 * input from a row's metadata, so the rules of the walk apply (below the root, no links, no credentials by name or content).
 */
export function readLines(env: Environment, root: string, path: string): string[] | undefined {
  if (!isPath(path) || isSecret(path) || path.split("/").some((name) => INTERNAL.has(name))) return undefined;
  const read = readFileOf(env, root, path);
  if (!("bytes" in read) || holdsSecret(read.bytes)) return undefined;
  return splitLines(decodeText(read.bytes));
}

/** Passes the bytes of each file of a root that can be read, valid until the next one. */
export function readEach(
  env: Environment,
  root: string,
  paths: readonly string[],
  see: (path: string, bytes: Uint8Array) => void,
): void {
  const tree = env.openTree(root);
  try {
    for (const path of paths) {
      const read = readFile(tree, path, 0);
      if ("bytes" in read) see(path, read.bytes);
    }
  } finally {
    tree.close();
  }
}

/** The chunk of a file's lines that a row stands for, as in {@link readChunk}. */
export function chunkOf(
  all: readonly string[],
  startLine: number,
  endLine: number,
  piece?: number,
): string | undefined {
  if (!(startLine >= 1) || !(endLine >= startLine)) return undefined;
  const lines = all.slice(startLine - 1, endLine);
  if (lines.length === 0) return undefined;
  if (piece !== undefined) return splitLongLine(lines[0]!)[piece];
  const text = lines.join("");
  // The file may have a longer line now; the result stays as small as a chunk.
  return Buffer.byteLength(text) > CHUNK_BYTES_MAX ? splitLongLine(text)[0] : text;
}
