/**
 * Makes the missing vectors of meaning of the collections that a process uses. A process that stays, such as `svc mcp`,
 * does it in the background while no call runs. A process that ends, such as `svc mem add`, does it before its end, for
 * the rows that it put.
 *
 * The vectors are saved in batches, so a kill loses one batch at most. Two processes may encode the same batch once; the
 * one whose vectors were not needed then waits some seconds and looks again.
 */
import type { MeaningBatch } from "../../../ffi/ty_collection.ts";
import { CancelledError } from "../../errors.ts";
import type { Collection } from "../../store/collection.ts";
import type { Upkeep } from "../../store/store.ts";
import type { SentenceEncoder } from "./encoder.ts";
import { BATCH_ROWS, encodeBatch } from "./fill.ts";
import { canHaveMeaning, isMeaningOn } from "./setting.ts";

/** A process is idle when no call has come for this time. */
const IDLE_MS = 500;
/** Time between two attempts while another process has the writer's lock, or while changes here wait for a save. */
const LOCKED_MS = 250;
/** How long a process waits when another one is filling: a random time between these, so that two do not stay in step. */
const YIELD_MS = [4_000, 8_000] as const;
/** After a failure, such as a full disk, a collection is tried again after this time. */
const FAILED_MS = 600_000;

/** When vectors are made without `svc mem build-meaning`. By default none are. */
export interface FillingOptions {
  /** While the process is idle. */
  background?: boolean | undefined;
  /** Before the process ends. */
  atClose?: boolean | undefined;
  /** Called with each failure, as no answer of a call can name it. */
  onFailed?: ((name: string, error: unknown) => void) | undefined;
}

/** A collection that may have rows without vectors. */
interface Waiting {
  /** It is not tried before this time of `performance.now`. */
  notBefore: number;
  /** The number of its vectors when another process was last seen filling it. */
  othersCount: number | undefined;
}

export class BackgroundFiller implements Upkeep {
  /** In the order of their last use. */
  private readonly waiting = new Map<Collection, Waiting>();
  /** Native code polls it: the encoding under way stops if it is not 0. */
  private readonly stop = new Uint32Array(1);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: Promise<void> | undefined;
  private usedAt = 0;
  private isClosed = false;

  constructor(
    private readonly encoder: SentenceEncoder,
    private readonly options: FillingOptions,
  ) {}

  /** A call uses a collection. Filling stops at once, and goes on when the process is idle again. */
  used(collection: Collection): void {
    const { background, atClose } = this.options;
    if (this.isClosed || (!background && !atClose)) return;
    this.usedAt = performance.now();
    this.stop[0] = 1;
    if (!canHaveMeaning(collection.schema)) return;
    const entry = this.waiting.get(collection) ?? { notBefore: 0, othersCount: undefined };
    this.waiting.delete(collection);
    this.waiting.set(collection, entry);
    if (background) this.schedule(IDLE_MS);
  }

  /** Stops filling; with `atClose` first makes the vectors of the rows that this process put, until the time `until`. */
  async close(until: number): Promise<void> {
    this.isClosed = true;
    this.stop[0] = 1;
    clearTimeout(this.timer);
    await this.running;
    if (!this.options.atClose) return;
    for (const [collection] of [...this.waiting].reverse()) {
      if (collection.changedRows > 0) await this.runGuarded(collection, () => this.fillWritten(collection, until));
    }
  }

  private schedule(ms: number): void {
    if (this.timer !== undefined || this.running || this.isClosed) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.running = this.fillIdle().finally(() => {
        this.running = undefined;
        this.scheduleNext();
      });
    }, ms);
    this.timer.unref();
  }

  /** Schedules the next attempt, if a collection is left. */
  private scheduleNext(): void {
    const times = [...this.waiting.values()].map(({ notBefore }) => notBefore);
    if (times.length === 0) return;
    const now = performance.now();
    this.schedule(Math.max(IDLE_MS - (now - this.usedAt), Math.min(...times) - now, 1));
  }

  /** Fills one collection after the other, the last used one first, until a call comes. */
  private async fillIdle(): Promise<void> {
    while (!this.isClosed && performance.now() - this.usedAt >= IDLE_MS) {
      const now = performance.now();
      const next = [...this.waiting].reverse().find(([, { notBefore }]) => notBefore <= now);
      if (next === undefined) return;
      const [collection, entry] = next;
      await this.runGuarded(collection, () => this.fillBatch(collection, entry));
    }
  }

  /** Runs `work`. After a failure the collection is not tried again for `FAILED_MS`. */
  private async runGuarded(collection: Collection, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const entry = this.waiting.get(collection);
      // The next call that uses a dropped, renamed or altered collection brings another object for it.
      if (!isThere(collection)) this.waiting.delete(collection);
      else if (entry) {
        entry.notBefore = performance.now() + FAILED_MS;
        if (!(error instanceof CancelledError)) this.options.onFailed?.(collection.name, error);
      }
    }
  }

  /** Makes and saves one batch of vectors. */
  private async fillBatch(collection: Collection, entry: Waiting): Promise<void> {
    if (collection.isBusy) {
      entry.notBefore = performance.now() + LOCKED_MS;
      return;
    }
    const isWanted = isMeaningOn(collection) && (await this.encoder.load());
    // After the model was loaded, because only vectors of this model count.
    const { text_rows, meaning_rows } = collection.stats();
    if (!isWanted || text_rows === meaning_rows) {
      this.waiting.delete(collection);
      return;
    }
    if (entry.othersCount !== undefined && meaning_rows > entry.othersCount) return this.yieldTo(entry, meaning_rows);
    entry.othersCount = undefined;
    this.stop[0] = 0;
    const batch = await encodeBatch(collection, BATCH_ROWS, this.stop, true);
    if (batch.count === 0) {
      // Nothing was encoded and nothing stopped it: the texts that are left are damaged.
      if (this.stop[0] === 0) this.waiting.delete(collection);
      return;
    }
    let put = await this.put(collection, batch);
    while (put === undefined && !this.isClosed) {
      await Bun.sleep(LOCKED_MS);
      put = await this.put(collection, batch);
    }
    if (put !== undefined && put < batch.count / 2) this.yieldTo(entry, collection.stats().meaning_rows);
  }

  /** Saves a batch, unless meaning was turned off meanwhile. @returns the vectors added; undefined: try again later */
  private put(collection: Collection, batch: MeaningBatch): Promise<number | undefined> {
    return collection.putMeaningAside(batch, () => isMeaningOn(collection));
  }

  /** Waits while another process fills the collection, which has `count` vectors now. */
  private yieldTo(entry: Waiting, count: number): void {
    const [least, most] = YIELD_MS;
    entry.othersCount = count;
    entry.notBefore = performance.now() + least + Math.random() * (most - least);
  }

  /** Makes as many vectors as this process has put rows: rows are encoded from the last one back. */
  private async fillWritten(collection: Collection, until: number): Promise<void> {
    if (!isMeaningOn(collection) || !(await this.encoder.load())) return;
    const { text_rows, meaning_rows } = collection.stats();
    let left = Math.min(collection.changedRows, text_rows - meaning_rows);
    this.stop[0] = 0;
    const timer = setTimeout(() => this.stop.fill(1), Math.max(0, until - performance.now()));
    try {
      while (left > 0 && performance.now() < until) {
        const batch = await encodeBatch(collection, Math.min(left, BATCH_ROWS), this.stop);
        if (batch.count === 0 || (await this.put(collection, batch)) === undefined) return;
        left -= batch.count;
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

function isThere(collection: Collection): boolean {
  try {
    return collection.isThere;
  } catch {
    return false; // closed
  }
}
