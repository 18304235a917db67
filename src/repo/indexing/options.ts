/** Options and results of indexing. */
import type { Deadline } from "../files/deadline.ts";
import type { FilesSource } from "../files/tree.ts";
import type { Trees } from "../files/trees.ts";
import type { Workspace } from "../files/workspace.ts";
import type { ShownPartial } from "../fingerprints/partial.ts";
import type { RowSink } from "../fingerprints/row-sink.ts";
import type { GivenSettings, ShownSettings } from "../fingerprints/settings.ts";

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

/** What every result says of the repository. */
export interface RepoMembers {
  collection: string;
  repo_id: string;
  /** The repository's root: paths are relative to it. */
  workspace: string;
  /** Where only a folder of it was looked at: that folder, relative to it. All counts are of what lies below. */
  folder?: string;
}

/** The members of a result that name the repository. */
export function repoMembers({ collection, workspace }: Pick<IndexOptions, "collection" | "workspace">): RepoMembers {
  const { root, repoId, below } = workspace;
  return { collection, repo_id: repoId, workspace: root, ...(below === undefined ? {} : { folder: below }) };
}

/** The result of `svc_index_repo`; how many files are done of how many only where it is `truncated`. */
export interface IndexResult extends RepoMembers, ShownPartial {
  /** `built`: from nothing, or all again; `refreshed`: something had changed; `hit`: nothing had. */
  status: "built" | "refreshed" | "hit";
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
