/**
 * What is remembered of each file between two runs, so that "nothing changed" costs a `stat` walk. It is a cache and
 * never the truth: missing, damaged or out of step with the collection, it is rebuilt from the files and the
 * collection's ids.
 *
 * One file a repository: a line of JSON with what holds for all, then one JSON array with a row a file. The head carries a
 * hash of the body; a torn or edited file, or one of another format, is as good as none.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { readCapped, writeDurable } from "../durable.ts";
import { CHUNKER_VERSION, type ChunkOptions } from "./chunk.ts";
import type { FileStamp } from "./read.ts";

const FORMAT = 1;

/** A file system may stamp two edits alike within this time; what was stamped so late before a run is read again. */
const RACY_NS = 2_000_000_000n;

/** Bytes read to find the head: a root and a path below it, 4 KiB together, and everything else. */
const HEAD_BYTES_MAX = 16 * 1024;

/** Files above this are not ours: a million entries take less. */
const CACHE_BYTES_MAX = 512 * 1024 * 1024;

/** What is known of one file. */
export interface Fingerprint {
  kind: "text" | "binary";
  /** Live chunks of a text: their numbers are 0 to this, exclusive. */
  chunks: number;
  /** {@link stampOf} when it was read; `""` when it has to be read again. */
  stamp: string;
  /** Hash of the content; `""` when it has to be chunked again whatever it holds. */
  hash: string;
}

/** What holds for the whole cache. */
export interface FingerprintHead {
  repoId: string;
  /** Resolved root: the source of a row of this repository is read below it. */
  root: string;
  /** Chunking parameters, {@link chunkKey}; others give other rows. */
  params: string;
  /** Of the collection, after the last change this cache knows of. */
  generation: number;
  /** When the walk behind it began. */
  startedMs: number;
  /** The run that wrote it, to notice another process indexing the same root at the same time. */
  run: string;
  /** Text files with rows. */
  tracked: number;
  /** The last path that was settled, where a limit ended the run before all were. */
  reached?: string;
}

export interface Fingerprints extends FingerprintHead {
  files: Map<string, Fingerprint>;
}

/** Everything beside the content that decides which chunks a file gives. */
export function chunkKey(options: ChunkOptions): string {
  const { mode, windowLines, windowOverlapLines } = options;
  return mode === "file"
    ? `v${CHUNKER_VERSION}:file`
    : `v${CHUNKER_VERSION}:windowed:${windowLines}:${windowOverlapLines}`;
}

/** The four numbers that move with any edit, as one string to compare. */
export function stampOf(file: FileStamp): string {
  return `${file.size}:${file.mtimeNs}:${file.ctimeNs}:${file.ino}`;
}

/**
 * Git calls such a file "racily clean": it carries the stamp that was remembered, but was stamped so shortly before or
 * during that run that a second edit could carry it too. The change time counts as well, as a tool may set the
 * modification time back.
 */
export function isRacy(file: FileStamp, startedMs: number): boolean {
  const settledNs = BigInt(Math.floor(startedMs)) * 1_000_000n - RACY_NS;
  return file.mtimeNs >= settledNs || file.ctimeNs >= settledNs;
}

/** 64 bits of a file's content; not against forgers, who could only make their own file look unchanged. */
export function contentHash(bytes: Uint8Array): string {
  return Bun.hash(bytes).toString(36);
}

/** Makes an entry say no more than that chunks may exist. */
export function voidEntry(file: Fingerprint): void {
  file.stamp = "";
  file.hash = "";
}

/** What lies in a cache file: the run that wrote it, where its head can be read, and the whole where it can be believed. */
export interface Loaded {
  run: string | undefined;
  fingerprints: Fingerprints | undefined;
}

/** Reads the cache of `repoId`, once. */
export function loadFingerprints(path: string, repoId: string): Loaded {
  const loaded: Loaded = { run: undefined, fingerprints: undefined };
  try {
    const text = new TextDecoder().decode(readCapped(path, CACHE_BYTES_MAX, { noFollow: true }));
    const end = text.indexOf("\n");
    const head = parseHead(text.slice(0, end));
    const body = text.slice(end + 1);
    loaded.run = head?.run;
    if (head === undefined || head.repoId !== repoId || head.body !== bodyHash(body)) return loaded;
    const files = new Map<string, Fingerprint>();
    for (const [file, text, chunks, stamp, hash] of JSON.parse(body) as [string, 0 | 1, number, string, string][]) {
      files.set(file, { kind: text ? "text" : "binary", chunks, stamp, hash });
    }
    const { format: _format, body: _body, ...known } = head;
    loaded.fingerprints = { ...known, files };
  } catch {
    // No file, or nothing that can be believed: the files and the collection's ids say what is there.
  }
  return loaded;
}

/**
 * The head alone, for questions about a repository that do not index it: a few kilobytes are read, not the whole
 * cache.
 */
export function readFingerprintHead(path: string): FingerprintHead | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!fstatSync(fd).isFile()) return undefined;
      const bytes = new Uint8Array(HEAD_BYTES_MAX);
      const count = readSync(fd, bytes, 0, bytes.length, 0);
      const end = bytes.subarray(0, count).indexOf(10);
      return end === -1 ? undefined : parseHead(new TextDecoder().decode(bytes.subarray(0, end)));
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** Writes the cache whole or not at all. Its folder must exist. */
export async function saveFingerprints(path: string, fingerprints: Fingerprints): Promise<void> {
  const { files, ...head } = fingerprints;
  const rows = [...files].map(([file, { kind, chunks, stamp, hash }]) => [
    file,
    kind === "text" ? 1 : 0,
    chunks,
    stamp,
    hash,
  ]);
  const body = JSON.stringify(rows);
  await writeDurable(path, `${JSON.stringify({ format: FORMAT, ...head, body: bodyHash(body) })}\n${body}`);
}

type Head = FingerprintHead & { format: number; body: string };

/** The head line, each field judged: the file lies in a directory that others may have touched. */
function parseHead(line: string): Head | undefined {
  const head = JSON.parse(line) as Partial<Head> | null;
  if (typeof head !== "object" || head?.format !== FORMAT) return undefined;
  const { repoId, root, params, run, body, generation, startedMs, tracked, reached = "" } = head;
  const strings = [repoId, root, params, run, body, reached].every((value) => typeof value === "string");
  const numbers = [generation, startedMs, tracked].every((value) => typeof value === "number");
  return strings && numbers ? (head as Head) : undefined;
}

function bodyHash(body: string): string {
  return Bun.hash(body).toString(36);
}
