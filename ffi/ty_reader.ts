/** Queries of an open collection of libty_runtime: a method per native call. Arguments are taken as checked. */
import type { ModelCode } from "./ame_kernel.ts";
import {
  type Damage,
  decodeAnswer,
  decodeDamages,
  decodePartitions,
  decodeRecords,
  type PartitionInfo,
  type Replacement,
  type RowRecord,
  type TermWeight,
} from "./records.ts";
import { NativeHandle, type Watch } from "./ty_handle.ts";
import { Op } from "./ty_symbols.ts";
import { type PackedStrings, packed, packLists, Words } from "./words.ts";

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
interface Asked {
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
export interface NativeQuestion extends Asked {
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
}

/** Several queries by vector, row-major in `queries`. */
export interface NativeQuestions extends Asked {
  queries: Float32Array;
  count: number;
  /** 0: one per core, at most 4. */
  threads: number;
}

/** Which rows to list; see `ty_ids_args`. */
export interface NativeListing {
  filter: NativeFilter | undefined;
  /** Go on behind this id. */
  after?: string | undefined;
  limit?: number | undefined;
  /** Only rows updated from `since` on and before `until`, in whole milliseconds since 1970. */
  since?: number | undefined;
  until?: number | undefined;
  /** So many rows, the last updated first; without `after`. */
  newest?: number | undefined;
}

/** Counters, in the order of the enum in ty_runtime.h. */
export const STAT_NAMES = [
  "generation",
  "live_rows",
  "total_rows",
  "base_rows",
  "delta_rows",
  "disk_bytes",
  "unsaved_rows",
  "partitions",
  "ivf_partitions",
  "lexical_built",
  "lexical_terms",
  "searches",
  "lexical_lost",
  "damages",
  "base_bytes",
  "delta_bytes",
  "saves",
  "base_dead",
  "delta_dead",
  "superseded",
] as const;
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
}

/** The reading half of an open collection. */
export class NativeReader extends NativeHandle {
  /**
   * The `topK` best rows, of one saved state; a promise only where a worker has to find them.
   * @param embedMost at most so many bytes of the text are embedded
   * @param inlineBytes a query that will read more bytes of codes (cost.h) runs on a worker, off the event loop
   */
  ask(question: NativeQuestion, embedMost: number, inlineBytes: number): NativeAnswer | Promise<NativeAnswer> {
    const { vector, text, filter, under, what } = question;
    const words = new Words(34).integer(0, question.by).integer(6, question.topK).integer(16, what);
    if (vector) words.pointer(1, vector);
    else (question.model === undefined ? words.none(2) : words.integer(2, question.model)).integer(3, embedMost);
    if (text !== undefined) {
      const bytes = encoder.encode(text);
      words.pointer(4, bytes).integer(5, bytes.byteLength);
    }
    filtered(words, 7, filter).double(13, question.targetRecall).double(14, question.denseWeight);
    if (under) filtered(words, 10, under);
    if (question.weighted) words.integer(15, 1);
    if (question.labels && question.labels.length > 0) {
      const { bytes } = packLists([question.labels]);
      words.pointer(18, bytes).integer(19, bytes.byteLength).double(20, question.labelShare);
    }
    const decode = (answer: Uint8Array) => ({
      ...decodeAnswer(answer, words.number(24), what, words.number(32), words.number(33)),
      fused: words.number(25) === 1,
      trouble: words.number(29),
      screenedRows: words.number(26),
      scoredRows: words.number(27),
      probedLists: words.number(28),
      words: words.number(30),
      known: words.number(31),
    });
    const answer = this.answerUnlessLarge("ty_ask", words.integer(17, inlineBytes), 21);
    // Decoded before anything else can run: the next call reuses the scratch buffer.
    if (answer !== undefined) return decode(answer);
    return this.answerOff(Op.ASK, words.integer(17, 0), 21, 0, undefined, decode);
  }

  /**
   * Several queries in one pass over the rows, on a worker. `rows` has the answers one behind the other, `counts[i]`
   * rows for query i.
   */
  async searchMany(questions: NativeQuestions, watch?: Watch): Promise<NativeHits & { counts: number[] }> {
    const { count, topK, filter, targetRecall, what, threads, weighted } = questions;
    const counts = new BigUint64Array(count);
    const words = new Words(18).pointer(0, questions.queries).integer(1, count).integer(2, topK);
    filtered(words, 3, filter).double(6, targetRecall).integer(7, what).integer(8, threads);
    words.integer(9, Number(weighted)).pointer(10, counts);
    const bytes = Math.min(MANY_BYTES_MAX, count * topK * RECORD_BYTES);
    return this.answerOff(Op.SEARCH_MANY, words, 11, bytes, watch, (answer) => {
      const each = Array.from(counts, Number);
      const total = each.reduce((sum, n) => sum + n, 0);
      return {
        rows: decodeRecords(answer, total, what),
        counts: each,
        screenedRows: words.number(14),
        scoredRows: words.number(15),
        probedLists: words.number(16),
        trouble: words.number(17),
      };
    });
  }

  /** One record per id, in the order of `ids`; `found` is false where the id is not live. */
  get(ids: PackedStrings, what: number): RowRecord[] {
    const count = ids.ends.length;
    const words = packed(new Words(7).integer(0, count), 1, ids).integer(3, what);
    return decodeRecords(this.answer("ty_get", words, 4), count, what);
  }

  /** Live rows in insertion order, or the newest first. */
  ids({ filter, after, limit, since, until, newest }: NativeListing, what: number): RowRecord[] {
    const start = after === undefined ? undefined : encoder.encode(after);
    const words = filtered(new Words(14), 0, filter)
      .pointer(3, start)
      .integer(4, start?.byteLength ?? 0)
      .integer(5, limit ?? 0)
      .integer(6, Math.max(0, since ?? 0))
      // 0 stands for no bound. No row is older than 1970.
      .integer(7, until === undefined ? 0 : Math.max(1, until))
      .integer(8, newest ?? 0)
      .integer(9, what);
    const answer = this.answer("ty_ids", words, 10);
    return decodeRecords(answer, words.number(13), what);
  }

  /**
   * The rows that the last save which deleted or replaced rows took away, in insertion order, and when (milliseconds since
   * 1970); no rows and generation 0 where there is none, or a rewrite has dropped them.
   */
  superseded(what: number): { rows: RowRecord[]; generation: number; time: number } {
    const words = new Words(7).integer(0, what);
    const answer = this.answer("ty_superseded", words, 1);
    return {
      rows: decodeRecords(answer, words.number(4), what),
      generation: words.number(5),
      time: words.number(6),
    };
  }

  /**
   * Live rows that have one of several different texts, byte for byte: as each one's `score`, which text it is.
   * @param most rows of a text at most
   */
  same(texts: PackedStrings, most: number): RowRecord[] {
    const words = packed(new Words(8).integer(0, texts.ends.length), 1, texts).integer(3, most);
    const answer = this.answer("ty_same", words, 4);
    return decodeRecords(answer, words.number(7), 0);
  }

  /** How many live rows match. */
  count(filter: NativeFilter | undefined): number {
    return this.counted(filter, false).number(4);
  }

  /** The same with a digest of their ids, 64 bits: see `ty_count_args`. */
  digest(filter: NativeFilter | undefined): { count: number; digest: bigint } {
    const words = this.counted(filter, true);
    return { count: words.number(4), digest: (BigInt(words.u32[11]!) << 32n) | BigInt(words.u32[10]!) };
  }

  private counted(filter: NativeFilter | undefined, digests: boolean): Words {
    const words = filtered(new Words(6), 0, filter).integer(3, Number(digests));
    this.check(this.c.ty_count(this.handle, words.u32, this.error));
    words.release();
    return words;
  }

  /** The terms of each text, as the lexical index has them, in the order of the text. */
  termsOf(texts: readonly string[]): Uint32Array[] {
    return this.workers.termsOf(texts);
  }

  /** Up to n live rows' vectors, row by row. */
  sample(n: number, dim: number, seed: number): Float32Array {
    const out = new Float32Array(n * dim);
    const words = new Words(4).integer(0, n).integer(1, seed).pointer(2, out);
    this.check(this.c.ty_sample(this.handle, words.u32, this.error));
    words.release();
    return out.subarray(0, words.number(3) * dim);
  }

  /** The manifest as JSON text. */
  manifest(): string {
    return new TextDecoder().decode(this.answer("ty_manifest", new Words(3), 0));
  }

  stats(): NativeStats {
    const words = new Words(STAT_NAMES.length + 2);
    this.check(this.c.ty_stats(this.handle, words.u32, this.error));
    const stats = Object.fromEntries(STAT_NAMES.map((name, i) => [name, words.number(i)])) as NativeStats;
    stats.lexical_k1 = words.float(STAT_NAMES.length);
    stats.lexical_b = words.float(STAT_NAMES.length + 1);
    return stats;
  }

  /** Damaged places in the files that were found since they were opened, 256 at most: `damages` of `stats` counts all. */
  damages(): Damage[] {
    return decodeDamages(this.answer("ty_damages", new Words(4), 0));
  }

  /** Partitions of live rows. */
  partitions(): PartitionInfo[] {
    const words = new Words(4);
    const answer = this.answer("ty_partitions", words, 0);
    return decodePartitions(answer, words.number(3));
  }
}

function filtered(words: Words, at: number, filter: NativeFilter | undefined): Words {
  if (!filter) return words.none(at);
  return words
    .integer(at, filter.column)
    .pointer(at + 1, filter.key)
    .integer(at + 2, filter.key.byteLength);
}
