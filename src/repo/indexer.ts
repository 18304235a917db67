/** Files → rows: the public edge of this folder. `run.ts` has the work and the order that makes a crash harmless. */
import { ValueError } from "../errors.ts";
import type { Row } from "./batch.ts";
import { CHUNK_DEFAULTS, type ChunkMode, type ChunkOptions, checkChunkOptions } from "./chunk.ts";
import { resolveWorkspace } from "./identity.ts";
import { IndexRun } from "./run.ts";
import type { SkipCounts } from "./walk.ts";

export { readFingerprintHead } from "./fingerprints.ts";
export { repoIdOf, resolveWorkspace } from "./identity.ts";
export { readChunk } from "./source.ts";

/** What indexing needs of a collection. */
export interface RowSink {
  /** Changes with each save, whoever saves. */
  readonly generation: number;
  /** One durable transaction: deletions and upserts become visible together. Unknown ids to delete are ignored. */
  replace(change: { deleteIds: string[]; rows: Row[] }): Promise<{ deleted: number; upserted: number }>;
  /** Live ids whose `repo_id` column equals the value. */
  idsOf(repoId: string): Promise<string[]>;
}

export interface IndexOptions {
  /** The directory as the caller named it. */
  root: string;
  /** Name of the collection, for the result. */
  collection: string;
  sink: RowSink;
  /** Where the fingerprints live: a file in the collection's directory. */
  fingerprintPath: string;
  mode?: ChunkMode;
  windowLines?: number;
  windowOverlapLines?: number;
  /** 0: no limit but the one that protects memory (`FILE_BYTES_CAP`, 64 MiB). */
  maxFileBytes?: number;
  /** Files to chunk in this call; the next call goes on. 0: no limit. */
  maxFiles?: number;
  /** Seconds after which this call stops between two files; the next call goes on. 0: no limit. */
  maxSeconds?: number;
  /** Chunk everything again. */
  force?: boolean;
  /** Absolute directories to leave out: the memory directory, if it lies below the root. */
  exclude?: string[];
  signal?: AbortSignal;
  /** Files looked at, of those that may have changed. */
  onProgress?: (done: number, total: number) => void;
}

/** What `svc_index_repo` answers. */
export interface IndexResult {
  /** `built`: from nothing, or all again; `refreshed`: something had changed; `hit`: nothing had. */
  status: "built" | "refreshed" | "hit";
  collection: string;
  repo_id: string;
  workspace: string;
  /** Text files in the index now. */
  files_tracked: number;
  /** Files chunked in this call, new ones included. */
  files_changed: number;
  files_removed: number;
  /** Rows written and rows that ceased to exist; a chunk that only changed is written, not deleted. */
  chunks_added: number;
  chunks_deleted: number;
  files_skipped: SkipCounts;
  /** Present if a limit stopped this call before the end; call again to go on. */
  truncated?: true;
}

/** Brings the collection behind `options.sink` in step with `options.root`. @throws ValueError, CancelledError, OSError */
export async function indexRepo(options: IndexOptions): Promise<IndexResult> {
  const chunking: ChunkOptions = {
    mode: options.mode ?? CHUNK_DEFAULTS.mode,
    windowLines: options.windowLines ?? CHUNK_DEFAULTS.windowLines,
    windowOverlapLines: options.windowOverlapLines ?? CHUNK_DEFAULTS.windowOverlapLines,
  };
  checkChunkOptions(chunking);
  checkLimit("max_file_bytes", options.maxFileBytes);
  checkLimit("max_files", options.maxFiles);
  checkLimit("max_seconds", options.maxSeconds);
  const workspace = resolveWorkspace(options.root);
  return inTurn(options.fingerprintPath, () => new IndexRun(options, chunking, workspace).run());
}

/** Runs over one cache in this process wait for each other; across processes `Ledger.save` notices the other. */
const turns = new Map<string, Promise<unknown>>();

async function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(key);
  const mine = (before ?? Promise.resolve()).then(work, work);
  turns.set(key, mine);
  try {
    return await mine;
  } finally {
    if (turns.get(key) === mine) turns.delete(key);
  }
}

function checkLimit(name: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isFinite(value) && value >= 0)) {
    throw new ValueError(`${name} must be 0 (no limit) or more, not ${value}`);
  }
}
