/** What only a collection of this process takes and answers: long work that can be watched, and rows with all that they have. */
import type { Watch } from "../../ffi/ty_collection.ts";
import type { TermContribution } from "../texts/search.ts";
import type { Id, Metadata, RowOptions, SearchOptions, Where } from "./api.ts";

export type { Watch } from "../../ffi/ty_collection.ts";
export type { TermContribution } from "../texts/search.ts";
export type { IvfOptions, LexicalOptions, TuneOptions } from "../texts/upkeep.ts";

/** Rows to add to a collection of this process. `signal` stops the call with a CancelledError, and then nothing of it is there. */
export interface LocalRowOptions extends RowOptions, Watch {}

/** How to search a collection of this process. */
export interface LocalSearchOptions extends SearchOptions {
  /**
   * Above 0 and at most 1. 1 is exact; below 1 an IVF index may be used; left out: the collection's default. A lower target at a question
   * does not read less than the index was built for.
   */
  targetRecall?: number | undefined;
}

/** How to answer several questions at once. */
export interface ManySearchOptions extends LocalSearchOptions {
  /** Most threads to use, from 1 (as many as there are cores, at most 4). */
  threads?: number | undefined;
  /** Ends the call with a CancelledError. */
  signal?: AbortSignal | undefined;
}

/** How to search by a text. */
export interface TextSearchOptions extends LocalSearchOptions {
  /** Stops the embedder; the call is then a CancelledError. */
  signal?: AbortSignal | undefined;
}

/** How to search by words. */
export interface LexicalSearchOptions {
  /** Most hits to answer with (10); clamped to 1 … 100,000. */
  topK?: number | undefined;
  /** Only rows that match. */
  where?: Where | undefined;
  /** Also say what each word of the query added to each hit's score (false). */
  explain?: boolean | undefined;
  /** Also answer with each row's metadata (false). */
  withMetadata?: boolean | undefined;
  /** Also answer with each row's text (false). */
  withText?: boolean | undefined;
}

/** The best rows by words, best first; the lists run side by side. */
export interface LexicalResult {
  ids: string[];
  /** BM25 scores, above 0. */
  scores: number[];
  /** With `withMetadata`. */
  metadata?: (Metadata | null)[];
  /** With `withText`. */
  texts?: (string | null)[];
  /** With `explain`: for each hit the query's words that it holds. They add up to its score. */
  explain?: TermContribution[][];
}

/** What to read of rows. */
export interface GetOptions {
  /** (true) */
  withMetadata?: boolean | undefined;
  /** (true) */
  withText?: boolean | undefined;
  /** (false) */
  withVector?: boolean | undefined;
}

/** One row that was asked for by its id. What was not asked for or not stored is not there. */
export interface GotRow {
  id: string;
  /** Whether the id is live. */
  found: boolean;
  metadata?: Metadata;
  text?: string;
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
