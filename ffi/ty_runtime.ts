/**
 * The typed door into libty_runtime (ty_runtime/ty_runtime.h): collections on disk and in memory. One method per native call, whole
 * questions per call, no policy: failures are `NativeError`s, arguments are taken as checked.
 */
import { dlopen, FFIType, JSCallback, type Pointer } from "bun:ffi";
import { decodePartitions, decodeRecords, type PartitionInfo, type RowRecord } from "./records.ts";
import { NativeError, Status, type StatusCode } from "./status.ts";
import { address, cString, type PackedStrings, Words } from "./words.ts";

/** `TY_ABI_VERSION` this door was written for. */
export const TY_ABI_VERSION = 1;

/** Modes of `put`. */
export const Put = { ADD: 0, UPSERT: 1, UPDATE: 2 } as const;
export type PutMode = (typeof Put)[keyof typeof Put];
/** Flag of `put`: keep the tokens of the texts, not the texts. */
export const PUT_DROP_TEXT = 1;

/** What an answer's records carry beside the id. */
export const With = { META: 1, TEXT: 2, VECTOR: 4, EXPLAIN: 8 } as const;

const Op = {
  PUT: 1,
  DELETE: 2,
  SAVE: 3,
  COMPACT: 4,
  BUILD_IVF: 5,
  BUILD_LEXICAL: 6,
  SEARCH: 7,
  SEARCH_LEXICAL: 8,
  VERIFY: 9,
};

const NO_FILTER = 0xffff_ffff_ffff_ffffn;
const ERROR_BYTES = 1024;
const ANSWER_BYTES = 64 * 1024;

const p = FFIType.ptr;
const status = FFIType.i32;
const call3 = { args: [p, p, p], returns: status } as const;
const call2 = { args: [p, p], returns: status } as const;
const symbols = {
  ty_abi_version: { args: [], returns: FFIType.u32 },
  ty_env_open: { args: [p, FFIType.u32, p, p], returns: status },
  ty_env_close: { args: [p], returns: FFIType.void },
  ty_collection_new: { args: [p, p, p, FFIType.u64, p, p], returns: status },
  ty_collection_open: { args: [p, p, p, p], returns: status },
  ty_collection_close: { args: [p], returns: FFIType.void },
  ty_refresh: call2,
  ty_begin: call2,
  ty_rollback: { args: [p], returns: FFIType.void },
  ty_set: { args: [p, p, p, FFIType.u64, p], returns: status },
  ty_search: call3,
  ty_search_lexical: call3,
  ty_get: call3,
  ty_ids: call3,
  ty_count: call3,
  ty_sample: call3,
  ty_manifest: call3,
  ty_stats: call3,
  ty_partitions: call3,
  ty_submit: { args: [p, FFIType.u32, p, p, p, p, p, FFIType.u32], returns: status },
  ty_test_fail: { args: [p, FFIType.u64, FFIType.i32, FFIType.u32], returns: FFIType.u64 },
} as const;

type Symbols = ReturnType<typeof dlopen<typeof symbols>>["symbols"];

/** A condition on one filter column: equality with an encoded value. */
export interface NativeFilter {
  column: number;
  key: Uint8Array;
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

/** Watches a long call: `signal` stops it, `onProgress` is told how far it is about ten times a second. */
export interface Watch {
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
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

function newError(): Uint8Array {
  return new Uint8Array(new ArrayBuffer(ERROR_BYTES));
}

function toError(code: number, bytes: Uint8Array): NativeError {
  const view = new DataView(bytes.buffer);
  const end = bytes.indexOf(0, 8);
  const message = new TextDecoder().decode(bytes.subarray(8, end < 0 ? undefined : end));
  return new NativeError(code as StatusCode, view.getInt32(4, true), message);
}

/** Maps the library at `path` (a verified one) and opens its environment over the kernel's table. */
export function openRuntime(path: string, kernelTable: Pointer, threads: number): Environment {
  const { symbols: c } = dlopen(path, symbols);
  const abi = c.ty_abi_version();
  if (abi !== TY_ABI_VERSION) throw new Error(`libty_runtime speaks ABI ${abi}, this executable ${TY_ABI_VERSION}`);
  return new Environment(c, kernelTable, threads);
}

/** One environment: the worker threads and what they have under way. */
export class Environment {
  readonly handle: Pointer;
  // The arguments stand here too, so that they live as long as the worker may read them.
  private readonly waiting = new Map<number, { resolve: (code: number) => void; args: unknown }>();
  private readonly callback: JSCallback;
  private nextToken = 1;
  // A thread-safe callback does not keep the process alive; this timer does while work is under way.
  private keepAlive: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly c: Symbols,
    kernelTable: Pointer,
    threads: number,
  ) {
    const out = new BigUint64Array(new ArrayBuffer(8));
    const error = newError();
    const code = c.ty_env_open(kernelTable, threads, out, error);
    if (code !== Status.OK) throw toError(code, error);
    this.handle = Number(out[0]) as Pointer;
    this.callback = new JSCallback((token: number, result: number) => this.finish(token, result), {
      args: [FFIType.u32, FFIType.i32],
      returns: FFIType.void,
      threadsafe: true,
    });
  }

  /** A new collection in memory; see ty_collection_new for the schema's keys. */
  newCollection(dir: string, schema: string): NativeCollection {
    const bytes = new TextEncoder().encode(schema);
    return this.openHandle((out, error) =>
      this.c.ty_collection_new(this.handle, cString(dir), bytes, bytes.byteLength, out, error),
    );
  }

  /** Opens the saved collection in `dir`. */
  openCollection(dir: string): NativeCollection {
    return this.openHandle((out, error) => this.c.ty_collection_open(this.handle, cString(dir), out, error));
  }

  /** For tests: see ty_test_fail. */
  testFail(nth: number, errno: number, sticky: boolean): number {
    return Number(this.c.ty_test_fail(this.handle, nth, errno, sticky ? 1 : 0));
  }

  /** Waits for the workers; every collection must be closed before. */
  close(): void {
    this.c.ty_env_close(this.handle);
    this.callback.close();
    clearInterval(this.keepAlive);
  }

  /** Runs a call on a worker; resolves when it is done, rejects with its NativeError. */
  async submit(op: number, collection: Pointer, args: Words | undefined, watch: Watch | undefined): Promise<void> {
    watch?.signal?.throwIfAborted();
    const error = newError();
    const progress = new BigUint64Array(new ArrayBuffer(24));
    const token = this.nextToken;
    this.nextToken = (this.nextToken + 1) >>> 0 || 1;
    const done = new Promise<number>((resolve) => this.waiting.set(token, { resolve, args }));
    this.keepAlive ??= setInterval(() => {}, 1 << 30);
    const code = this.c.ty_submit(
      this.handle,
      op,
      collection,
      args ? (address(args.u64) as Pointer) : null,
      progress,
      error,
      this.callback.ptr!,
      token,
    );
    if (code !== Status.OK) {
      this.finish(token, code);
      throw toError(code, error);
    }
    const stop = () => {
      progress[2] = 1n;
    };
    watch?.signal?.addEventListener("abort", stop);
    const report = watch?.onProgress;
    const timer = report && setInterval(() => report(Number(progress[0]), Number(progress[1])), 100);
    try {
      const result = await done;
      if (result !== Status.OK) throw toError(result, error);
    } finally {
      clearInterval(timer);
      watch?.signal?.removeEventListener("abort", stop);
    }
  }

  private finish(token: number, code: number): void {
    const entry = this.waiting.get(token);
    this.waiting.delete(token);
    if (this.waiting.size === 0) {
      clearInterval(this.keepAlive);
      this.keepAlive = undefined;
    }
    entry?.resolve(code);
  }

  private openHandle(open: (out: BigUint64Array, error: Uint8Array) => number): NativeCollection {
    const out = new BigUint64Array(new ArrayBuffer(8));
    const error = newError();
    const code = open(out, error);
    if (code !== Status.OK) throw toError(code, error);
    return new NativeCollection(this, this.c, Number(out[0]) as Pointer);
  }
}

type Answering = "ty_get" | "ty_ids" | "ty_search" | "ty_search_lexical" | "ty_manifest" | "ty_partitions";

/** One open collection. Every method checks that it is still open. */
export class NativeCollection {
  private pointer: Pointer | undefined;
  private readonly error = newError();
  private scratch: Uint8Array = new Uint8Array(new ArrayBuffer(ANSWER_BYTES));

  constructor(
    private readonly env: Environment,
    private readonly c: Symbols,
    handle: Pointer,
  ) {
    this.pointer = handle;
  }

  private get handle(): Pointer {
    if (this.pointer === undefined) throw new Error("this collection is closed");
    return this.pointer;
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
    return this.env.submit(Op.SAVE, this.handle, undefined, undefined);
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
    await this.env.submit(Op.PUT, this.handle, words, watch);
    return { inserted: words.number(12), replaced: words.number(13) };
  }

  /** Deletes rows by id; resolves to how many were live. */
  async delete(ids: PackedStrings): Promise<number> {
    const words = packed(new Words(4).integer(0, ids.ends.length), 1, ids);
    await this.env.submit(Op.DELETE, this.handle, words, undefined);
    return words.number(3);
  }

  /** Sets one changeable key of the manifest to a JSON value. */
  set(key: "default_target_recall" | "applied_tuner", json: string): void {
    const bytes = new TextEncoder().encode(json);
    this.check(this.c.ty_set(this.handle, cString(key), bytes, bytes.byteLength, this.error));
  }

  /** Rewrites the base with live rows only; saves and ends the change. */
  async compact(watch?: Watch): Promise<{ reclaimedRows: number; liveRows: number }> {
    const words = new Words(2);
    await this.env.submit(Op.COMPACT, this.handle, words, watch);
    return { reclaimedRows: words.number(0), liveRows: words.number(1) };
  }

  /** Builds IVF indexes; saves and ends the change. Resolves to the number of partitions that have one. */
  async buildIvf(minRows: number, targetRecall: number, watch?: Watch): Promise<number> {
    const words = new Words(3).integer(0, minRows).double(1, targetRecall);
    await this.env.submit(Op.BUILD_IVF, this.handle, words, watch);
    return words.number(2);
  }

  /** Builds the BM25 index; saves and ends the change. */
  async buildLexical(k1: number, b: number, watch?: Watch): Promise<void> {
    await this.env.submit(Op.BUILD_LEXICAL, this.handle, new Words(2).double(0, k1).double(1, b), watch);
  }

  /** The `topK` best rows by inner product. With `offThread` the scan runs on a worker and the event loop lives. */
  async search(
    query: Float32Array,
    topK: number,
    filter: NativeFilter | undefined,
    targetRecall: number,
    what: number,
    offThread: boolean,
  ): Promise<NativeHits> {
    const words = new Words(14).pointer(0, query).integer(1, topK);
    filtered(words, 2, filter).double(5, targetRecall).integer(6, what);
    return this.answerMaybeOff("ty_search", Op.SEARCH, words, 7, offThread, (answer) => ({
      rows: decodeRecords(answer, words.number(10)),
      screenedRows: words.number(11),
      scoredRows: words.number(12),
      probedLists: words.number(13),
    }));
  }

  /** The `topK` best rows by BM25. */
  async searchLexical(
    query: string,
    topK: number,
    filter: NativeFilter | undefined,
    what: number,
    offThread: boolean,
  ): Promise<RowRecord[]> {
    const bytes = new TextEncoder().encode(query);
    const words = new Words(11).pointer(0, bytes).integer(1, bytes.byteLength).integer(2, topK);
    filtered(words, 3, filter).integer(6, what);
    return this.answerMaybeOff("ty_search_lexical", Op.SEARCH_LEXICAL, words, 7, offThread, (answer) =>
      decodeRecords(answer, words.number(10)),
    );
  }

  /** One record per id, in the order asked; `found` tells. */
  get(ids: PackedStrings, what: number): RowRecord[] {
    const count = ids.ends.length;
    const words = packed(new Words(7).integer(0, count), 1, ids).integer(3, what);
    return decodeRecords(this.answer("ty_get", words, 4), count);
  }

  /** Live rows in insertion order. */
  ids(filter: NativeFilter | undefined, after: string | undefined, limit: number, what: number): RowRecord[] {
    const start = after === undefined ? undefined : new TextEncoder().encode(after);
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

  /** Reads every saved byte and compares checksums. */
  verify(watch?: Watch): Promise<void> {
    return this.env.submit(Op.VERIFY, this.handle, undefined, watch);
  }

  /** Follows what other processes saved. */
  refresh(): void {
    this.check(this.c.ty_refresh(this.handle, this.error));
  }

  /** Lets go of everything; unsaved changes are dropped. */
  close(): void {
    if (this.pointer === undefined) return;
    this.c.ty_collection_close(this.pointer);
    this.pointer = undefined;
  }

  private check(code: number): void {
    if (code !== Status.OK) throw toError(code, this.error);
  }

  /** Asks with the scratch buffer, and once more with a larger one where it was too small. `at` is the index of the field `out`. */
  private answer(name: Answering, words: Words, at: number): Uint8Array {
    let out = this.scratch;
    for (;;) {
      words.pointer(at, out).integer(at + 1, out.byteLength);
      const code = this.c[name](this.handle, words.u64, this.error);
      const needed = words.number(at + 2);
      if (code === Status.OK) {
        words.release();
        return out.subarray(0, needed);
      }
      if (code !== Status.BUFFER) throw toError(code, this.error);
      out = this.grow(needed);
    }
  }

  /** Decodes before anything else can run: the scratch buffer belongs to the next question. */
  private async answerMaybeOff<T>(
    name: Answering,
    op: number,
    words: Words,
    at: number,
    offThread: boolean,
    decode: (answer: Uint8Array) => T,
  ): Promise<T> {
    if (!offThread) return decode(this.answer(name, words, at));
    // A buffer of its own: other questions may use the shared one meanwhile.
    let out = new Uint8Array(new ArrayBuffer(ANSWER_BYTES));
    for (;;) {
      words.pointer(at, out).integer(at + 1, out.byteLength);
      try {
        await this.env.submit(op, this.handle, words, undefined);
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
  words.integer(at, filter ? filter.column : NO_FILTER).pointer(at + 1, filter?.key);
  return words.integer(at + 2, filter?.key.byteLength ?? 0);
}
