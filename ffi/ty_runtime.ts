/**
 * The typed interface of libty_runtime (ty_runtime/ty_runtime.h): the environment, its workers, opening collections.
 */
import { dlopen, FFIType, JSCallback, type Pointer } from "bun:ffi";
import { address, cString, type PackedStrings, packStrings } from "./packing.ts";
import { Status } from "./status.ts";
import { type Struct, struct } from "./structs.ts";
import { NativeCollection } from "./ty_collection.ts";
import type { Watch, Workers } from "./ty_handle.ts";
import { NativeSalvage, type SalvageSchema } from "./ty_salvage.ts";
import { newError, type Symbols, symbols, TY_ABI_VERSION, toError } from "./ty_symbols.ts";
import { NativeTree, type TreeWorkers } from "./ty_tree.ts";

/** UTF-16 units that are tokenised in one call, up to one long text more. */
const TERMS_UNITS = 256 * 1024;
/** Places that `occurrences` returns. */
const OCCURRENCES_MOST = 4096;

/**
 * Maps the library at `path` (a verified one) and opens its environment over the kernel's table.
 * @param label what this process is, for messages of processes that wait for it: 39 characters of ASCII
 */
export function openRuntime(path: string, kernelTable: Pointer, threads: number, label: string): Environment {
  const { symbols: c } = dlopen(path, symbols);
  const abi = c.ty_abi_version();
  if (abi !== TY_ABI_VERSION) throw new Error(`libty_runtime speaks ABI ${abi}, this executable ${TY_ABI_VERSION}`);
  return new Environment(c, kernelTable, threads, label);
}

/** One environment: the worker threads and their pending calls. */
export class Environment implements Workers, TreeWorkers {
  readonly handle: Pointer;
  // With the arguments, so that they stay alive while the worker may read them.
  private readonly waiting = new Map<number, { resolve: (code: number) => void; args: unknown }>();
  private readonly callback: JSCallback;
  private nextToken = 1;
  /** By token: called whenever a save of the collection waits for a decision. */
  private readonly coordinators = new Map<number, () => void>();
  /** Read by native code for as long as this process runs. */
  private model: Uint8Array | undefined;
  // A thread-safe callback does not keep the process alive; this timer does while work is under way.
  private keepAlive: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly c: Symbols,
    kernelTable: Pointer,
    threads: number,
    /** What this process is, for messages of processes that wait for it. */
    readonly label: string,
  ) {
    const out = new BigUint64Array(new ArrayBuffer(8));
    const error = newError();
    const code = c.ty_env_open(kernelTable, threads, out, error);
    if (code !== Status.OK) throw toError(code, error);
    this.handle = Number(out[0]) as Pointer;
    this.c.ty_env_label(this.handle, cString(label));
    this.callback = new JSCallback((token: number, result: number) => this.finish(token, result), {
      args: [FFIType.u32, FFIType.i32],
      returns: FFIType.void,
      threadsafe: true,
    });
  }

  /**
   * Has this process end so many milliseconds (1 to 60,000) after a SIGINT or SIGTERM from now on, with exit status
   * `code` and `message` on stderr, where it does not end before: see ty_stop_after_signal. Only the first call counts.
   */
  stopAfterSignal(milliseconds: number, code: number, message: string): void {
    const [bytes, error] = [new TextEncoder().encode(message), newError()];
    const result = this.c.ty_stop_after_signal(milliseconds, code, bytes, bytes.byteLength, error);
    if (result !== Status.OK) throw toError(result, error);
  }

  /**
   * Gives the environment a sentence encoder's model, which must not change. The same one again has no effect.
   * @throws NativeError where it is not a model of this version, or there is another one
   */
  useModel(model: Uint8Array): void {
    if (this.model === model) return;
    const error = newError();
    const code = this.c.ty_env_model(this.handle, model, model.byteLength, error);
    if (code !== Status.OK) throw toError(code, error);
    this.model = model;
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

  /** A handle of the collection in `dir` of which nothing is read yet, for `checkFiles`. */
  collectionAt(dir: string): NativeCollection {
    return this.openHandle((out, error) => this.c.ty_collection_at(this.handle, cString(dir), out, error));
  }

  /** What can be read of the damaged collection in `dir`, whose manifest names the files and the schema. */
  openSalvage(dir: string, files: NativeSalvage["files"], schema: SalvageSchema & { written: number }): NativeSalvage {
    return new NativeSalvage(this.c, this.handle, dir, files, schema);
  }

  /** Changes the one bit of `bytes` that makes their CRC-32C right. 0: it is right; 1: it is now; 2: no single bit does. */
  restoreBit(bytes: Uint8Array, crc: number): number {
    return this.c.ty_restore_bit(this.handle, bytes, bytes.byteLength, crc);
  }

  /** A folder tree of files; `root` is resolved: no component of it is a link. Nothing is opened yet. */
  openTree(root: string): NativeTree {
    return new NativeTree(
      this,
      this.c,
      this.openPointer((out, error) => this.c.ty_tree_open(this.handle, cString(root), out, error)),
    );
  }

  /**
   * The terms of each text as a lexical index has them, by their hashes, in the order of the text; views of shared
   * memory. 8,000 paths of 50 bytes take 6 ms.
   */
  termsOf(texts: readonly string[]): Uint32Array[] {
    const terms: Uint32Array[] = [];
    for (let first = 0; first < texts.length; ) {
      let end = first;
      for (let units = 0; end < texts.length && units < TERMS_UNITS; end++) units += texts[end]!.length;
      this.addTerms(texts.slice(first, end), terms);
      first = end;
    }
    return terms;
  }

  /**
   * Where texts hold one of these strings, of at least three bytes each, 255 at most: of each place the text's index,
   * ascending, and the offset in its bytes. Undefined if there are more than {@link OCCURRENCES_MOST} places.
   */
  occurrences(texts: PackedStrings, strings: PackedStrings): Uint32Array | undefined {
    const [out, error] = [new Uint32Array(2 * OCCURRENCES_MOST), newError()];
    const args = struct("ty_occurrences_args")
      .integer("n", texts.ends.length)
      .strings("texts", "text_ends", texts)
      .integer("m", strings.ends.length)
      .strings("strings", "string_ends", strings)
      .pointer("out", out)
      .integer("out_capacity", OCCURRENCES_MOST);
    const code = this.c.ty_occurrences(args.u32, error);
    args.release();
    if (code === Status.BUFFER) return undefined;
    if (code !== Status.OK) throw toError(code, error);
    return out.subarray(0, 2 * args.number("out_count"));
  }

  private addTerms(texts: readonly string[], terms: Uint32Array[]): void {
    const { bytes, ends } = packStrings(texts);
    const outEnds = new BigUint64Array(texts.length);
    const error = newError();
    // Most texts have a term for four bytes at most; others are tokenised twice.
    for (let room = (bytes.byteLength >> 2) + 16; ; ) {
      const out = new Uint32Array(room);
      const args = struct("ty_terms_args")
        .integer("n", texts.length)
        .pointer("texts", bytes)
        .pointer("text_ends", ends);
      args.pointer("out", out).integer("out_capacity", room).pointer("out_ends", outEnds);
      const code = this.c.ty_terms(this.handle, args.u32, error);
      args.release();
      room = args.number("out_count");
      if (code === Status.BUFFER) continue;
      if (code !== Status.OK) throw toError(code, error);
      let start = 0;
      for (const bound of outEnds) {
        const end = Number(bound);
        terms.push(out.subarray(start, end));
        start = end;
      }
      return;
    }
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
    this.model = undefined;
  }

  /** Runs a call on a worker; resolves when it is done, rejects with its NativeError. */
  submit(op: number, collection: Pointer, args: Struct<never> | undefined, watch: Watch | undefined): Promise<void> {
    const words = args ? (address(args.u32) as Pointer) : null;
    return this.run(args, watch, (progress, error, token) =>
      this.c.ty_submit(this.handle, op, collection, words, progress, error, this.callback.ptr!, token),
    );
  }

  /** The same for a search of several collections. */
  submitMany(many: Struct<never>, args: Struct<never>, watch: Watch | undefined): Promise<void> {
    const [first, second] = [many, args].map(({ u32 }) => address(u32) as Pointer);
    return this.run([many, args], watch, (progress, error, token) =>
      this.c.ty_submit_many(first!, second!, progress, error, this.callback.ptr!, token),
    );
  }

  /** The same for a walk of a folder tree. */
  submitWalk(tree: Pointer, args: Struct<never>, watch: Watch | undefined): Promise<void> {
    return this.run(args, watch, (progress, error, token) =>
      this.c.ty_submit_walk(tree, address(args.u32) as Pointer, progress, error, this.callback.ptr!, token),
    );
  }

  coordinate(collection: Pointer, onPrepared: () => void): () => void {
    const [token, error] = [this.newToken(), newError()];
    this.coordinators.set(token, onPrepared);
    const end = () => {
      this.coordinators.delete(token);
    };
    const code = this.c.ty_coordinate(collection, this.callback.ptr!, token, error);
    if (code === Status.OK) return end;
    end();
    throw toError(code, error);
  }

  /** One that no call under way has. */
  private newToken(): number {
    let token: number;
    do {
      token = this.nextToken;
      this.nextToken = (this.nextToken + 1) >>> 0 || 1;
    } while (this.coordinators.has(token));
    return token;
  }

  private async run(
    args: unknown,
    watch: Watch | undefined,
    begin: (progress: BigUint64Array, error: Uint8Array, token: number) => number,
  ): Promise<void> {
    watch?.signal?.throwIfAborted();
    const error = newError();
    const progress = new BigUint64Array(new ArrayBuffer(24));
    const token = this.newToken();
    const done = new Promise<number>((resolve) => this.waiting.set(token, { resolve, args }));
    this.keepAlive ??= setInterval(() => {}, 1 << 30);
    const code = begin(progress, error, token);
    if (code !== Status.OK) {
      this.finish(token, code);
      throw toError(code, error);
    }
    const stop = () => {
      progress[2] = 1n;
    };
    watch?.signal?.addEventListener("abort", stop);
    const report = () => {
      // No progress before the call has begun.
      if (progress[1]! > 0n) watch?.onProgress?.(Number(progress[0]), Number(progress[1]));
    };
    const timer = watch?.onProgress && setInterval(report, 100);
    try {
      const result = await done;
      if (result !== Status.OK) throw toError(result, error);
      report();
    } finally {
      clearInterval(timer);
      watch?.signal?.removeEventListener("abort", stop);
    }
  }

  private finish(token: number, code: number): void {
    const onPrepared = this.coordinators.get(token);
    if (onPrepared !== undefined) {
      onPrepared();
      return;
    }
    const entry = this.waiting.get(token);
    this.waiting.delete(token);
    if (this.waiting.size === 0) {
      clearInterval(this.keepAlive);
      this.keepAlive = undefined;
    }
    entry?.resolve(code);
  }

  private openHandle(open: (out: BigUint64Array, error: Uint8Array) => number): NativeCollection {
    return new NativeCollection(this, this.c, this.openPointer(open));
  }

  private openPointer(open: (out: BigUint64Array, error: Uint8Array) => number): Pointer {
    const out = new BigUint64Array(new ArrayBuffer(8));
    const error = newError();
    const code = open(out, error);
    if (code !== Status.OK) throw toError(code, error);
    return Number(out[0]) as Pointer;
  }
}
