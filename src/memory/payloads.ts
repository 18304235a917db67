/**
 * The result of each verb: the JSON in a tool's one text block, and what `svc mem … --json` prints.
 * Field names are the protocol's, so they are snake_case; an optional field is omitted, never null.
 */

import type { ListedCollections } from "../answers/collections.ts";
import type { SameTexts } from "../answers/duplicates.ts";
import type { CutHit, CutRowHit } from "../answers/hits.ts";
import type { CutRow } from "../answers/rows.ts";
import type { SimilarTexts } from "../answers/similar.ts";
import type { Metadata } from "../checks/values.ts";
import type { ForeignSchema } from "../formats/input/row.ts";
import type { Origin } from "../origin.ts";
import type { NodeReport } from "../replication/node/report.ts";
import type { FilesSource } from "../repo/files/tree.ts";
import type { ShownPartial } from "../repo/fingerprints/partial.ts";
import type { DryRunResult } from "../repo/indexing/dry-run.ts";
import type { IndexResult } from "../repo/indexing/options.ts";
import type { FileHit } from "../repo/show/hits.ts";
import type { Change } from "../store/collection.ts";
import type { Save, Version } from "../texts/history/history.ts";
import type { Undone } from "../texts/history/undo.ts";
import type { TermContribution } from "../texts/search.ts";
import type { CollectionCounters } from "../texts/stats.ts";
import type { Plan } from "../tune/plan.ts";
import type { WorkspaceSource } from "./repos/workspaces.ts";

export type { SameTexts } from "../answers/duplicates.ts";
export type { CollectionOverview } from "../store/overview.ts";
export type { ForgetRepoPayload, RepoEntry, ReposPayload } from "./repos/overview.ts";
export type { Metadata, TermContribution };

/** When a row was put, in milliseconds since 1970. */
interface Timed {
  /** When its id became live. */
  created?: number;
  /** When it was added or last replaced. */
  updated?: number;
}

/**
 * One result of either search, best first; its times only with `with_times`. `CutRowHit` says what of it is left out
 * where the answer is bounded.
 */
interface Hit extends CutRowHit, Timed {
  /** The day of `updated` in this machine's time zone, ISO 8601; where the caller wants days (`svc mcp --with-text`). */
  date?: string | undefined;
  /** Only where the row was stored with metadata. */
  metadata?: Metadata | undefined;
  /** Only in `svc_search_lexical`, with `explain`. */
  explain?: TermContribution[] | undefined;
}

/** What a hit's score was made of: its score in each ranking that lists it. */
export interface ScoreParts {
  vector?: number;
  words?: number;
  meaning?: number;
  /** The weight of the ranking by meaning; absent where the answer was made without it. */
  meaning_weight?: number;
}

/** A hit of a search by meaning and words. */
export interface SearchHit extends Hit {
  /** Only in a search of all collections: the one that has the row. */
  collection?: string;
  /** Not in the tool's answer: `svc mem search --explain --json` has it. */
  scores?: ScoreParts | undefined;
  /** Only with `with_text`: it has little of the query, and comes without its text unless the server shows pieces of texts. */
  weak?: true;
  /** Only with `with_score`. */
  score?: number | undefined;
}

/** A hit of a lexical search, always with its score. */
export interface LexicalHit extends Hit {
  score: number;
}

/** An answer that may have had no room for everything. */
interface Paged {
  /** Where some were left out: to be passed as `after`. */
  next?: string;
}

/** What an answer to a query says beside its hits. */
interface Noticed extends Paged {
  /** `query` is the beginning of a longer one: 2 KiB are repeated. */
  query_truncated?: true;
  /**
   * Which words of the query were searched as which, that none of them is known, how many texts can be found by meaning
   * so far or why none can, that the query has no words, so there are no hits, that the query is longer than 64 KiB (the hits are those of its beginning), or what of the files is
   * damaged and what that means for the answer; of a memory whose log is in a database, since when that does not answer; of a repository, that there is nothing to search, that its index was
   * damaged and made again, why its rows have no text, or which directory that the client named was passed over.
   */
  notice?: string | undefined;
}

export interface SearchPayload extends Noticed {
  collection: string;
  query: string;
  /** Not in the tool's answer: words of the query that were replaced, and by which. `svc ui` marks both. */
  substitutes?: { word: string; partners: string[] }[];
  hits: SearchHit[];
}

export interface LexicalSearchPayload extends Noticed {
  collection: string;
  query: string;
  hits: LexicalHit[];
}

/**
 * The generated ids, in the order of the texts; only where the caller passed none. For a text that was skipped,
 * the id of the row that has it.
 */
interface MadeIds {
  ids?: string[];
  /** Ids that the answer had no room for: the last ones. */
  ids_omitted?: number;
}

/** What became of credentials in texts. */
export interface Masked {
  /** How many were replaced by `[KIND removed]`, in texts and metadata; only where some were. */
  masked?: number;
}

/** What became of rows that a call replaces by its first text. */
export interface Superseded {
  /** How many older rows were marked as replaced; only with `supersedes`. */
  superseded?: number;
}

/** What the caller has to know about rows that were stored. */
export interface StoredNotice {
  /**
   * Sentences about what was stored: rows that lost their metadata (`svc_upsert` only), texts with credentials and how the
   * user removes them, and what to do about the rows in `similar`.
   */
  notice?: string;
}

export interface AddPayload extends MadeIds, SameTexts, SimilarTexts, Masked, Superseded, StoredNotice {
  /** Number of rows. */
  added: number;
  collection: string;
}

export interface CreateCollectionPayload {
  /** Name of the collection. */
  created: string;
  dim: number;
  partition_by: string;
}

/** The collections, and what is in them. */
export interface ListCollectionsPayload extends ListedCollections {}

/** A memory whose log is in a database, for `svc mem list`. */
export interface ReplicationPayload {
  /** Of each collection: the generation of the copy here, and how many it is behind the database. */
  collections: NodeReport["collections"];
  /** The id of this node. */
  node: string;
  /** The ids of the nodes that are connected now, this one included; absent where the database does not answer. */
  nodes?: string[] | undefined;
}

export interface StatsPayload {
  collection: string;
  stats: CollectionCounters;
}

export interface UpsertPayload extends MadeIds, SameTexts, SimilarTexts, Masked, Superseded, StoredNotice {
  /** Number of rows that are live now: an id that occurs twice in one call counts once. */
  upserted: number;
  collection: string;
}

export interface UpdatePayload extends SimilarTexts, Masked, StoredNotice {
  updated: number;
  collection: string;
}

export interface DeletePayload {
  /** Number of rows that were live before. */
  deleted: number;
  collection: string;
}

/** What an undo did, or with `dry_run` would do. */
export interface UndoPayload extends Undone {
  collection: string;
  /** Rows that are as they were before. */
  undone: number;
  dry_run?: true;
}

/** What a compaction from the terminal did. */
export interface CompactedPayload {
  /** The collection's name. */
  compacted: string;
  /** Deleted and replaced rows that are gone for good. */
  rows_dropped: number;
  /** Saves that were removed from the history. */
  saves_dropped: number;
  bytes_freed: number;
}

/** What was removed for good. */
export interface PurgePayload {
  /** Ids. */
  purged: number;
  collection: string;
  /** Rows that were live. */
  deleted: number;
  /** Changes of these ids that the history had. */
  versions: number;
}

/** A save of the history. Times are in milliseconds since 1970. */
export interface SavePayload extends Pick<Save, "save" | "time" | "added" | "replaced" | "deleted"> {
  origin: Origin;
  /** The save that undid it. */
  undone_by?: number;
}

/** What a save did to an id. */
export interface ChangePayload {
  id: string;
  kind: Change["kind"];
}

/** A row as it was after a save. */
export interface VersionPayload {
  save: SavePayload;
  /** "before": the row before the first save that the history has of it. */
  kind: Version["kind"];
  /** Not there where the save deleted the row, or that version is damaged. */
  row?: { text?: string; metadata?: Metadata; created: number; updated: number };
}

/** The latest saves; or one save and its changes; or the versions of a row. The latest first. */
export interface HistoryPayload {
  collection: string;
  saves?: SavePayload[];
  save?: SavePayload;
  changes?: ChangePayload[];
  id?: string;
  versions?: VersionPayload[];
  /** There are older ones. */
  more?: true;
}

export interface IdsPayload extends Paged {
  collection: string;
  ids: string[];
}

export interface CountPayload {
  collection: string;
  count: number;
}

/** A row; the times are those of one that was found. `CutRow` says what is left out where the answer is bounded. */
export interface GetRow extends CutRow, Timed {}

export interface GetPayload extends Paged {
  collection: string;
  /**
   * Why rows of a repository have no text: its folder is missing, or nothing says where it is; of a memory whose log is
   * in a database, since when that does not answer.
   */
  notice?: string;
  /** In the order of the requested ids. */
  rows: GetRow[];
}

export interface CompactPayload {
  /** Name of the collection. */
  compacted: string;
}

export interface BuildIvfPayload {
  /** Name of the collection. */
  ivf_built: string;
  min_rows: number;
  target_recall: number;
  /** Partitions that have an index now, old or new. */
  partitions: number;
  /** Rows of the largest partition: with fewer than `min_rows`, or none, nothing was built. */
  largest_partition: number;
}

export interface BuildLexicalPayload {
  /** Name of the collection. */
  lexical_built: string;
  k1: number;
  b: number;
}

export interface TunePayload {
  collection: string;
  plan: Plan;
}

/** The result of indexing a directory. */
export interface IndexRepoPayload extends IndexResult {
  /** Which directories that the client named were passed over, and why. */
  notice?: string;
}

/** What indexing would do, with `dry_run`. */
export interface DryRunPayload extends DryRunResult {
  notice?: string;
}

/** A file of a repository, or one of its windows, as `svc_repo_search` shows it. */
export interface RepoHit extends CutHit, Timed {
  metadata?: FileHit["metadata"] | undefined;
  unreadable?: FileHit["unreadable"];
}

export interface RepoSearchPayload extends Noticed, ShownPartial {
  collection: string;
  query: string;
  /** The repository's root: the paths of hits are relative to it. */
  workspace: string;
  /** Where only a folder of the repository is searched: that folder, relative to its root. */
  folder?: string | undefined;
  index_status: IndexResult["status"];
  /** The time limit ended indexing early: the hits are of the files indexed so far, `files_done` of `files_found`. */
  partial: boolean;
  hits: RepoHit[];
  /** Files that were ranked after those of the hits. */
  more?: number;
}

export interface WorkspaceInfoPayload extends ShownPartial {
  /** The repository's root. Null where nothing names one and the working directory lies in none to be indexed. */
  workspace: string | null;
  /** Where only a folder of the repository is searched: that folder, relative to its root. */
  folder?: string;
  repo_id: string | null;
  collection: string;
  /** Text files that are indexed, of the folder where there is one. */
  files_tracked: number;
  /** A limit ended the last run early: `files_done` of `files_found` files of the repository are indexed. */
  partial?: true;
  /** Where the list of its files comes from, once this process has looked. */
  files_source?: FilesSource;
  persistent_index: boolean;
  /** What named it; null where there is none. */
  source: WorkspaceSource | null;
  /** What it is, and why what comes before it does not apply. */
  reason: string;
}

/** What each verb answers. */
export interface Payloads {
  search: SearchPayload;
  add: AddPayload;
  create_collection: CreateCollectionPayload;
  list_collections: ListCollectionsPayload;
  stats: StatsPayload;
  upsert: UpsertPayload;
  update: UpdatePayload;
  delete: DeletePayload;
  ids: IdsPayload;
  count: CountPayload;
  get: GetPayload;
  search_lexical: LexicalSearchPayload;
  compact: CompactPayload;
  build_ivf: BuildIvfPayload;
  build_lexical: BuildLexicalPayload;
  tune: TunePayload;
  index_repo: IndexRepoPayload | DryRunPayload;
  repo_search: RepoSearchPayload;
  workspace_info: WorkspaceInfoPayload;
}

/** What a collection has after its texts were given vectors of meaning; a terminal's verb. */
export interface BuildMeaningPayload {
  /** Name of the collection. */
  meaning_built: string;
  /** Live rows with texts. */
  texts: number;
  /** Of these, rows that have a vector of meaning. */
  with_meaning: number;
  /** Of these, rows that this call gave one. */
  added: number;
}

/** What an export says of its collection; a terminal's verb. */
export interface ExportHeadPayload {
  collection: string;
  /** Everything that is fixed when a collection is made; `filter_columns` without the partition key. */
  schema: Required<Omit<ForeignSchema, "description">> & Pick<ForeignSchema, "description">;
  /** Live rows. */
  rows: number;
  /** Generation of the last save, with which the rows change. */
  generation: number;
}

/** Rows of an export; a terminal's verb. */
export interface ExportRowsPayload {
  rows: (Timed & {
    id: string;
    metadata?: Metadata | undefined;
    text?: string | undefined;
    vector?: Float32Array;
    /** As `Collection.meaningOf` returns it; absent where the row has none. */
    meaning?: Uint8Array;
  })[];
  /** As of `GetPayload`. */
  notice?: string;
}

/** The result of an import: numbers of rows. */
export interface ImportedPayload {
  inserted: number;
  replaced: number;
  /** Rows that were there already, as they are given. */
  unchanged: number;
  /** Rows whose text was embedded although they have a vector: it is one of another embedder, or not known whose. */
  embedded_again: number;
  /** Rows that were left out. */
  bad: number;
  /** Duplicates that were left out, where there are any. */
  skipped?: number;
  /** Credentials that were masked, where there are any. */
  masked?: number;
}
