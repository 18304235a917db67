/** Rows and answers as a collection's callers get them, made of the native side's records. */
import type { PartitionInfo, Replacement, RowRecord, RowTimes, TermShare, TermWeight } from "../../ffi/records.ts";
import { type NativeHits, With } from "../../ffi/ty_reader.ts";
import { isObject, shown } from "../checks/kinds.ts";
import type { FilterValue, Metadata } from "../checks/values.ts";
import { damaged } from "./failure.ts";
import { decodeKey } from "./filter.ts";

/** Optional parts of an answer's rows, besides ids and scores. */
export interface Detail {
  metadata?: boolean;
  text?: boolean;
  vector?: boolean;
  /** The share of each term in a score by words. */
  explain?: boolean;
  /** The score in each ranking. */
  scores?: boolean;
  /** When the row was put. */
  times?: boolean;
  /** Of `ask`: all rows that its rankings list, some hundreds more than `topK`, for a caller that ranks them further. */
  candidates?: boolean;
  /** Of `ask` by words or both: what each term of the text weighs. */
  weights?: boolean;
}

/** One row of an answer. */
export interface Row {
  id: string;
  found: boolean;
  /**
   * Order of insertion, also of equal scores; a replacement has the replaced row's. Compaction keeps the order, not the
   * numbers.
   */
  birth: number;
  score: number;
  metadata: Metadata | undefined;
  text: string | undefined;
  vector: Float32Array | undefined;
  terms: TermShare[] | undefined;
  /** Scores by vector and by words; NaN where that ranking did not list the row. */
  scores: { vector: number; words: number } | undefined;
  times: RowTimes | undefined;
}

/** The best rows, and how much was read for them. */
export interface SearchAnswer {
  rows: Row[];
  /** Whether both rankings were made. */
  fused: boolean;
  /** What is damaged of what the answer would have been made of: `Trouble`, added up. `Collection.compact` mends it. */
  trouble: number;
  /** Distinct terms of a query's text, and how many were searched for; both 0 where the rows are not ranked by words. */
  words: number;
  known: number;
  /** Words that were searched for in place of words that the rows lack. */
  replaced: Replacement[];
  /** What each distinct term of the text weighs, where asked for and ranked by words; else empty. */
  weights: TermWeight[];
  screenedRows: number;
  scoredRows: number;
  probedLists: number;
}

/** A partition as a plan shows it. */
export interface Partition {
  key: FilterValue | undefined;
  rows: number;
  nlist: number;
  nprobe: number;
  /** Mean squared distance of rows to their lists' centroids, relative to when those were made; 0 without an index. */
  drift: number;
}

/** Field by field: with a spread, a query for ten rows takes 4 us more. @throws OSError for damaged metadata */
export function toRow(record: RowRecord, name: string): Row {
  const { id, found, birth, score, meta, text, vector, terms, scores, times } = record;
  const metadata = meta === undefined ? undefined : readMetadata(meta, id, name);
  return { id, found, birth, score, metadata, text, vector, terms, scores, times };
}

/** A base's bytes are not checked when it is opened: damage fails here. */
function readMetadata(json: string, id: string, name: string): Metadata {
  try {
    const value: unknown = JSON.parse(json);
    if (isObject(value)) return value;
  } catch {
    // The message below names the row, which the parser cannot.
  }
  throw damaged(name, `the metadata of row ${shown(id)} is not a JSON object`);
}

/** A partition with its decoded key. */
export function toPartition({ key, ...figures }: PartitionInfo): Partition {
  return { key: decodeKey(key), ...figures };
}

/** The answer to each query of collection `name`; how much was read is known in sum only, and given as a mean. */
export function toAnswers(
  { rows, counts, screenedRows, scoredRows, probedLists, trouble }: NativeHits & { counts: number[] },
  name: string,
): SearchAnswer[] {
  const all = rows.map((row) => toRow(row, name));
  const n = counts.length;
  let end = 0;
  const ends = counts.map((count) => (end += count));
  return counts.map((count, i) => ({
    rows: all.slice(ends[i]! - count, ends[i]),
    fused: false,
    trouble,
    words: 0,
    known: 0,
    replaced: [],
    weights: [],
    screenedRows: Math.round(screenedRows / n),
    scoredRows: Math.round(scoredRows / n),
    probedLists: Math.round(probedLists / n),
  }));
}

/** The flags `With` of a detail. */
export function toWhat(detail: Detail): number {
  return (
    (detail.metadata ? With.META : 0) |
    (detail.text ? With.TEXT : 0) |
    (detail.vector ? With.VECTOR : 0) |
    (detail.explain ? With.EXPLAIN : 0) |
    (detail.scores ? With.SCORES : 0) |
    (detail.times ? With.TIMES : 0) |
    (detail.candidates ? With.ALL : 0) |
    (detail.weights ? With.WEIGHTS : 0)
  );
}
