/**
 * Changes of one collection, one behind the other. A change is saved before it is answered, or staged: visible in this process at once,
 * durable with the `save` that ends it. From the first staged change to that save the writer's lock is held, so that another process's
 * write waits and fails with a name instead of being lost.
 */
import type { NativeCollection, PutMode, Watch } from "../../ffi/ty_collection.ts";
import { packStrings } from "../../ffi/words.ts";
import { LOCK_WAIT_MS } from "../limits.ts";
import { fromNative } from "./failure.ts";
import { beginWithin } from "./lock.ts";
import { checkPacked, type PackedRows, packRows, type Rows } from "./pack.ts";
import type { Schema } from "./schema.ts";

export { Put } from "../../ffi/ty_collection.ts";

/** A call that waited in the queue tries for the lock at least this long. */
const LEAST_WAIT_MS = 1000;

/** Changes that become visible and durable together; handed to `change` and `stage`. */
export interface Transaction {
  put(mode: PutMode, rows: Rows | PackedRows, watch?: Watch): Promise<{ inserted: number; replaced: number }>;
  delete(ids: readonly string[]): Promise<number>;
  set(key: "default_target_recall" | "applied_tuner", value: unknown): void;
}

/** The writing half of a collection. */
export class Writer {
  private tail: Promise<unknown> = Promise.resolve();
  /** Work under way and in line. */
  private turns = 0;
  /** Rows and ids of staged changes; undefined while nothing is staged and the lock is not held. */
  private staged: number | undefined;

  /**
   * @param isSaved whether there is a save already
   * @param onLost called with a save that failed and dropped what was staged
   */
  constructor(
    private readonly name: string,
    private readonly schema: Schema,
    private readonly native: NativeCollection,
    private readonly ensureHome: () => void,
    private readonly onLost: () => void,
    public isSaved: boolean,
  ) {}

  /** Whether something is staged, under way or in line: then nobody may put another object in this one's place. */
  get isBusy(): boolean {
    return this.turns > 0 || this.hasStaged;
  }

  /** Whether changes wait for a save. */
  get hasStaged(): boolean {
    return this.staged !== undefined;
  }

  /**
   * Runs `work` with the writer's lock and saves what it changed. When it throws, nothing of it stays. Staged changes are saved first.
   */
  change<T>(work: (t: Transaction) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.inTurn(async (begin) => {
      await this.flush();
      await begin(signal);
      let result: T;
      try {
        result = await work(this.transaction(() => {}));
        signal?.throwIfAborted();
      } catch (error) {
        this.native.rollback();
        throw error;
      }
      await this.commit();
      return result;
    });
  }

  /**
   * Runs `work`, which makes one put or delete, and keeps the lock for the save to come. When it throws, what was staged before stays.
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
        if (changed > 0) this.staged = (this.staged ?? 0) + changed;
        else if (isFirst) this.native.rollback();
      }
    }, stands);
  }

  /** Makes what is staged durable; a collection that was never saved is saved as it is. */
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
   * Runs `work` when everything before it has ended.
   * @param stands what can be said of the collection when it fails
   */
  inTurn<T>(
    work: (begin: (signal: AbortSignal | undefined) => Promise<void>) => Promise<T>,
    stands?: string,
  ): Promise<T> {
    const asked = performance.now();
    const begin = (signal: AbortSignal | undefined) => {
      // Once there is a save, the memory directory is there and durable.
      if (!this.isSaved) this.ensureHome();
      // Counted from the call: of many that wait behind one another for a foreign lock, all give up together.
      const left = Math.max(LEAST_WAIT_MS, LOCK_WAIT_MS - (performance.now() - asked));
      return beginWithin(this.native, signal, left);
    };
    this.turns++;
    const turn = this.tail
      .then(() => work(begin))
      .finally(() => {
        this.turns--;
      })
      .catch((error) => {
        const asSaved = this.isSaved ? `; collection '${this.name}' stands as last saved` : "";
        throw fromNative(error, this.name, stands ?? asSaved);
      });
    this.tail = turn.catch(() => {});
    return turn;
  }

  /** Resolves when everything that was asked has ended. */
  async settled(): Promise<void> {
    for (let seen: unknown; seen !== this.tail; ) {
      seen = this.tail;
      await seen;
    }
  }

  /** Saves what is staged. A save that fails has dropped it: to say less would leave callers believing in it. */
  private async flush(): Promise<void> {
    const count = this.staged;
    if (count === undefined) return;
    try {
      await this.commit();
    } catch (error) {
      this.onLost();
      const lost = `; ${count} unsaved ${count === 1 ? "change is" : "changes are"} lost, collection '${this.name}' stands as last saved`;
      throw fromNative(error, this.name, lost);
    } finally {
      this.staged = undefined;
    }
  }

  private async commit(): Promise<void> {
    try {
      await this.native.save();
      this.isSaved = true;
    } catch (error) {
      this.native.rollback(); // where the save did not even begin
      throw error;
    }
  }

  private transaction(count: (changed: number) => void): Transaction {
    const { dim, filterColumns } = this.schema;
    return {
      put: async (mode, rows, watch) => {
        const packed = "keys" in rows ? rows : packRows(rows, filterColumns);
        checkPacked(packed, dim, filterColumns.length);
        const put = await this.native.put(mode, packed, watch);
        count(put.inserted + put.replaced);
        return put;
      },
      delete: async (ids) => {
        const removed = await this.native.delete(packStrings(ids));
        count(removed);
        return removed;
      },
      set: (key, value) => {
        this.native.set(key, JSON.stringify(value));
        count(1);
      },
    };
  }
}
