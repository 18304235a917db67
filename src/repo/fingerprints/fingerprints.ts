/**
 * What is kept of each file between two runs, so that only what changed is read, and of that only what differs is put.
 * `log.ts` has how they lie on disk, `journal.ts` when they are written.
 */
import { CHUNK_DEFAULTS, CHUNKER_VERSION, type ChunkOptions } from "../chunks/chunk.ts";

/** What a file was found to be by reading it, numbered as in a record; only texts have chunks. */
export const KINDS = ["binary", "text", "secret"] as const;

/** What the windows of a file are made of. They lie among those of others, from `from` on. */
export interface Windows {
  from: number;
  /** {@link windowHash} of each. */
  hashes: Float64Array;
  /** The first line of each. */
  lines: Uint32Array;
}

/** The record of one file. */
export interface Fingerprint {
  kind: (typeof KINDS)[number];
  /** Live chunks of a text: their numbers are 0 to this, exclusive. */
  chunks: number;
  /** `FileStamp.mark` when it was read; 0 if it must be read again. */
  mark: number;
  /** Hash of the content; 0 if it must be chunked again, changed or not. */
  hash: number;
  /** What its chunks are made of; absent: unknown. */
  windows?: Windows | undefined;
}

const HASH_BITS = (1n << 53n) - 1n;

/** The chunking parameters as one string: with the content they determine a file's chunks. */
export function chunkKey(options: ChunkOptions): string {
  const { mode, windowLines, windowOverlapLines } = options;
  return mode === "file"
    ? `v${CHUNKER_VERSION}:file`
    : `v${CHUNKER_VERSION}:windowed:${windowLines}:${windowOverlapLines}`;
}

/** The parameters that a key stands for, of any version of chunking; undefined for another text. */
export function chunkingOf(key: string): ChunkOptions | undefined {
  const match = /^v\d+:(?:file|windowed:(\d{1,9}):(\d{1,9}))$/.exec(key);
  if (!match) return undefined;
  if (match[1] === undefined) return { ...CHUNK_DEFAULTS, mode: "file" };
  const [windowLines, windowOverlapLines] = [Number(match[1]), Number(match[2])];
  // Another program may have written the file: windows that do not advance would never end.
  return windowOverlapLines < windowLines ? { mode: "windowed", windowLines, windowOverlapLines } : undefined;
}

/**
 * 53-bit hash of what a row's vector and terms, and its metadata but for its lines, are made of; never 0. It is not
 * cryptographic: a forger could only make their own file look unchanged.
 */
export function windowHash(text: Uint8Array, labels: readonly string[], piece: number | undefined): number {
  const hash = Bun.hash.xxHash3(text);
  const isPlain = labels.length === 0 && piece === undefined;
  const made = isPlain ? hash : Bun.hash.xxHash3(`${labels.join("\0")}\0\0${piece ?? ""}`, hash);
  return Number(made & HASH_BITS) || 1;
}

/** A record of a text whose chunks must all be put again; chunks of these numbers may exist. */
export function voidText(chunks: number): Fingerprint {
  return { kind: "text", chunks, mark: 0, hash: 0 };
}
