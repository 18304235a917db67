/** An open collection's handle, and calls with answers of unknown size, on this thread or on a worker. */
import type { Pointer } from "bun:ffi";
import type { PackedStrings } from "./packing.ts";
import { NativeError, Status } from "./status.ts";
import type { Struct } from "./structs.ts";
import { newError, type Symbols, toError } from "./ty_symbols.ts";

/** Most answers have fewer bytes. */
export const ANSWER_BYTES = 64 * 1024;

/** Watches a long call: `signal` stops it, `onProgress` is called about ten times a second. */
export interface Watch {
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** What a collection needs of its environment. */
export interface Workers {
  /** Runs a call off the caller's thread. */
  submit(op: number, collection: Pointer, args: Struct<never> | undefined, watch: Watch | undefined): Promise<void>;
  /** The same for a call of several collections. */
  submitMany(many: Struct<never>, args: Struct<never>, watch: Watch | undefined): Promise<void>;
  termsOf(texts: readonly string[]): Uint32Array[];
  /** Calls `onPrepared` whenever a save of the collection waits for a decision. @returns what ends that */
  coordinate(collection: Pointer, onPrepared: () => void): () => void;
  occurrences(texts: PackedStrings, strings: PackedStrings): Uint32Array | undefined;
}

/** The fields of a call's answer. */
type Answer = Struct<"out" | "out_capacity" | "out_bytes">;

type Answering =
  | "ty_get"
  | "ty_neighbours"
  | "ty_ids"
  | "ty_ask"
  | "ty_manifest"
  | "ty_prepared"
  | "ty_partitions"
  | "ty_damages"
  | "ty_saves"
  | "ty_changes"
  | "ty_same";

/** A handle of libty_runtime. Every use checks that it is open. */
export class NativeHandle {
  private pointer: Pointer | undefined;
  protected readonly error = newError();
  private scratch: Uint8Array = new Uint8Array(new ArrayBuffer(ANSWER_BYTES));

  constructor(
    protected readonly workers: Workers,
    protected readonly c: Symbols,
    handle: Pointer,
  ) {
    this.pointer = handle;
  }

  protected get handle(): Pointer {
    if (this.pointer === undefined) throw new Error("this collection is closed");
    return this.pointer;
  }

  /** What a call of several handles needs of each: see `NativeMany`. */
  get shared(): { readonly workers: Workers; readonly c: Symbols; readonly handle: Pointer } {
    return { workers: this.workers, c: this.c, handle: this.handle };
  }

  /** Closes the collection; unsaved changes are dropped. */
  close(): void {
    if (this.pointer === undefined) return;
    this.c.ty_collection_close(this.pointer);
    this.pointer = undefined;
  }

  protected check(code: number): void {
    if (code !== Status.OK) throw toError(code, this.error);
  }

  /** Calls with the scratch buffer, again with a larger one where it was too small. */
  protected answer(name: Answering, args: Answer): Uint8Array {
    const answer = this.answerUnlessLarge(name, args);
    if (answer === undefined) throw toError(Status.LARGE, this.error);
    return answer;
  }

  /** The same; undefined for a query that is too large for this thread. */
  protected answerUnlessLarge(name: Answering, args: Answer): Uint8Array | undefined {
    let out = this.scratch;
    for (;;) {
      args.bytes("out", "out_capacity", out);
      const code = this.c[name](this.handle, args.u32, this.error);
      const needed = args.number("out_bytes");
      if (code === Status.OK) {
        args.release();
        return out.subarray(0, needed);
      }
      if (code === Status.LARGE) return undefined;
      if (code !== Status.BUFFER) throw toError(code, this.error);
      out = this.grow(needed);
    }
  }

  /** Calls on a worker, with a buffer of its own: other calls use the scratch buffer meanwhile. */
  protected async answerOff<T>(
    op: number,
    args: Answer,
    expectedBytes: number,
    watch: Watch | undefined,
    decode: (answer: Uint8Array) => T,
  ): Promise<T> {
    let out = new Uint8Array(new ArrayBuffer(Math.max(ANSWER_BYTES, expectedBytes)));
    for (;;) {
      args.bytes("out", "out_capacity", out);
      try {
        await this.workers.submit(op, this.handle, args, watch);
        return decode(out.subarray(0, args.number("out_bytes")));
      } catch (error) {
        if (!(error instanceof NativeError) || error.status !== Status.BUFFER) throw error;
        out = new Uint8Array(new ArrayBuffer(args.number("out_bytes")));
      }
    }
  }

  private grow(bytes: number): Uint8Array {
    const out = new Uint8Array(new ArrayBuffer(Math.ceil(bytes * 1.25)));
    // A huge answer's buffer is not kept.
    if (out.byteLength <= 4 * 1024 * 1024) this.scratch = out;
    return out;
  }
}
