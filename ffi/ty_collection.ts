/**
 * One open collection of libty_runtime: a method per native call, whole questions per call, no policy. Arguments are
 * taken as checked.
 */
import type { Pointer } from "bun:ffi";
import type { ModelCode } from "./ame_kernel.ts";
import { decodePartitions, decodeRecords, type PartitionInfo, type RowRecord } from "./records.ts";
import { NativeError, Status } from "./status.ts";
import { newError, Op, type Symbols, toError } from "./ty_symbols.ts";
import { cString, type PackedStrings, Words } from "./words.ts";

/** Modes of `put`. */
export const Put = { ADD: 0, UPSERT: 1, UPDATE: 2 } as const;
export type PutMode = (typeof Put)[keyof typeof Put];
/** Flag of `put`: keep the tokens of the texts, not the texts. */
const PUT_DROP_TEXT = 1;

/** What an answer's records carry beside the id. */
export const With = { META: 1, TEXT: 2, VECTOR: 4, EXPLAIN: 8, SCORES: 16 } as const;

/** What a question's rows are ranked by: BOTH is both rankings fused where there is a lexical index, else VECTOR. */
export const By = { VECTOR: 1, WORDS: 2, BOTH: 3 } as const;

const encoder = new TextEncoder();
const NO_FILTER = 0xffff_ffff_ffff_ffffn;
const NO_MODEL = 0xffff_ffff_ffff_ffffn;
const ANSWER_BYTES = 64 * 1024;
/** What a hit mostly takes, for answers to many questions: one that does not fit costs the whole search again. */
const RECORD_BYTES = 160;
const MANY_BYTES_MAX = 64 * 1024 * 1024;

/** Watches a long call: `signal` stops it, `onProgress` is called about ten times a second. */
export interface Watch {
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Runs calls off the caller's thread: the environment. */
export interface Workers {
  submit(op: number, collection: Pointer, args: Words | undefined, watch: Watch | undefined): Promise<void>;
}

/** A condition on one filter column: equality with an encoded value. */
export interface NativeFilter {
  column: number;
  key: Uint8Array;
}

/** What every question says. */
interface Asked {
  topK: number;
  filter: NativeFilter | undefined;
  /** 1 is exact, below 1 an IVF index may answer, 0 stands for the collection's default. */
  targetRecall: number;
  /** `With`, added up. */
  what: number;
  /** By what the rows hold (weights.h). */
  weighted: boolean;
}

/** One question; see `ty_ask_args`. */
export interface NativeQuestion extends Asked {
  by: (typeof By)[keyof typeof By];
  /** Where it is absent, `model` makes it of the text. */
  vector?: Float32Array | undefined;
  text?: string | undefined;
  model?: ModelCode | undefined;
  /** Bytes of the text that are embedded at most. */
  embedMost: number;
  /** Rows whose value in the column is `key`, or begins with it and a slash. */
  under: NativeFilter | undefined;
  /** Of the ranking by vector in a fused one, 0 to 1. */
  denseWeight: number;
  /** A question that is going to read more bytes of codes (cost.h) is asked on a worker, and the event loop lives. */
  inlineBytes: number;
}

/** Several questions by vector, one behind the other in `queries`. */
export interface NativeQuestions extends Asked {
  queries: Float32Array;
  count: number;
  /** 0: as many as there are cores, at most 4. */
  threads: number;
}

/** Rows to put, as the native side takes them. */
export interface NativeRows {
  count: number;
  vectors: Float32Array;
  ids: PackedStrings;
  metas: PackedStrings;
  texts: PackedStrings | undefined;
  keys: PackedStrings;
  dropText: boolean;
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
] as const;
export type NativeStats = Record<(typeof STAT_NAMES)[number], number> & { lexical_k1: number; lexical_b: number };

/** An answer's records and what the search read to find them. */
export interface NativeHits {
  rows: RowRecord[];
  screenedRows: number;
  scoredRows: number;
  probedLists: number;
}

type Answering = "ty_get" | "ty_ids" | "ty_ask" | "ty_manifest" | "ty_partitions";

/** One open collection. Every method checks that it is still open. */
export class NativeCollection {
  private pointer: Pointer | undefined;
  private readonly error = newError();
  private scratch: Uint8Array = new Uint8Array(new ArrayBuffer(ANSWER_BYTES));

  constructor(
    private readonly workers: Workers,
    private readonly c: Symbols,
    handle: Pointer,
  ) {
    this.pointer = handle;
  }

  private get handle(): Pointer {
    if (this.pointer === undefined) throw new Error("this collection is closed");
    return this.pointer;
  }

  /**
   * Whether the collection is still on disk, following what others saved: one `stat` where nothing changed. During a
   * change it is. Other failures than its absence are left to the question that comes.
   */
  isThere(): boolean {
    return this.c.ty_refresh(this.handle, this.error) !== Status.NOT_FOUND;
  }

  /** Takes the writer's lock; throws a NativeError with `Status.BUSY` while another writer has it. */
  begin(): void {
    this.check(this.c.ty_begin(this.handle, this.error));
  }

  /** Drops what was changed since `begin`. */
  rollback(): void {
    this.c.ty_rollback(this.handle);
  }

  /** Makes what was changed since `begin` durable. */
  save(): Promise<void> {
    return this.workers.submit(Op.SAVE, this.handle, undefined, undefined);
  }

  /** Puts rows; all or nothing. */
  async put(mode: PutMode, rows: NativeRows, watch?: Watch): Promise<{ inserted: number; replaced: number }> {
    const words = new Words(14)
      .integer(0, rows.count)
      .integer(1, mode)
      .integer(2, rows.dropText ? PUT_DROP_TEXT : 0)
      .pointer(3, rows.vectors);
    packed(words, 4, rows.ids);
    packed(words, 6, rows.metas);
    if (rows.texts) packed(words, 8, rows.texts);
    packed(words, 10, rows.keys);
    await this.workers.submit(Op.PUT, this.handle, words, watch);
    return { inserted: words.number(12), replaced: words.number(13) };
  }

  /** Deletes rows by id; resolves to how many were live. */
  async delete(ids: PackedStrings): Promise<number> {
    const words = packed(new Words(4).integer(0, ids.ends.length), 1, ids);
    await this.workers.submit(Op.DELETE, this.handle, words, undefined);
    return words.number(3);
  }

  /** Sets one changeable key of the manifest to a JSON value. */
  set(key: "default_target_recall" | "applied_tuner", json: string): void {
    const bytes = encoder.encode(json);
    this.check(this.c.ty_set(this.handle, cString(key), bytes, bytes.byteLength, this.error));
  }

  /** Rewrites the base with live rows only; saves and ends the change. */
  async compact(watch?: Watch): Promise<{ reclaimedRows: number; liveRows: number }> {
    const words = new Words(2);
    await this.workers.submit(Op.COMPACT, this.handle, words, watch);
    return { reclaimedRows: words.number(0), liveRows: words.number(1) };
  }

  /** Builds IVF indexes; saves and ends the change. Resolves to the number of partitions that have one. */
  async buildIvf(minRows: number, targetRecall: number, watch?: Watch): Promise<number> {
    const words = new Words(3).integer(0, minRows).double(1, targetRecall);
    await this.workers.submit(Op.BUILD_IVF, this.handle, words, watch);
    return words.number(2);
  }

  /** Builds the BM25 index; saves and ends the change. */
  async buildLexical(k1: number, b: number, watch?: Watch): Promise<void> {
    await this.workers.submit(Op.BUILD_LEXICAL, this.handle, new Words(2).double(0, k1).double(1, b), watch);
  }

  /** The `topK` best rows, of one saved state. */
  async ask(question: NativeQuestion): Promise<NativeHits & { fused: boolean }> {
    const { vector, text, filter, under, what } = question;
    const words = new Words(26).integer(0, question.by).integer(6, question.topK).integer(16, what);
    if (vector) words.pointer(1, vector);
    else words.integer(2, question.model ?? NO_MODEL).integer(3, question.embedMost);
    if (text !== undefined) {
      const bytes = encoder.encode(text);
      words.pointer(4, bytes).integer(5, bytes.byteLength);
    }
    filtered(words, 7, filter).double(13, question.targetRecall).double(14, question.denseWeight);
    if (under) filtered(words, 10, under);
    if (question.weighted) words.integer(15, 1);
    return this.answerHereOrOff("ty_ask", Op.ASK, words, 17, question.inlineBytes, (answer) => ({
      rows: decodeRecords(answer, words.number(21), (what & With.SCORES) !== 0),
      fused: words.number(22) === 1,
      screenedRows: words.number(23),
      scoredRows: words.number(24),
      probedLists: words.number(25),
    }));
  }

  /**
   * Several questions in one pass over the rows, on a worker. `rows` are all answers one behind the other, `counts[i]`
   * of them belonging to question i.
   */
  async searchMany(questions: NativeQuestions, watch?: Watch): Promise<NativeHits & { counts: number[] }> {
    const { count, topK, filter, targetRecall, what, threads, weighted } = questions;
    const counts = new BigUint64Array(count);
    const words = new Words(17).pointer(0, questions.queries).integer(1, count).integer(2, topK);
    filtered(words, 3, filter).double(6, targetRecall).integer(7, what).integer(8, threads);
    words.integer(9, Number(weighted)).pointer(10, counts);
    const room = Math.min(MANY_BYTES_MAX, count * topK * RECORD_BYTES);
    return this.answerOff(Op.SEARCH_MANY, words, 11, room, watch, (answer) => {
      const each = Array.from(counts, Number);
      return {
        rows: decodeRecords(
          answer,
          each.reduce((sum, n) => sum + n, 0),
        ),
        counts: each,
        screenedRows: words.number(14),
        scoredRows: words.number(15),
        probedLists: words.number(16),
      };
    });
  }

  /** One record per id, in the order asked; `found` tells. */
  get(ids: PackedStrings, what: number): RowRecord[] {
    const count = ids.ends.length;
    const words = packed(new Words(7).integer(0, count), 1, ids).integer(3, what);
    return decodeRecords(this.answer("ty_get", words, 4), count);
  }

  /** Live rows in insertion order. */
  ids(filter: NativeFilter | undefined, after: string | undefined, limit: number, what: number): RowRecord[] {
    const start = after === undefined ? undefined : encoder.encode(after);
    const words = filtered(new Words(11), 0, filter)
      .pointer(3, start)
      .integer(4, start?.byteLength ?? 0)
      .integer(5, limit)
      .integer(6, what);
    const answer = this.answer("ty_ids", words, 7);
    return decodeRecords(answer, words.number(10));
  }

  /** How many live rows match. */
  count(filter: NativeFilter | undefined): number {
    const words = filtered(new Words(4), 0, filter);
    this.check(this.c.ty_count(this.handle, words.u64, this.error));
    words.release();
    return words.number(3);
  }

  /** Up to n live rows' vectors, row by row. */
  sample(n: number, dim: number, seed: number): Float32Array {
    const out = new Float32Array(n * dim);
    const words = new Words(4).integer(0, n).integer(1, seed).pointer(2, out);
    this.check(this.c.ty_sample(this.handle, words.u64, this.error));
    words.release();
    return out.subarray(0, words.number(3) * dim);
  }

  /** The manifest as JSON text. */
  manifest(): string {
    return new TextDecoder().decode(this.answer("ty_manifest", new Words(3), 0));
  }

  stats(): NativeStats {
    const words = new Words(STAT_NAMES.length + 2);
    this.check(this.c.ty_stats(this.handle, words.u64, this.error));
    const stats = Object.fromEntries(STAT_NAMES.map((name, i) => [name, words.number(i)])) as NativeStats;
    stats.lexical_k1 = words.float(STAT_NAMES.length);
    stats.lexical_b = words.float(STAT_NAMES.length + 1);
    return stats;
  }

  /** Partitions of live rows. */
  partitions(): PartitionInfo[] {
    const words = new Words(4);
    const answer = this.answer("ty_partitions", words, 0);
    return decodePartitions(answer, words.number(3));
  }

  /** Reads every saved byte and compares checksums; checks that what is in memory holds together. */
  verify(watch?: Watch): Promise<void> {
    return this.workers.submit(Op.VERIFY, this.handle, undefined, watch);
  }

  /** Copies the saved state into an empty directory, between `begin` and `rollback`. */
  copy(dir: string, watch?: Watch): Promise<void> {
    return this.workers.submit(Op.COPY, this.handle, new Words(1).pointer(0, cString(dir)), watch);
  }

  /** Closes the collection; unsaved changes are dropped. */
  close(): void {
    if (this.pointer === undefined) return;
    this.c.ty_collection_close(this.pointer);
    this.pointer = undefined;
  }

  private check(code: number): void {
    if (code !== Status.OK) throw toError(code, this.error);
  }

  /**
   * Asks with the scratch buffer, and once more with a larger one where it was too small. `at` is the index of the
   * field `out`.
   */
  private answer(name: Answering, words: Words, at: number): Uint8Array {
    const answer = this.answerUnlessLarge(name, words, at);
    if (answer === undefined) throw toError(Status.LARGE, this.error);
    return answer;
  }

  /** The same; undefined for a question that is too large for this thread. */
  private answerUnlessLarge(name: Answering, words: Words, at: number): Uint8Array | undefined {
    let out = this.scratch;
    for (;;) {
      words.pointer(at, out).integer(at + 1, out.byteLength);
      const code = this.c[name](this.handle, words.u64, this.error);
      const needed = words.number(at + 2);
      if (code === Status.OK) {
        words.release();
        return out.subarray(0, needed);
      }
      if (code === Status.LARGE) return undefined;
      if (code !== Status.BUFFER) throw toError(code, this.error);
      out = this.grow(needed);
    }
  }

  /**
   * Asks here, and where that would take too long on a worker. `at` is the index of the field `most_bytes`; `out`
   * follows it.
   */
  private async answerHereOrOff<T>(
    name: Answering,
    op: number,
    words: Words,
    at: number,
    inlineBytes: number,
    decode: (answer: Uint8Array) => T,
  ): Promise<T> {
    const answer = this.answerUnlessLarge(name, words.integer(at, inlineBytes), at + 1);
    // Decoded before anything else can run: the scratch buffer belongs to the next question.
    if (answer !== undefined) return decode(answer);
    return this.answerOff(op, words.integer(at, 0), at + 1, ANSWER_BYTES, undefined, decode);
  }

  /** Asks on a worker, with a buffer of its own: other questions may use the shared one meanwhile. */
  private async answerOff<T>(
    op: number,
    words: Words,
    at: number,
    room: number,
    watch: Watch | undefined,
    decode: (answer: Uint8Array) => T,
  ): Promise<T> {
    let out = new Uint8Array(new ArrayBuffer(Math.max(ANSWER_BYTES, room)));
    for (;;) {
      words.pointer(at, out).integer(at + 1, out.byteLength);
      try {
        await this.workers.submit(op, this.handle, words, watch);
        return decode(out.subarray(0, words.number(at + 2)));
      } catch (error) {
        if (!(error instanceof NativeError) || error.status !== Status.BUFFER) throw error;
        out = new Uint8Array(new ArrayBuffer(words.number(at + 2)));
      }
    }
  }

  private grow(bytes: number): Uint8Array {
    const out = new Uint8Array(new ArrayBuffer(Math.ceil(bytes * 1.25)));
    // A huge answer's buffer is not kept for the next small question.
    if (out.byteLength <= 4 * 1024 * 1024) this.scratch = out;
    return out;
  }
}

function packed(words: Words, at: number, strings: PackedStrings): Words {
  return words.pointer(at, strings.bytes).pointer(at + 1, strings.ends);
}

function filtered(words: Words, at: number, filter: NativeFilter | undefined): Words {
  if (!filter) return words.integer(at, NO_FILTER);
  return words
    .integer(at, filter.column)
    .pointer(at + 1, filter.key)
    .integer(at + 2, filter.key.byteLength);
}
