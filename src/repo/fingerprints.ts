/**
 * A record of each file between two runs, so that finding no change costs a `stat` walk. It is only a cache: missing,
 * damaged or not matching the collection, it is rebuilt from the files and the collection's ids.
 *
 * One file a repository: a head line of JSON, then one JSON array with a row a file. The head has a hash of the body; a
 * torn or edited file, or one of another format, counts as missing.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isObject } from "../checks/kinds.ts";
import { readCapped, writeDurable } from "../durable.ts";
import { CHUNK_DEFAULTS, CHUNKER_VERSION, type ChunkOptions } from "./chunk.ts";
import type { GitPlace } from "./linked.ts";
import { isPartialIndex, type PartialIndex } from "./partial.ts";
import type { FileStamp } from "./read.ts";
import type { RowsState } from "./sink.ts";

const FORMAT = 2;

/** Two edits within this time may get the same stamp; files stamped so shortly before a run are read again. */
const RACY_NS = 2_000_000_000n;

/** Bytes of the longest head: a root and a path below it, 4 KiB together, git's folder, and everything else. */
const HEAD_BYTES_MAX = 16 * 1024;

/** Larger files are not ours: a million entries take less. */
const CACHE_BYTES_MAX = 512 * 1024 * 1024;

/** What a file was found to be by reading it, numbered as in a row; only texts have chunks. */
const KINDS = ["binary", "text", "secret"] as const;

/** The record of one file. */
export interface Fingerprint {
  kind: (typeof KINDS)[number];
  /** Live chunks of a text: their numbers are 0 to this, exclusive. */
  chunks: number;
  /** {@link stampOf} when it was read; `""` if it must be read again. */
  stamp: string;
  /** Hash of the content; `""` if it must be chunked again, changed or not. */
  hash: string;
}

/** The head of a cache. */
export interface FingerprintHead {
  repoId: string;
  /** Resolved root, below which rows' sources are read. */
  root: string;
  /** Chunking parameters, {@link chunkKey}; others give other rows. */
  params: string;
  /** Larger files were left out; absent: none but those above `REPO_FILE_BYTES_MAX`. */
  maxFileBytes?: number | undefined;
  /** The repository's rows after the last change recorded here; absent: some may have no entry. */
  rows?: RowsState | undefined;
  /** The repository of git that the root belonged to; absent: none. */
  git?: GitPlace | undefined;
  /** {@link deviceOf} the root. */
  device: number;
  /** When its walk began. */
  startedMs: number;
  /** The run that wrote it, to notice another process indexing the same root at the same time. */
  run: string;
  /** Text files with rows. */
  tracked: number;
  /** Absent: every file is indexed as it was last seen. */
  partial?: PartialIndex | undefined;
  /** The last path that was settled, where a limit ended the run early. */
  reached?: string;
}

export interface Fingerprints extends FingerprintHead {
  files: Map<string, Fingerprint>;
}

/** The chunking parameters as one string: with the content they determine a file's chunks. */
export function chunkKey(options: ChunkOptions): string {
  const { mode, windowLines, windowOverlapLines } = options;
  return mode === "file"
    ? `v${CHUNKER_VERSION}:file`
    : `v${CHUNKER_VERSION}:windowed:${windowLines}:${windowOverlapLines}`;
}

/** The parameters that a key stands for, of any version of chunking; undefined where it is none. */
export function chunkingOf(key: string): ChunkOptions | undefined {
  const match = /^v\d+:(?:file|windowed:(\d{1,9}):(\d{1,9}))$/.exec(key);
  if (!match) return undefined;
  if (match[1] === undefined) return { ...CHUNK_DEFAULTS, mode: "file" };
  const [windowLines, windowOverlapLines] = [Number(match[1]), Number(match[2])];
  // Another program may have written the file: windows that do not advance would never end.
  return windowOverlapLines < windowLines ? { mode: "windowed", windowLines, windowOverlapLines } : undefined;
}

/** The four numbers of a stamp, as one string to compare: any edit changes one. */
export function stampOf(file: FileStamp): string {
  return `${file.size}:${file.mtimeNs}:${file.ctimeNs}:${file.ino}`;
}

/** The times in a stamp of {@link stampOf}. */
export function parseStamp(stamp: string): Pick<FileStamp, "mtimeNs" | "ctimeNs"> {
  const [, mtime = "0", ctime = "0"] = stamp.split(":");
  return { mtimeNs: BigInt(mtime), ctimeNs: BigInt(ctime) };
}

/**
 * Whether a file is "racily clean", as git calls it: its stamp is unchanged, but so shortly before or during the run
 * that recorded it that a second edit could have the same. The change time counts as well: a tool may set the
 * modification time back.
 */
export function isRacy(file: Pick<FileStamp, "mtimeNs" | "ctimeNs">, startedMs: number): boolean {
  const settledNs = BigInt(Math.floor(startedMs)) * 1_000_000n - RACY_NS;
  return file.mtimeNs >= settledNs || file.ctimeNs >= settledNs;
}

/** 64-bit hash of a file's content; not cryptographic: a forger could only make their own file look unchanged. */
export function contentHash(bytes: Uint8Array): string {
  return Bun.hash(bytes).toString(36);
}

/** Voids an entry: chunks may exist, but stamp and hash are unknown. */
export function voidEntry(file: Fingerprint): void {
  file.stamp = "";
  file.hash = "";
}

/** A cache file: the run that wrote it, where its head is valid, and the fingerprints where all of it is. */
export interface Loaded {
  run: string | undefined;
  /** Hash of the entries as the head has it: another one says that they were written again. */
  body: string | undefined;
  fingerprints: Fingerprints | undefined;
}

/** Reads the cache of `repoId`, once. */
export function loadFingerprints(path: string, repoId: string): Loaded {
  const loaded: Loaded = { run: undefined, body: undefined, fingerprints: undefined };
  try {
    const text = new TextDecoder().decode(readCapped(path, CACHE_BYTES_MAX, { noFollow: true }));
    const end = text.indexOf("\n");
    const head = parseHead(text.slice(0, end));
    const body = text.slice(end + 1);
    loaded.run = head?.run;
    loaded.body = head?.body;
    if (head === undefined || head.repoId !== repoId || head.body !== bodyHash(body)) return loaded;
    const files = new Map<string, Fingerprint>();
    for (const [file, kind, chunks, stamp, hash] of JSON.parse(body) as [string, number, number, string, string][]) {
      files.set(file, { kind: KINDS[kind]!, chunks, stamp, hash });
    }
    const { format: _format, body: _body, ...known } = head;
    loaded.fingerprints = { ...known, files };
  } catch {
    // Missing or invalid: rebuilt from the files and the collection's ids.
  }
  return loaded;
}

/**
 * The head alone, for callers that do not index: a few kilobytes are read, not the whole cache.
 */
export function readFingerprintHead(path: string): Head | undefined {
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

/** Writes the cache atomically. Its folder must exist. */
export async function saveFingerprints(path: string, fingerprints: Fingerprints): Promise<void> {
  const { files, ...head } = fingerprints;
  const rows = [...files].map(([file, { kind, chunks, stamp, hash }]) => [
    file,
    KINDS.indexOf(kind),
    chunks,
    stamp,
    hash,
  ]);
  const body = JSON.stringify(rows);
  await writeDurable(path, `${JSON.stringify({ format: FORMAT, ...head, body: bodyHash(body) })}\n${body}`);
}

/** A head as it lies on disk. */
export type Head = FingerprintHead & { format: number; body: string };

/** The head line, each field checked: other programs may have changed the file. */
function parseHead(line: string): Head | undefined {
  const head = JSON.parse(line) as Partial<Head> | null;
  if (typeof head !== "object" || head?.format !== FORMAT) return undefined;
  const { repoId, root, params, run, body, device, startedMs, tracked, reached = "", maxFileBytes = 0 } = head;
  const { rows = { count: 0, digest: "" }, git = { common: "" } } = head;
  if (!isObject(rows) || !isObject(git)) return undefined;
  if (head.partial !== undefined && !isPartialIndex(head.partial)) return undefined;
  const words = [repoId, root, params, run, body, reached, rows.digest, git.common, git.linked ?? ""];
  const strings = words.every((value) => typeof value === "string");
  const numbers = [device, startedMs, tracked, rows.count, maxFileBytes].every((value) => typeof value === "number");
  return strings && numbers ? (head as Head) : undefined;
}

function bodyHash(body: string): string {
  return Bun.hash(body).toString(36);
}
