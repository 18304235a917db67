/**
 * Queues the changes of one collection. A change is saved before its call returns, or staged: visible in this process
 * at once, durable with the next `save`. From the first staged change to that save the writer's lock is held, so that
 * another process's write waits and fails with the holder's name instead of being lost.
 */

import { packStrings } from "../../ffi/packing.ts";
import { NativeError, Status } from "../../ffi/status.ts";
import type { NativeCollection, PutMode, Watch } from "../../ffi/ty_collection.ts";
import { LOCK_WAIT_MS, TEXT_EMBED_BYTES_MAX } from "../limits.ts";
import { fromNative } from "./failure.ts";
import { LEFT, UNSAVED } from "./holder.ts";
import { beginWithin, HolderWatch } from "./lock.ts";
import { checkPacked, type PackedRows, packRows, type Rows } from "./pack.ts";
import type { Schema } from "./schema.ts";
import { watchWaiting } from "./waiting.ts";

export { Put, type PutMode, type Watch } from "../../ffi/ty_collection.ts";

/** How long a call that waited in the queue for other work than the lock tries for it at least. */
const LEAST_WAIT_MS = 1000;

/** Changes that become visible and durable together; the argument of the callbacks of `change` and `stage`. */
export interface Transaction {
  put(mode: PutMode, rows: Rows | PackedRows, watch?: Watch): Promise<{ inserted: number; replaced: number }>;
  delete(ids: readonly string[]): Promise<number>;
  /** Sets a key of the manifest to a value that JSON can hold; a description of undefined is removed. */
  set(key: "default_target_recall" | "applied_tuner" | "name" | "description", value: unknown): void;
  /**
   * Sets one of the collection's notes to a value that JSON can hold, or removes it where that is undefined.
   * @param name 1 to 64 letters, digits and `-._:`
   * @throws ValueError for another name, and where all notes would have more than a MiB
   */
  note(name: string, value: unknown): void;
}

/** Changes that are staged and become durable together. */
interface Batch {
  /** Rows and ids. */
  changes: number;
  /** What the lock file says of it. */
  word: string;
}

/** What a writer needs of its collection's store. */
export interface WriterOptions {
  /** Makes the memory directory where it is missing. */
  ensureHome(): void;
  /** Throws where a change is refused. */
  refuseChanges(): void;
  /** Called after a failure of a collection that was never saved and has no staged changes. */
  onUnsaved(): void;
  /** Called when a save failed and dropped the staged changes, or may have dropped them. */
  onLost(): void;
  /** Called after each save but those of `change` with `first`. */
  onSaved(): void;
  /** Of the collection. */
  lockFile: string;
}

/** The writing half of a collection. */
export class Writer {
  private tail: Promise<unknown> = Promise.resolve();
  /** Number of running and queued calls. */
  private turns = 0;
  /** Undefined while nothing is staged and the lock is not held. */
  private staged: Batch | undefined;
  /** Who has kept the calls of this queue waiting. */
  private readonly watch = new HolderWatch();
  /** Makes a compaction that no caller waits for yield. */
  private onQueued: (() => void) | undefined;

  /** @param isSaved whether the collection has been saved */
  constructor(
    private readonly name: string,
    private readonly schema: Schema,
    private readonly native: NativeCollection,
    private readonly options: WriterOptions,
    public isSaved: boolean,
  ) {}

  /** Whether changes are staged, running or queued: then another object must not replace this one. */
  get isBusy(): boolean {
    return this.turns > 0 || this.hasStaged;
  }

  /** Whether staged changes wait for a save. */
  get hasStaged(): boolean {
    return this.staged !== undefined;
  }

  /** The staged changes, another object after each save of them; undefined while nothing is staged. */
  get batch(): object | undefined {
    return this.staged;
  }

  /** The clients that staged this batch are gone: other processes that wait for the lock get an error that says so. */
  left(batch: object): Promise<void> {
    return this.inTurn(async () => {
      if (this.staged === batch) this.says(this.staged, LEFT);
    });
  }

  /**
   * Runs `work` with the writer's lock and saves its changes; if it throws they are rolled back. Staged changes are
   * saved first.
   * @param first saves a collection that was never saved, in place of the ordinary save
   * @param waitMs how long another process's change is waited for at most
   */
  change<T>(
    work: (t: Transaction) => Promise<T>,
    signal?: AbortSignal,
    first?: () => Promise<void>,
    waitMs?: number,
  ): Promise<T> {
    return this.inTurn(async (begin) => {
      await this.flush();
      await begin(signal, waitMs);
      let result: T;
      try {
        result = await work(this.transaction(() => {}));
        signal?.throwIfAborted();
      } catch (error) {
        this.native.rollback();
        throw error;
      }
      await this.commit(this.isSaved ? undefined : first);
      // Who gives `first` writes much at once, and compacts by itself.
      if (first === undefined) this.options.onSaved();
      return result;
    });
  }

  /**
   * Runs `work`, which makes one put or delete, and keeps the lock until the next save. If it throws, earlier staged
   * changes stay.
   */
  stage<T>(work: (t: Transaction) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const stands = `; collection '${this.name}' stands as it was before the call`;
    return this.inTurn(async (begin) => {
      signal?.throwIfAborted();
      const isFirst = this.staged === undefined;
      if (isFirst) await begin(signal);
      let changed = 0;
      try {
        return await work(this.transaction((count) => (changed += count)));
      } finally {
        if (changed > 0) {
          this.staged ??= { changes: 0, word: "" };
          this.staged.changes += changed;
          this.says(this.staged, UNSAVED);
        } else if (isFirst) {
          this.native.rollback();
        }
      }
    }, stands);
  }

  /** Makes staged changes durable; a collection that was never saved is saved as it is. */
  save(): Promise<void> {
    return this.inTurn(async (begin) => {
      if (this.hasStaged) return this.flush();
      if (this.isSaved) return;
      await begin(undefined);
      await this.commit();
    });
  }

  /** A rewrite of the base: it saves and releases the lock by itself. Staged changes are saved first. */
  rebuild<T>(watch: Watch | undefined, work: () => Promise<T>): Promise<T> {
    return this.inTurn(async (begin) => {
      await this.flush();
      await begin(watch?.signal);
      try {
        const result = await work();
        this.isSaved = true;
        return result;
      } finally {
        this.native.rollback();
      }
    });
  }

  /**
   * A compaction that no caller waits for: where the lock is free, nothing is staged, and, unless it may keep others
   * waiting, no call is queued. It is cancelled, and throws a CancelledError, when `signal` aborts, and where a call is
   * queued here or another process waits for the lock, but not before it has run for `patientMs`.
   * @param isStillDue asked when the lock is held and the saves of other processes are known
   * @returns false where it could not be begun
   */
  async compactAside(signal: AbortSignal, patientMs: number, isStillDue: () => boolean): Promise<boolean> {
    if (this.hasStaged || !this.isSaved || (patientMs === 0 && this.turns > 0)) return false;
    return this.inTurn(async () => {
      if (this.hasStaged) return false;
      this.options.refuseChanges();
      try {
        this.native.begin();
      } catch (error) {
        if (error instanceof NativeError && error.status === Status.BUSY) return false;
        throw error;
      }
      if (!isStillDue()) {
        this.native.rollback();
        return true;
      }
      const stop = new AbortController();
      const began = performance.now();
      let timer: ReturnType<typeof setTimeout> | undefined;
      const yieldSoon = () => {
        timer ??= setTimeout(() => stop.abort(), Math.max(0, began + patientMs - performance.now()));
      };
      const unwatch = watchWaiting(this.options.lockFile, yieldSoon);
      this.onQueued = yieldSoon;
      if (this.turns > 1) yieldSoon();
      try {
        await this.native.compact({ signal: AbortSignal.any([signal, stop.signal]) }, true);
        return true;
      } finally {
        this.onQueued = undefined;
        unwatch();
        clearTimeout(timer);
        this.native.rollback();
      }
    });
  }

  /**
   * Runs `work` after everything queued before it.
   * @param stands the collection's state after a failure, as the end of a sentence
   */
  inTurn<T>(
    work: (begin: (signal: AbortSignal | undefined, waitMs?: number) => Promise<void>) => Promise<T>,
    stands?: string,
  ): Promise<T> {
    const calledAt = performance.now();
    const begin = (signal: AbortSignal | undefined, waitMs = LOCK_WAIT_MS) => {
      this.options.refuseChanges();
      // Once the collection is saved, the memory directory exists and is durable.
      if (!this.isSaved) this.options.ensureHome();
      // Counted from the call: queued calls that wait for another process's lock all time out together.
      const least = this.watch.isFresh ? 0 : LEAST_WAIT_MS;
      const left = Math.max(least, LOCK_WAIT_MS - (performance.now() - calledAt));
      const { watch } = this;
      const { lockFile } = this.options;
      return beginWithin(this.name, this.native, signal, Math.min(left, waitMs), lockFile, { calledAt, watch });
    };
    this.turns++;
    this.onQueued?.();
    const turn = this.tail
      .then(() => work(begin))
      .finally(() => {
        this.turns--;
      })
      .catch((error) => {
        const isUnsure = error instanceof NativeError && error.status === Status.UNSURE;
        if (!this.isSaved && !this.hasStaged && !isUnsure) this.options.onUnsaved();
        const asSaved = this.isSaved ? `; collection '${this.name}' stands as last saved` : "";
        throw fromNative(error, this.name, stands ?? asSaved);
      });
    this.tail = turn.catch(() => {});
    return turn;
  }

  /** Resolves when every call so far has ended. */
  async settled(): Promise<void> {
    for (let seen: unknown; seen !== this.tail; ) {
      seen = this.tail;
      await seen;
    }
  }

  /** Tells other processes what keeps the lock; a system call only where that is new. */
  private says(batch: Batch, word: string): void {
    if (batch.word !== word) this.native.says(word);
    batch.word = word;
  }

  /** Saves staged changes. A failed save has dropped them, or may have; its error tells how many. */
  private async flush(): Promise<void> {
    const count = this.staged?.changes;
    if (count === undefined) return;
    try {
      // Otherwise others end their waits in the middle of a long save.
      this.native.says("saving");
      await this.commit();
      this.options.onSaved();
    } catch (error) {
      this.options.onLost();
      const changes = `${count} unsaved ${count === 1 ? "change is" : "changes are"}`;
      const lost = `; ${changes} lost, collection '${this.name}' stands as last saved`;
      throw fromNative(error, this.name, lost);
    } finally {
      this.staged = undefined;
    }
  }

  private async commit(save = () => this.native.save()): Promise<void> {
    try {
      await save();
      this.isSaved = true;
    } catch (error) {
      this.native.rollback(); // where the save did not begin
      throw error;
    }
  }

  private transaction(count: (changed: number) => void): Transaction {
    const { dim, filterColumns } = this.schema;
    return {
      put: async (mode, rows, watch) => {
        const packed = "keys" in rows ? rows : packRows(rows, filterColumns);
        checkPacked(packed, dim, filterColumns.length);
        const put = await this.native.put(mode, packed, TEXT_EMBED_BYTES_MAX, watch);
        count(put.inserted + put.replaced);
        return put;
      },
      delete: async (ids) => {
        const removed = await this.native.delete(packStrings(ids));
        count(removed);
        return removed;
      },
      set: (key, value) => {
        this.native.set(key, value === undefined ? "" : JSON.stringify(value));
        count(1);
      },
      note: (name, value) => {
        this.native.note(name, value === undefined ? "" : JSON.stringify(value));
        count(1);
      },
    };
  }
}
