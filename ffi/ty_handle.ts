/** An open collection's handle, and calls with answers of unknown size, on this thread or on a worker. */
import type { Pointer } from "bun:ffi";
import { NativeError, Status } from "./status.ts";
import { newError, type Symbols, toError } from "./ty_symbols.ts";
import type { Words } from "./words.ts";

const ANSWER_BYTES = 64 * 1024;

/** Watches a long call: `signal` stops it, `onProgress` is called about ten times a second. */
export interface Watch {
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** What a collection needs of its environment. */
export interface Workers {
  /** Runs a call off the caller's thread. */
  submit(op: number, collection: Pointer, args: Words | undefined, watch: Watch | undefined): Promise<void>;
  termsOf(texts: readonly string[]): Uint32Array[];
}

type Answering =
  | "ty_get"
  | "ty_ids"
  | "ty_ask"
  | "ty_manifest"
  | "ty_partitions"
  | "ty_damages"
  | "ty_superseded"
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

  /** Closes the collection; unsaved changes are dropped. */
  close(): void {
    if (this.pointer === undefined) return;
    this.c.ty_collection_close(this.pointer);
    this.pointer = undefined;
  }

  protected check(code: number): void {
    if (code !== Status.OK) throw toError(code, this.error);
  }

  /** Calls with the scratch buffer, again with a larger one where it was too small. `at`: index of the field `out`. */
  protected answer(name: Answering, words: Words, at: number): Uint8Array {
    const answer = this.answerUnlessLarge(name, words, at);
    if (answer === undefined) throw toError(Status.LARGE, this.error);
    return answer;
  }

  /** The same; undefined for a query that is too large for this thread. */
  protected answerUnlessLarge(name: Answering, words: Words, at: number): Uint8Array | undefined {
    let out = this.scratch;
    for (;;) {
      words.pointer(at, out).integer(at + 1, out.byteLength);
      const code = this.c[name](this.handle, words.u32, this.error);
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

  /** Calls on a worker, with a buffer of its own: other calls use the scratch buffer meanwhile. */
  protected async answerOff<T>(
    op: number,
    words: Words,
    at: number,
    expectedBytes: number,
    watch: Watch | undefined,
    decode: (answer: Uint8Array) => T,
  ): Promise<T> {
    let out = new Uint8Array(new ArrayBuffer(Math.max(ANSWER_BYTES, expectedBytes)));
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
    // A huge answer's buffer is not kept.
    if (out.byteLength <= 4 * 1024 * 1024) this.scratch = out;
    return out;
  }
}
