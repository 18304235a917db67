/**
 * The interface of a collection. `LocalCollection` in this process and `RemoteCollection` behind a socket both satisfy
 * it, and one shared contract test runs against both.
 */
import type { Id } from "../checks/ids.ts";
import type { Metadata, Where } from "../checks/values.ts";

export type { Id } from "../checks/ids.ts";
export type { FilterValue, Metadata, Where } from "../checks/values.ts";

/** One vector: `dim` finite numbers, stored with the collection's element type (single precision by default). */
export type Vector = Float32Array | readonly number[];

/** Vectors: a row-major matrix in one `Float32Array` (its length a multiple of `dim`), or one vector a row. */
export type Vectors = Float32Array | readonly Vector[];

/** What goes with the rows of a call: lists with one entry a row. */
export interface RowOptions {
  /** 1 to 512 bytes of UTF-8; an integer stands for its decimal string; left out, each row gets a UUIDv7. */
  ids?: readonly Id[] | undefined;
  /** At most 64 KiB as JSON each; without the partition key, the row belongs to the partition `"default"`. */
  metadata?: readonly (Metadata | null | undefined)[] | undefined;
}

/** Which state to read. */
export interface AtLeast {
  /**
   * Wait until this process, or the server, has at least this generation of the collection, for 10 seconds at most: one
   * that `save` returned, here or on another machine. TimeoutError `behind` where it does not come.
   */
  atLeast?: number | undefined;
}

/** How to search. */
export interface SearchOptions extends AtLeast {
  /** Most hits to return (10); clamped to 1 … 100,000. */
  topK?: number | undefined;
  /** Only rows that match. */
  where?: Where | undefined;
  /** Also return how the result was found. */
  explain?: boolean | undefined;
  /** Also return each row's metadata. */
  withMetadata?: boolean | undefined;
}

/** How a result was found. Field names are the wire's. */
export interface Explanation {
  /** `exact`: every row was considered. `ivf`: an approximate index was used. `fused`: with the lexical ranking. */
  mode: "exact" | "ivf" | "fused";
  /** Rows whose codes were screened. */
  screened_rows: number;
  /** Rows scored in full. */
  scored_rows: number;
  /** Inverted lists that were read; 0 for an exact search. */
  probed_lists: number;
  /** Fused only: each hit's dense score; null where that ranking does not have it. */
  dense_scores?: (number | null)[];
  /** Fused only: each hit's lexical score. */
  lexical_scores?: (number | null)[];
  /** Where the rows are ranked by meaning as well: each hit's cosine with the query, and the weight of that ranking. */
  meaning_scores?: (number | null)[];
  meaning_weight?: number;
  /** With `recency`, which only a collection of this process has: what it added to each hit's score. */
  recency_shares?: number[];
  /** Words of the text that the rows searched lack, with those that were searched for in their place. */
  replaced?: { word: string; searched_as: string[] }[];
}

/** The best rows, best first; the lists run side by side. */
export interface SearchResult {
  ids: string[];
  /** Inner products, cosines or negative squared distances, by the metric, or fused scores: larger is better. */
  scores: number[];
  /** With `withMetadata`. */
  metadata?: (Metadata | null)[];
  /** With `explain`. */
  explain?: Explanation;
  /**
   * What there is to know of how a query was answered: what of the files is damaged and what that means for this answer,
   * with the command that mends it; of a text, which of its words were searched as which, that the rows searched have
   * none of them and which of them other rows have, or that only its first 64 KiB were searched for; of a memory whose
   * log is in a database, since when that does not answer.
   */
  notice?: string;
}

/** What to read of rows. */
export interface ReadOptions extends AtLeast {
  /** (true) */
  withMetadata?: boolean | undefined;
  /** (true) */
  withText?: boolean | undefined;
  /** (false) */
  withTimes?: boolean | undefined;
}

/** One row by its id. What was not requested or not stored is absent. */
export interface ReadRow {
  id: string;
  /** Whether the id is live. */
  found: boolean;
  metadata?: Metadata;
  /** Also absent where a repository's index has the row: its text is in the file that the metadata names. */
  text?: string;
  /** When the id became live and when the row was last put, in milliseconds since 1970. */
  created?: number;
  updated?: number;
}

/** How to search for hits. */
export interface HitOptions extends AtLeast {
  /** Most hits to return (10); clamped to 1 … 100,000. */
  topK?: number | undefined;
  /** Only rows that match. */
  where?: Where | undefined;
  /** (true) */
  withText?: boolean | undefined;
  /** (true) */
  withMetadata?: boolean | undefined;
  /**
   * Most bytes of each text, counted as JSON without the quotes, from 1: a longer text is cut to the passage that fits
   * the query best. Left out: whole texts.
   */
  textBytes?: number | undefined;
}

/** A row that a search by text has found. What was not requested or not stored is absent. */
export interface Hit {
  id: string;
  /** The score that `searchText` gives it. */
  score: number;
  metadata?: Metadata;
  text?: string;
  /** The text is a passage. */
  truncated?: true;
  /** Where the passage begins, in bytes of the text's UTF-8. */
  start?: number;
  /** When the id became live and when the row was last put, in milliseconds since 1970. */
  created: number;
  updated: number;
  /** The day of `updated` in UTC: "2026-03-31". */
  date: string;
}

/** The best rows for a text, best first. */
export interface HitsResult {
  hits: Hit[];
  /** As in {@link SearchResult}; also why rows of a repository's index have no text. */
  notice?: string;
}

/** Properties of a new collection. */
export interface CreateOptions {
  /** Numbers in a vector, 1 to 65,536. Beside an embedder only a hint, any number; `stats` has the real one. */
  dim?: number | undefined;
  /** The metadata key that rows are grouped by ("scope"), or a list of that one; it can always be filtered by. */
  partitionBy?: string | readonly string[] | undefined;
  /** Further metadata keys that can be filtered by. */
  filterColumns?: readonly string[] | undefined;
  /**
   * Stored element type: "f32" (the default), "f16", "int8" or "int4". Searches are exact over the stored numbers, and
   * those are returned. "f16" takes numbers up to 65,504 and "int4" up to 1.26e30 (ValueError beyond). The sixteen
   * levels of an "int4" row need not hold zero: [70000, 1, 0, 0] comes back as [70000, 0.33, 0.33, 0.33].
   */
  dtype?: string | undefined;
  /**
   * "inner_product" (the default), "cosine" or "l2"; an embedder brings its own. Rows of a cosine collection are scaled
   * to unit length when they are put, and are returned so; a zero vector stays one and scores 0.
   */
  metric?: string | undefined;
  /** Name of the embedder that turns texts into vectors: "multigram", "bigram", or one that was registered. */
  embedder?: string | undefined;
}

/** Properties and counters of a collection; more fields may be there. Field names are the wire's. */
export interface CollectionStats {
  name: string;
  /** The partition key. */
  key_name: string;
  /** Live rows. */
  external_ids: number;
  dim: number;
  dtype: string;
  metric: string;
  filter_columns: readonly string[];
  /** Number of the last save; 0 before the first. */
  generation: number;
  /** True between a change and the `save` that makes it durable. */
  unsaved_changes: boolean;
  unsaved_rows: number;
  /** Failed saves of unsaved changes since the process or server began; each dropped the changes. */
  lost_saves: number;
  [further: string]: unknown;
}

/**
 * A collection. Changes are in memory until `save`; queries see them at once.
 *
 * Failures are the classes of `errors.ts`: ValueError (a value outside its domain, a collection that does not exist),
 * TypeError, KeyError (an id that exists), TimeoutError (another process holds the writer's lock), OSError,
 * RuntimeError.
 */
export interface CollectionApi {
  readonly name: string;
  /** Adds rows under new ids, all or nothing; resolves to the ids. @throws KeyError for a live or repeated id */
  add(vectors: Vectors, options?: RowOptions): Promise<string[]>;
  /** Adds or replaces rows by id, all or nothing; of a repeated id the last row wins. */
  upsert(vectors: Vectors, options?: RowOptions): Promise<string[]>;
  /** Embeds texts with the collection's embedder and adds them. @throws ValueError where it has none */
  addTexts(texts: readonly string[], options?: RowOptions): Promise<string[]>;
  /** Embeds texts and adds or replaces them by id. */
  upsertTexts(texts: readonly string[], options?: RowOptions): Promise<string[]>;
  /**
   * The rows nearest to `vector` (`dim` numbers, or a matrix of one row) by the collection's metric. In this process a
   * short search resolves as a microtask: a long loop of awaited searches runs no timer until it ends or yields.
   */
  search(vector: Vector | readonly [Vector], options?: SearchOptions): Promise<SearchResult>;
  /** The rows nearest to a text, by the collection's embedder. */
  searchText(text: string, options?: SearchOptions): Promise<SearchResult>;
  /** As `searchText`, with the rows' texts and dates. */
  searchHits(text: string, options?: HitOptions): Promise<HitsResult>;
  /** Rows in the order of `ids`; `found` is false for an id that is not live. */
  get(ids: readonly Id[], options?: ReadOptions): Promise<ReadRow[]>;
  /** Ids of the live rows in the order they were first added. */
  ids(where?: Where, options?: AtLeast): Promise<string[]>;
  /** Deletes rows; resolves to how many were live. Unknown ids are passed over. */
  delete(ids: readonly Id[]): Promise<number>;
  /** Drops the space of deleted and replaced rows. Saves first. */
  compact(): Promise<void>;
  /**
   * Makes every change so far durable; resolves to a generation that has them, for `atLeast`.
   * @throws OSError; the collection is then as last saved
   */
  save(): Promise<number>;
  stats(): Promise<CollectionStats>;
}

/** A memory directory's collections, here or behind a socket. `await using` closes it. */
export interface StoreApi<C extends CollectionApi = CollectionApi> extends AsyncDisposable {
  /** A new collection, in memory until `save`; the existing one where all agrees. @throws ValueError otherwise */
  createCollection(name: string, options: CreateOptions): Promise<C>;
  /** A collection that exists. @throws ValueError where it does not */
  openCollection(name: string): Promise<C>;
  /** Names of the saved collections, sorted. */
  collections(): Promise<string[]>;
  close(): Promise<void>;
}
