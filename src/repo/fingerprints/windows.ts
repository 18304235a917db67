/** Which windows of a file a transaction has to put: those that differ from what is there. */
import type { Chunk } from "../chunks/chunk.ts";
import { type Fingerprint, type Windows, windowHash } from "./fingerprints.ts";

/** What the chunks of a text are made of. */
export function windowsOf(text: Uint8Array, chunks: readonly Chunk[], labels: readonly (readonly string[])[]): Windows {
  const hashes = new Float64Array(chunks.length);
  const lines = new Uint32Array(chunks.length);
  for (const [at, { from, to, startLine, piece }] of chunks.entries()) {
    hashes[at] = windowHash(text.subarray(from, to), labels[at]!, piece);
    lines[at] = startLine;
  }
  return { from: 0, hashes, lines };
}

/** A chunk to put. */
export interface Changed {
  chunk: number;
  /** The chunk that had its text before, if there is one: an edit that moves lines by whole windows makes no vectors. */
  like?: number | undefined;
}

/** The chunks that differ from those that a file has: all where it is not known what is there. */
export function changedChunks({ hashes, lines }: Windows, before: Fingerprint | undefined): Changed[] {
  const old = before?.kind === "text" && before.hash !== 0 ? before.windows : undefined;
  const count = old && before ? before.chunks : 0;
  const chunkOf = new Map<number, number>();
  for (let chunk = count - 1; chunk >= 0; chunk--) chunkOf.set(old!.hashes[old!.from + chunk]!, chunk);
  const changed: Changed[] = [];
  for (const [chunk, hash] of hashes.entries()) {
    const at = old ? old.from + chunk : 0;
    if (old && chunk < count && old.hashes[at] === hash && old.lines[at] === lines[chunk]) continue;
    changed.push({ chunk, like: chunkOf.get(hash) });
  }
  return changed;
}
