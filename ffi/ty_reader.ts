/** Queries of an open collection of libty_runtime: a method per native call. Arguments are taken as checked. */
import type { ModelCode } from "./ame_kernel.ts";
import { type PackedStrings, packLists, packStrings } from "./packing.ts";
import {
  type ChangeRecord,
  type Damage,
  decodeAnswer,
  decodeChanges,
  decodeDamages,
  decodePartitions,
  decodeRecords,
  decodeSaves,
  type PartitionInfo,
  type Replacement,
  type RowRecord,
  type SaveRecord,
  type TermWeight,
} from "./records.ts";
import { type FieldOf, STAT_NAMES, type Struct, struct } from "./structs.ts";
import { NativeHandle, type Watch } from "./ty_handle.ts";
import { Op } from "./ty_symbols.ts";

export { With } from "./records.ts";

/** The rankings of a query; BOTH: fused where there is a lexical index that can be read, else VECTOR. */
export const By = { VECTOR: 1, WORDS: 2, BOTH: 3 } as const;

const encoder = new TextEncoder();
/** Most hits take less, in answers to many queries: one that does not fit repeats the whole search. */
const RECORD_BYTES = 160;
const MANY_BYTES_MAX = 64 * 1024 * 1024;

/** What of the files is damaged that an answer would have been made of, by bits: `TY_TROUBLE_*`. */
export const Trouble = { WORDS: 1, IVF: 2, CODES: 4, ROWS: 8, FILTER: 16 } as const;

/** A condition on one filter column: equality with an encoded value. */
export interface NativeFilter {
  column: number;
  key: Uint8Array;
}

/** What all queries have. */
interface QueryParts {
  topK: number;
  filter: NativeFilter | undefined;
  /** 1 is exact, below 1 an IVF index may answer, 0 stands for the collection's default. */
  targetRecall: number;
  /** `With`, added up. */
  what: number;
  /** By the statistics of the live rows (weights.h). */
  weighted: boolean;
}

/** One query; see `ty_ask_args`. */
export interface NativeQuestion extends QueryParts {
  by: (typeof By)[keyof typeof By];
  /** Absent: `model` embeds the text. */
  vector?: Float32Array | undefined;
  text?: string | undefined;
  model?: ModelCode | undefined;
  /** Rows whose value in the column is `key`, or begins with it and a slash. */
  under: NativeFilter | undefined;
  /** Weight of the ranking by vector in a fused one, 0 to 1. */
  denseWeight: number;
  /** Ranked by as well, with so many times their weight; by words or both only. Without NUL inside. */
  labels?: readonly string[] | undefined;
  labelShare: number;
  /** Rank by meaning as well. */
  meaning: boolean;
}

/** Several queries by vector, row-major in `queries`. */
export interface NativeQuestions extends QueryParts {
  queries: Float32Array;
  count: number;
  /** 0: one per core, at most 4. */
  threads: number;
}

/** Which rows to list; see `ty_ids_args`. */
export interface NativeListing {
  filter: NativeFilter | undefined;
  /** Go on after this id. */
  after?: string | undefined;
  limit?: number | undefined;
  /** Only rows updated from `since` on and before `until`, in whole milliseconds since 1970. */
  since?: number | undefined;
  until?: number | undefined;
  /** So many rows, the last updated first; without `after`. */
  newest?: number | undefined;
  /** Only rows whose metadata, as they are stored, hold one of these texts, none of them empty. */
  having?: readonly string[] | undefined;
}

/** Which changes to list, by their indices: those from `from` to `to` - 1; see `ty_changes_args`. */
export interface NativeChanges {
  from: number;
  to: number;
  limit?: number | undefined;
  /** Only those of this id. */
  id?: string | undefined;
  /** With the origins of their saves. */
  origins?: boolean | undefined;
}

/** Which saves to list; see `ty_saves_args`. */
export interface NativeSaves {
  /** Only those with lower numbers. */
  before?: number | undefined;
  /** Only those that undo others. */
  undos?: boolean | undefined;
  limit?: number | undefined;
}

export type NativeStats = Record<(typeof STAT_NAMES)[number], number> & { lexical_k1: number; lexical_b: number };

/** An answer's records, and how much was read for them. */
export interface NativeHits {
  rows: RowRecord[];
  screenedRows: number;
  scoredRows: number;
  probedLists: number;
  /** `Trouble`, added up. */
  trouble: number;
}

/** The same of one query. */
export interface NativeAnswer extends NativeHits {
  /** Whether both rankings were made. */
  fused: boolean;
  /** Distinct terms of the text, and how many were searched for; both 0 where the rows are not ranked by words. */
  words: number;
  known: number;
  /** Words that were searched for in place of words that the rows lack. */
  replaced: Replacement[];
  /** Of each distinct term of the text, with `With.WEIGHTS` where the rows are ranked by words. */
  weights: TermWeight[];
  /** The weight of the ranking by meaning in the scores; undefined where there was none. */
  meaningWeight: number | undefined;
}

/** The passage of a text that a question is about, in bytes of its UTF-8: see `ty_passage_place`. */
export interface PassagePlace {
  from: number;
  /** Where its best sentence begins, and where the heaviest word of that stands. */
  best: number;
  word: number;
  /** 0: the text has none of the question's words. */
  to: number;
  /** How much of the question the text's words are, 0 to 1. */
  questionShare: number;
}

/** The reading half of an open collection. */
export class NativeReader extends NativeHandle {
  /**
   * The `topK` best rows, of one saved state; a promise only where a worker has to find them.
   * @param embedMost at most so many bytes of the text are embedded
   * @param inlineBytes a query that will read more bytes of codes (cost.h) runs on a worker, off the event loop
   */
  ask(question: NativeQuestion, embedMost: number, inlineBytes: number): NativeAnswer | Promise<NativeAnswer> {
    const { filter, what } = question;
    const args = askArguments(question, embedMost);
    if (filter) args.integer("column", filter.column);
    const decode = (answer: Uint8Array) => toAnswer(args, what, answer);
    const answer = this.answerUnlessLarge("ty_ask", args.integer("most_bytes", inlineBytes));
    // Decoded before anything else can run: the next call reuses the scratch buffer.
    if (answer !== undefined) return decode(answer);
    return this.answerOff(Op.ASK, args.integer("most_bytes", 0), 0, undefined, decode);
  }

  /** The fused scores of rows by their scores in both rankings; see `ty_fuse_args`. */
  fuse(vector: Float64Array, words: Float64Array, priors: Float64Array, denseWeight: number): Float64Array {
    const out = new Float64Array(vector.length);
    const args = struct("ty_fuse_args").integer("n", out.length).pointer("vector", vector).pointer("words", words);
    args.pointer("priors", priors).double("dense_weight", denseWeight).pointer("out", out);
    this.check(this.c.ty_fuse_scores(args.u32, this.error));
    args.release();
    return out;
  }

  /** The passage of each text that the question is about. */
  passages(text: string, filter: NativeFilter | undefined, texts: PackedStrings): PassagePlace[] {
    const places = new Float64Array(texts.ends.length * PLACE_WORDS);
    const args = passagesArguments(text, filter?.key, texts, places);
    if (filter) args.integer("column", filter.column);
    this.check(this.c.ty_passages(this.handle, args.u32, this.error));
    args.release();
    return toPlaces(places);
  }

  /**
   * Several queries in one pass over the rows, on a worker. `rows` has the answers one after the other, `counts[i]`
   * rows for query i.
   */
  async searchMany(questions: NativeQuestions, watch?: Watch): Promise<NativeHits & { counts: number[] }> {
    const { count, topK, filter, targetRecall, what, threads, weighted } = questions;
    const counts = new BigUint64Array(count);
    const args = struct("ty_search_many_args").pointer("queries", questions.queries).integer("n", count);
    filtered(args.integer("top_k", topK), filter).double("target_recall", targetRecall).integer("what", what);
    args.integer("threads", threads).integer("weighted", Number(weighted)).pointer("counts", counts);
    const bytes = Math.min(MANY_BYTES_MAX, count * topK * RECORD_BYTES);
    return this.answerOff(Op.SEARCH_MANY, args, bytes, watch, (answer) => {
      const each = Array.from(counts, Number);
      const total = each.reduce((sum, n) => sum + n, 0);
      return { rows: decodeRecords(answer, total, what), counts: each, ...readOf(args) };
    });
  }

  /**
   * One record per id, in the order of `ids`; `found` is false where the id is not live.
   * @param textMost at most so many bytes of each text, its beginning; 0: all of it
   */
  get(ids: PackedStrings, what: number, textMost = 0): RowRecord[] {
    const count = ids.ends.length;
    const args = struct("ty_get_args").integer("n", count).strings("ids", "id_ends", ids).integer("what", what);
    return decodeRecords(this.answer("ty_get", args.integer("text_most", textMost)), count, what);
  }

  /**
   * Two records per id: the turn before and the turn after it in its conversation; `found` is false where there is none.
   * @param textMost at most so many bytes of each text, its beginning
   */
  neighbours(ids: PackedStrings, what: number, textMost: number): RowRecord[] {
    const count = ids.ends.length;
    const args = struct("ty_neighbours_args").integer("n", count).strings("ids", "id_ends", ids).integer("what", what);
    return decodeRecords(this.answer("ty_neighbours", args.integer("text_most", textMost)), 2 * count, what);
  }

  /** Live rows in insertion order, or the newest first. @param textMost as of `get` */
  ids({ filter, after, limit, since, until, newest, having }: NativeListing, what: number, textMost = 0): RowRecord[] {
    const start = after === undefined ? undefined : encoder.encode(after);
    const args = filtered(struct("ty_ids_args"), filter)
      .integer("limit", limit ?? 0)
      .integer("since", Math.max(0, since ?? 0))
      // 0 stands for no bound. No row is older than 1970.
      .integer("until", until === undefined ? 0 : Math.max(1, until))
      .integer("newest", newest ?? 0)
      .integer("what", what)
      .integer("text_most", textMost);
    if (having) args.integer("n", having.length).strings("having", "having_ends", packStrings(having));
    if (start) args.bytes("after", "after_bytes", start);
    const answer = this.answer("ty_ids", args);
    return decodeRecords(answer, args.number("out_count"), what);
  }

  /** The saves that the history has, the latest first. */
  saves({ before, limit, undos = false }: NativeSaves): SaveRecord[] {
    const args = struct("ty_saves_args")
      .integer("before", before ?? 0)
      .integer("undos", Number(undos))
      .integer("limit", limit ?? 0);
    return decodeSaves(this.answer("ty_saves", args), args.number("out_count"));
  }

  /** Changes of saves, in their order, with the rows before them. @param textMost as of `get` */
  changes({ from, to, limit, id, origins = false }: NativeChanges, what: number, textMost = 0): ChangeRecord[] {
    const args = struct("ty_changes_args")
      .integer("from", from)
      .integer("to", to)
      .integer("limit", limit ?? 0)
      .integer("origins", Number(origins))
      .integer("what", what)
      .integer("text_most", textMost);
    if (id !== undefined) args.bytes("id", "id_bytes", encoder.encode(id));
    return decodeChanges(this.answer("ty_changes", args), args.number("out_count"), what);
  }

  /**
   * Live rows that have one of several different texts, byte for byte: as each one's `score`, which text it is.
   * @param most rows of a text at most
   */
  same(texts: PackedStrings, most: number): RowRecord[] {
    const args = struct("ty_same_args").integer("n", texts.ends.length).integer("most", most);
    const answer = this.answer("ty_same", args.strings("texts", "text_ends", texts));
    return decodeRecords(answer, args.number("out_count"), 0);
  }

  /** How many live rows match. */
  count(filter: NativeFilter | undefined): number {
    return this.counted(filter, false).number("count");
  }

  /** The same with a digest of their ids, 64 bits: see `ty_count_args`. */
  digest(filter: NativeFilter | undefined): { count: number; digest: bigint } {
    const args = this.counted(filter, true);
    return { count: args.number("count"), digest: args.bits("digest") };
  }

  private counted(filter: NativeFilter | undefined, digests: boolean): Struct<"count" | "digest"> {
    const args = filtered(struct("ty_count_args"), filter).integer("digests", Number(digests));
    this.check(this.c.ty_count(this.handle, args.u32, this.error));
    args.release();
    return args;
  }

  /** The terms of each text, as the lexical index has them, in the order of the text. */
  termsOf(texts: readonly string[]): Uint32Array[] {
    return this.workers.termsOf(texts);
  }

  /** As `Environment.occurrences`. */
  occurrences(texts: PackedStrings, strings: PackedStrings): Uint32Array | undefined {
    return this.workers.occurrences(texts, strings);
  }

  /** Up to n live rows' vectors, row by row. */
  sample(n: number, dim: number, seed: number): Float32Array {
    const out = new Float32Array(n * dim);
    const args = struct("ty_sample_args").integer("n", n).integer("seed", seed).pointer("out", out);
    this.check(this.c.ty_sample(this.handle, args.u32, this.error));
    args.release();
    return out.subarray(0, args.number("out_count") * dim);
  }

  /**
   * Counts live rows by the day on which they were created.
   * @param n days from 1970-01-01 in UTC; rows of later days are counted on the last one
   */
  days(n: number): number[] {
    const out = new BigUint64Array(n);
    const args = struct("ty_days_args").integer("n", n).pointer("out", out);
    this.check(this.c.ty_days(this.handle, args.u32, this.error));
    args.release();
    return Array.from(out, Number);
  }

  /** The manifest as JSON text. */
  manifest(): string {
    return new TextDecoder().decode(this.answer("ty_manifest", struct("ty_manifest_args")));
  }

  /** That of `stats`, in a fifth of the time. */
  generation(): number {
    const args = struct("ty_stats_args");
    this.check(this.c.ty_stats(this.handle, args.u32, this.error));
    return args.number("generation");
  }

  stats(): NativeStats {
    const args = struct("ty_stats_args");
    this.check(this.c.ty_stats(this.handle, args.u32, this.error));
    const stats = Object.fromEntries(STAT_NAMES.map((name) => [name, args.number(name)])) as NativeStats;
    stats.lexical_k1 = args.float("lexical_k1");
    stats.lexical_b = args.float("lexical_b");
    return stats;
  }

  /**
   * Damaged places in the files that were found since they were opened, 256 at most: `damages` of `stats` counts all.
   */
  damages(): Damage[] {
    return decodeDamages(this.answer("ty_damages", struct("ty_damages_args")));
  }

  /** Partitions of live rows; or the values that they have in another filter column. @param column its index */
  partitions(column = 0): PartitionInfo[] {
    const args = struct("ty_partitions_args").integer("column", column);
    const answer = this.answer("ty_partitions", args);
    return decodePartitions(answer, args.number("out_count"));
  }
}

/** The arguments of a query, without the column of its filter. */
export function askArguments(question: NativeQuestion, embedMost: number): Struct<FieldOf<"ty_ask_args">> {
  const { vector, text, filter, under, what } = question;
  const args = struct("ty_ask_args").integer("by", question.by).integer("top_k", question.topK);
  args.integer("what", what).integer("weighted", Number(question.weighted)).integer("embed_most", embedMost);
  args.integer("meaning", Number(question.meaning)).none("column");
  if (vector) args.pointer("vector", vector);
  else if (question.model === undefined) args.none("model");
  else args.integer("model", question.model);
  if (text !== undefined) args.bytes("text", "text_bytes", encoder.encode(text));
  if (filter) args.bytes("key", "key_bytes", filter.key);
  args.double("target_recall", question.targetRecall).double("dense_weight", question.denseWeight);
  if (under) args.integer("under_column", under.column).bytes("under", "under_bytes", under.key);
  if (question.labels && question.labels.length > 0) {
    args.bytes("labels", "label_bytes", packLists([question.labels]).bytes);
    args.double("label_share", question.labelShare);
  }
  return args;
}

/** Decodes the answer to a query. @param isMany of several collections */
export function toAnswer(
  args: Struct<FieldOf<"ty_ask_args">>,
  what: number,
  answer: Uint8Array,
  isMany = false,
): NativeAnswer & { places: number[] } {
  const [count, replaced, weights] = [args.number("out_count"), args.number("replaced"), args.number("weights")];
  return {
    ...decodeAnswer(answer, count, what, replaced, weights, isMany),
    ...readOf(args),
    fused: args.number("fused") === 1,
    words: args.number("words"),
    known: args.number("known"),
    meaningWeight: args.number("by_meaning") === 1 ? args.float("meaning_weight") : undefined,
  };
}

/** 64-bit words of a `ty_passage_place`. */
export const PLACE_WORDS = 5;

/** The arguments of a call for passages, without the column of its filter. */
export function passagesArguments(
  text: string,
  key: Uint8Array | undefined,
  texts: PackedStrings,
  places: Float64Array,
): Struct<FieldOf<"ty_passages_args">> {
  const args = struct("ty_passages_args").bytes("text", "text_bytes", encoder.encode(text)).none("column");
  if (key) args.bytes("key", "key_bytes", key);
  return args.integer("n", texts.ends.length).strings("texts", "text_ends", texts).pointer("places", places);
}

/** Decodes its `places`. */
export function toPlaces(places: Float64Array): PassagePlace[] {
  const bytes = new BigUint64Array(places.buffer);
  return Array.from({ length: places.length / PLACE_WORDS }, (_, i) => {
    const at = i * PLACE_WORDS;
    const [from = 0, best = 0, word = 0, to = 0] = Array.from(bytes.subarray(at, at + 4), Number);
    return { from, best, word, to, questionShare: places[at + 4]! };
  });
}

function filtered<A extends Struct<"column" | "key" | "key_bytes">>(args: A, filter: NativeFilter | undefined): A {
  if (!filter) return args.none("column");
  return args.integer("column", filter.column).bytes("key", "key_bytes", filter.key);
}

/** How much was read for an answer. */
function readOf(args: Struct<"screened_rows" | "scored_rows" | "probed_lists" | "trouble">) {
  return {
    screenedRows: args.number("screened_rows"),
    scoredRows: args.number("scored_rows"),
    probedLists: args.number("probed_lists"),
    trouble: args.number("trouble"),
  };
}
