/** Rows and answers as a collection's callers get them, made of the native side's records. */
import type { ChangeRecord, PartitionInfo, RowRecord } from "../../ffi/records.ts";
import { type NativeAnswer, type NativeHits, With } from "../../ffi/ty_reader.ts";
import { isObject, shown } from "../checks/kinds.ts";
import type { FilterValue, Metadata } from "../checks/values.ts";
import { damaged } from "./failure.ts";
import { decodeKey } from "./filter.ts";

/** Optional parts of an answer's rows, in addition to ids and scores. */
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
  /**
   * Of `ask`: all rows that its rankings list, some hundreds more than `topK`, for a caller that ranks them further.
   */
  candidates?: boolean;
  /** With `candidates`: the order is final but for the caller's, so that newer notes come before those they replace. */
  newer?: boolean;
  /** Of `ask` by words or both: what each term of the text weighs. */
  weights?: boolean;
}

/** One row of an answer. */
export interface Row extends Omit<RowRecord, "meta"> {
  metadata: Metadata | undefined;
}

/** What a save did to an id. */
export interface Change extends Omit<ChangeRecord, "row" | "save"> {
  id: string;
  /** The number of the save. */
  save: number;
  /** The save; its origin is empty unless that was asked for. */
  by: ChangeRecord["save"];
  /** The row before it; undefined where the id was added, or that row is damaged. */
  before: Row | undefined;
}

/** The best rows, and how much was read for them. What is damaged of it (`trouble`), `Collection.compact` mends. */
export interface SearchAnswer extends Omit<NativeAnswer, "rows"> {
  rows: Row[];
}

/** A partition as a plan shows it. */
export interface Partition extends Omit<PartitionInfo, "key"> {
  key: FilterValue | undefined;
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
    meaningWeight: undefined,
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
    (detail.newer ? With.NEWER : 0) |
    (detail.weights ? With.WEIGHTS : 0)
  );
}
