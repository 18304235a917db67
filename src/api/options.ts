/**
 * Options and results that only a collection of this process has: cancellation, progress, texts and vectors of rows.
 */
import type { Watch } from "../../ffi/ty_collection.ts";
import type { TermContribution } from "../texts/search.ts";
import type { Tuner } from "../tune/context.ts";
import type {
  AtLeast,
  HitOptions,
  Id,
  Metadata,
  ReadOptions,
  ReadRow,
  RowOptions,
  SearchOptions,
  SearchResult,
} from "./api.ts";

export type { Watch } from "../../ffi/ty_collection.ts";
export type { TermContribution } from "../texts/search.ts";

/** Rows to add in this process. Aborting `signal` ends the call with a CancelledError and without effect. */
export interface LocalRowOptions extends RowOptions, Watch {}

/** How to search a collection of this process. */
export interface LocalSearchOptions extends SearchOptions {
  /**
   * Above 0 and at most 1. 1 is exact; below 1 an IVF index may be used; left out: the collection's default. A target
   * below the one that the index was built for reads no less.
   */
  targetRecall?: number | undefined;
  /** Also return when each row was created and updated (false). */
  withTimes?: boolean | undefined;
}

/** When rows were put, in milliseconds since 1970, in the order of `ids`; with `withTimes`. */
interface ResultTimes {
  /** When the id became live: an upsert or update keeps it. */
  created?: number[];
  /** When the row was added or last replaced. */
  updated?: number[];
}

/** A result of a collection of this process. */
export interface LocalSearchResult extends SearchResult, ResultTimes {}

/** Which ids to list. A time is milliseconds since 1970 or a string of ISO 8601. */
export interface ListOptions extends AtLeast {
  /** Only rows updated at this time or later. */
  since?: number | string | undefined;
  /** Only rows updated before this time. */
  until?: number | string | undefined;
  /** Only so many rows, the last updated first; for equal times the row inserted last comes first. */
  newest?: number | undefined;
}

/** How to search by several vectors at once. */
export interface ManySearchOptions extends LocalSearchOptions {
  /** Most threads to use, from 1 (as many as there are cores, at most 4). */
  threads?: number | undefined;
  /** Ends the call with a CancelledError. */
  signal?: AbortSignal | undefined;
}

/** How to search by a text. `signal` stops the embedder and ends the call with a CancelledError. */
export interface TextSearchOptions extends LocalSearchOptions {
  signal?: AbortSignal | undefined;
  /** Prefer newer rows. */
  recency?: RecencyOptions | undefined;
}

/** How to search a collection of this process for hits. */
export interface LocalHitOptions extends HitOptions, Pick<TextSearchOptions, "targetRecall" | "recency" | "signal"> {}

/**
 * Adds `weight` × 2^(-age / half-life) to the score of each candidate, which else is a number of deviations from the
 * mean. A row without a time gets the median of what the others get; none is left out.
 */
export interface RecencyOptions {
  /** A field of the metadata with milliseconds since 1970 or ISO 8601; or "updated" or "created", the row's own times. */
  field: string;
  /** Above 0. */
  halfLifeDays: number;
  /** Above 0, at most 0.3. */
  weight: number;
  /** The time that ages are counted to; left out: the newest among the candidates. Later rows have age 0. */
  now?: number | string | undefined;
}

/** How to search by words. `explain` also returns what each term of the query added to each hit's score. */
export interface LexicalSearchOptions extends SearchOptions {
  /** Also return each row's text (false). */
  withText?: boolean | undefined;
  /** Also return when each row was created and updated (false). */
  withTimes?: boolean | undefined;
}

/** The best rows of the lexical ranking, best first; the lists run side by side. */
export interface LexicalResult extends ResultTimes {
  ids: string[];
  /** BM25 scores, above 0. */
  scores: number[];
  /** With `withMetadata`. */
  metadata?: (Metadata | null)[];
  /** With `withText`. */
  texts?: (string | null)[];
  /** With `explain`: for each hit, its query terms. Their scores add up to its score. */
  explain?: TermContribution[][];
  /** As in `SearchResult`. */
  notice?: string;
}

/** How a copy of a collection is made. */
export interface CopyOptions extends Watch {
  /**
   * Copy every byte (false). Otherwise the copy shares files that never change with the original, where both are on one
   * file system: it takes no time and no room, and is lost with that disk.
   */
  copy?: boolean | undefined;
}

/** What to read of rows of this process. */
export interface GetOptions extends ReadOptions {
  /** (false) */
  withVector?: boolean | undefined;
}

/** One row by its id, with its vector where that was requested. */
export interface GotRow extends ReadRow {
  /** `dim` numbers, as stored. */
  vector?: Float32Array;
}

/** New texts for rows that exist. */
export interface UpdateOptions extends Watch {
  /** One live id a text. */
  ids: readonly Id[];
  /** One object a text replaces the row's metadata; null or left out, the stored metadata stays. */
  metadata?: RowOptions["metadata"];
}

/** Options of an approximate index. */
export interface IvfOptions extends Watch {
  /** Partitions with fewer rows stay exact; a whole number from 0 (20,000). */
  minRows?: number | undefined;
  /**
   * Recall floor that the index is calibrated to, on held-out rows, above 0 and at most 1 (0.98). It holds for queries
   * that are like the rows. It becomes the collection's default.
   */
  targetRecall?: number | undefined;
}

/** Options of the lexical index, which has the defaults until it is built. */
export interface LexicalOptions extends Watch {
  /** Term saturation of BM25, from 0 (1.2). */
  k1?: number | undefined;
  /** Length normalisation of BM25, 0 to 1 (0.6). */
  b?: number | undefined;
}

/** Options of tuning. */
export interface TuneOptions extends Watch {
  /** The tuner (`LatencyBudgetTuner`). */
  tuner?: Tuner | undefined;
  /** true: plan only; false: always apply; omitted: apply where it changes how searches run. */
  dryRun?: boolean | undefined;
}
