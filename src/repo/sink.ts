/** Options and results of indexing, and other types that its files share. */
import type { Pack } from "../store/packer.ts";
import type { Deadline } from "./deadline.ts";
import type { ShownPartial } from "./partial.ts";
import type { GivenSettings, ShownSettings } from "./settings.ts";
import type { Trees } from "./trees.ts";
import type { Workspace } from "./workspace.ts";

/** The live rows of one repository: others do not change it, nor does how they are stored. */
export interface RowsState {
  count: number;
  digest: string;
}

/** Rows to put and ids to delete. */
export interface Change {
  deleteIds: string[];
  /** In the order of their files. The sink takes them out of the list: each is released once it is put. */
  rows: Pack[];
  /** Asked when no other process can change rows: where it is false, nothing is changed. Absent: it is true. */
  isCurrent?: () => boolean;
  /** Whether the rows' `like` still holds; asked when no other process can change rows. Absent: it does. */
  areLike?: () => boolean;
  /** Whether the run ends a transaction here because it is full: most likely more follow. */
  isFull?: boolean;
  /**
   * The repository's note from then on, undefined for none; called once the rows are changed and before they are saved.
   * @param rows as they are then; undefined where more transactions follow
   * @param generation of that save
   */
  note?: (rows: RowsState | undefined, generation: number) => unknown;
  /** Bounds how long another process's change is waited for: a TimeoutError. What has begun is not interrupted. */
  deadline?: Deadline;
}

/** The interface of a collection that indexing needs. Queries see other processes' saves. */
export interface RowSink {
  /** The collection's filter columns, of which rows have a key each. */
  readonly columns: readonly string[];
  /** Whether the collection was ever saved. */
  readonly isSaved: boolean;
  /** The number of its last save. */
  readonly generation: number;
  /** The notes of its repositories, by repository. */
  notes(): ReadonlyMap<string, unknown>;
  noteOf(repoId: string): unknown;
  /** The live rows whose `repo_id` column equals the value. */
  stateOf(repoId: string): RowsState;
  /**
   * One durable transaction of rows of one repository: deletions, upserts and its note become visible together. Unknown
   * ids to delete are ignored. Undefined where the change is not current.
   */
  replace(repoId: string, change: Change): Promise<{ deleted: number; upserted: number } | undefined>;
  /** Live ids whose `repo_id` column equals the value. */
  idsOf(repoId: string): Promise<string[]>;
  /** About how many milliseconds the upkeep will take that follows a run which puts so many rows. Absent: none. */
  msAfter?(rows: number): number;
}

/** Files skipped, by reason; `binary`, and `secret` by content, as far as they were read. */
export interface SkipCounts {
  binary: number;
  secret: number;
  too_large: number;
  unreadable: number;
  outside: number;
}

/** How far a run is, of the files that it found to be read. */
export interface IndexWork {
  phase: "looking" | "reading" | "saving";
  files: number;
  filesFound: number;
  bytes: number;
  bytesFound: number;
}

/** What a call names of the settings stays until another call names something else. */
export interface IndexOptions extends GivenSettings {
  workspace: Workspace;
  /** Name of the collection, for the result. */
  collection: string;
  sink: RowSink;
  /** What is known of files from call to call. */
  trees: Trees;
  /** The collection's folder, for the fingerprints. */
  folder: string;
  /** Files to find and chunk in this call; the next call continues. 0: no limit. */
  maxFiles?: number;
  /** By when the call should end; what is left by then is for the next call. Absent: no limit. */
  deadline?: Deadline;
  /** Chunk everything again. */
  force?: boolean;
  /** Absolute directories to skip: the memory directory, if it lies below the root. */
  exclude?: string[];
  signal?: AbortSignal;
  /** Called with the files tried so far, and found so far to be read. */
  onProgress?: (done: number, total: number) => void;
  /** Called in every phase, some thousand times a second. */
  onWork?: ((work: IndexWork) => void) | undefined;
  /** Called at the end with the paths, relative to the root, of the repository's text files in the index now. */
  onIndexed?: (paths: readonly string[]) => void;
}

/** Where the list of a repository's files comes from: git's own index file, git itself, or the folder and its ignore files. */
export type FilesSource = "git index" | "git" | "folder";

/** The result of `svc_index_repo`; how many files are done of how many only where it is `truncated`. */
export interface IndexResult extends ShownPartial {
  /** `built`: from nothing, or all again; `refreshed`: something had changed; `hit`: nothing had. */
  status: "built" | "refreshed" | "hit";
  collection: string;
  repo_id: string;
  /** The repository's root: paths are relative to it. */
  workspace: string;
  /** Where only a folder of it was looked at: that folder, relative to it. All counts are of what lies below. */
  folder?: string;
  /** Text files in the index now. */
  files_tracked: number;
  /** Files chunked in this call, new ones included. */
  files_changed: number;
  files_removed: number;
  /** Rows written and rows deleted; a changed chunk counts as written only. */
  chunks_added: number;
  chunks_deleted: number;
  files_skipped: SkipCounts;
  files_source?: FilesSource;
  /** Present if a limit ended this call before every file was visited; call again to continue. */
  truncated?: true;
  /** Those of the settings in force that are not the defaults. */
  settings?: ShownSettings;
}
