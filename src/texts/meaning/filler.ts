/**
 * Fills the collections that a process uses with vectors of meaning: in the background of a process that stays, while no
 * call runs; and before one that does not ends, for the rows that it put. A kill loses a batch at most. Two processes at
 * one collection take turns: a process that finds that another was faster waits while the other goes on.
 */
import { CancelledError } from "../../errors.ts";
import type { Collection } from "../../store/collection.ts";
import type { Upkeep } from "../../store/store.ts";
import type { SentenceEncoder } from "./encoder.ts";
import { BATCH_ROWS, encodeBatch } from "./fill.ts";
import { canHaveMeaning, hasMeaning } from "./setting.ts";

/** Without a call for so long a process is idle. */
const IDLE_MS = 500;
/** How often a batch is offered while another process has the writer's lock, or changes wait for a save here. */
const LOCKED_MS = 250;
/** How long a process waits, at least and at most, that finds another one filling. */
const YIELD_MS = [4_000, 8_000] as const;
/** A collection that could not be filled, as on a full disk, is tried again after so long. */
const FAILED_MS = 600_000;

/** What is filled by itself; nothing by default. */
export interface FillingOptions {
  /** While the process runs. */
  background?: boolean | undefined;
  /** Before it ends. */
  atClose?: boolean | undefined;
  /** Gets what failed: the answers of calls do not say it. */
  onFailed?: ((name: string, error: unknown) => void) | undefined;
}

/** A collection that may have rows without vectors. */
interface Waiting {
  /** Not before this time, by `performance.now`. */
  notBefore: number;
  /** Its vectors when another process was seen to fill it. */
  others: number | undefined;
}

export class Filler implements Upkeep {
  /** The last used one last. */
  private readonly waiting = new Map<Collection, Waiting>();
  /** Stops the encoding under way where it is not 0. */
  private readonly stop = new Uint32Array(1);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: Promise<void> | undefined;
  private usedAt = 0;
  private isClosed = false;

  constructor(
    private readonly encoder: SentenceEncoder,
    private readonly options: FillingOptions,
  ) {}

  /** A call uses a collection: what is under way stops, and begins again once no call has come for a while. */
  used(collection: Collection): void {
    const { background, atClose } = this.options;
    if (this.isClosed || (!background && !atClose)) return;
    this.usedAt = performance.now();
    this.stop[0] = 1;
    if (!canHaveMeaning(collection.schema)) return;
    const entry = this.waiting.get(collection) ?? { notBefore: 0, others: undefined };
    this.waiting.delete(collection);
    this.waiting.set(collection, entry);
    if (background) this.wait(IDLE_MS);
  }

  /** Stops what is under way, and does what is to be done before the process ends, until `until`. */
  async close(until: number): Promise<void> {
    this.isClosed = true;
    this.stop[0] = 1;
    clearTimeout(this.timer);
    await this.running;
    if (!this.options.atClose) return;
    for (const [collection] of [...this.waiting].reverse()) {
      if (collection.written > 0) await this.guarded(collection, () => this.fillWritten(collection, until));
    }
  }

  private wait(ms: number): void {
    if (this.timer !== undefined || this.running || this.isClosed) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.running = this.look().finally(() => {
        this.running = undefined;
        this.rest();
      });
    }, ms);
    this.timer.unref();
  }

  /** Waits for what is to be done next. */
  private rest(): void {
    const times = [...this.waiting.values()].map(({ notBefore }) => notBefore);
    if (times.length === 0) return;
    const now = performance.now();
    this.wait(Math.max(IDLE_MS - (now - this.usedAt), Math.min(...times) - now, 1));
  }

  /** Fills one collection after the other until a call comes. */
  private async look(): Promise<void> {
    while (!this.isClosed && performance.now() - this.usedAt >= IDLE_MS) {
      const now = performance.now();
      const next = [...this.waiting].reverse().find(([, { notBefore }]) => notBefore <= now);
      if (next === undefined) return;
      const [collection, entry] = next;
      await this.guarded(collection, () => this.fillSome(collection, entry));
    }
  }

  /** Runs `work`; a failure keeps the collection from being tried again soon. */
  private async guarded(collection: Collection, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const entry = this.waiting.get(collection);
      // A collection that was dropped, renamed or altered is another object with its next call.
      if (!isThere(collection)) this.waiting.delete(collection);
      else if (entry) {
        entry.notBefore = performance.now() + FAILED_MS;
        if (!(error instanceof CancelledError)) this.options.onFailed?.(collection.name, error);
      }
    }
  }

  /** One batch. */
  private async fillSome(collection: Collection, entry: Waiting): Promise<void> {
    if (collection.isBusy) {
      entry.notBefore = performance.now() + LOCKED_MS;
      return;
    }
    const { text_rows, meaning_rows } = collection.stats();
    const isDone = text_rows === meaning_rows && (await this.encoder.load());
    if (isDone || !hasMeaning(collection) || !(await this.encoder.load())) {
      this.waiting.delete(collection);
      return;
    }
    if (entry.others !== undefined && meaning_rows > entry.others) return this.yieldTo(entry, meaning_rows);
    entry.others = undefined;
    this.stop[0] = 0;
    const batch = await encodeBatch(collection, BATCH_ROWS, this.stop, true);
    if (batch.count === 0) {
      // The texts that are left cannot be read.
      if (this.stop[0] === 0) this.waiting.delete(collection);
      return;
    }
    const isWanted = () => hasMeaning(collection);
    let put = await collection.putMeaningAside(batch, isWanted);
    while (put === undefined && !this.isClosed) {
      await Bun.sleep(LOCKED_MS);
      put = await collection.putMeaningAside(batch, isWanted);
    }
    if (put !== undefined && put < batch.count / 2) this.yieldTo(entry, collection.stats().meaning_rows);
  }

  private yieldTo(entry: Waiting, others: number): void {
    const [least, most] = YIELD_MS;
    entry.others = others;
    entry.notBefore = performance.now() + least + Math.random() * (most - least);
  }

  /** As many rows as this process has put, which are the last ones. */
  private async fillWritten(collection: Collection, until: number): Promise<void> {
    const { text_rows, meaning_rows } = collection.stats();
    let left = Math.min(collection.written, text_rows - meaning_rows);
    if (left <= 0 || !hasMeaning(collection) || !(await this.encoder.load())) return;
    this.stop[0] = 0;
    const timer = setTimeout(() => this.stop.fill(1), Math.max(0, until - performance.now()));
    try {
      while (left > 0 && performance.now() < until) {
        const batch = await encodeBatch(collection, Math.min(left, BATCH_ROWS), this.stop);
        const isWanted = () => hasMeaning(collection);
        if (batch.count === 0 || (await collection.putMeaningAside(batch, isWanted)) === undefined) return;
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
