/** What indexing is given and what it answers: the types that its files share. */
import type { ChunkMode } from "./chunk.ts";
import type { SkipCounts } from "./entries.ts";
import type { Workspace } from "./workspace.ts";

/** One row as the collection takes it. */
export interface Row {
  id: string;
  text: string;
  metadata: Record<string, unknown>;
}

/** What indexing needs of a collection. */
export interface RowSink {
  /** Changes with each save of any process. */
  readonly generation: number;
  /** One durable transaction: deletions and upserts become visible together. Unknown ids to delete are ignored. */
  replace(change: { deleteIds: string[]; rows: Row[] }): Promise<{ deleted: number; upserted: number }>;
  /** Live ids whose `repo_id` column equals the value. */
  idsOf(repoId: string): Promise<string[]>;
}

export interface IndexOptions {
  workspace: Workspace;
  /** Name of the collection, for the result. */
  collection: string;
  sink: RowSink;
  /** Where the fingerprints live: a file in the collection's directory. */
  fingerprintPath: string;
  mode?: ChunkMode;
  windowLines?: number;
  windowOverlapLines?: number;
  /** 0: no limit but the one that protects memory (`REPO_FILE_BYTES_MAX`, 64 MiB). */
  maxFileBytes?: number;
  /** Files to chunk in this call, and to look for; the next call goes on. 0: no limit. */
  maxFiles?: number;
  /** Seconds from its start after which this call looks for no further files and reads none; the next call goes on. 0: no limit. */
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
  /** Present if a limit stopped this call before every file was looked at; call again to go on. */
  truncated?: true;
}
