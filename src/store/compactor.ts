/**
 * Compacts the collections of a store by itself: in the background of a process that stays, and before one that does not
 * ends. It keeps the history. A kill leaves it undone.
 *
 * A short compaction holds the writer's lock: one at a time, never of a collection that is being written, here or by
 * another process, or has unsaved changes, and it yields to both. A long one runs while others write, one at a time too.
 */
import { CancelledError } from "../errors.ts";
import { type Counters, compactionMs, dueOf, isSlowToOpen } from "./compaction.ts";
import type { Writer } from "./writer.ts";

/** Without a save for so long a collection is idle. */
const IDLE_MS = 500;
/** How often a collection that is saved all the time is looked at, in saves. */
const LOOK_SAVES = 64;
/**
 * A compaction that is estimated to take longer runs beside writers. A shorter one holds the lock, because it is done
 * before many writes have waited: if it is overdue even while writes wait, else when the collection is idle.
 */
const SHORT_MS_MAX = 1_000;
/**
 * How much is due before a long one begins while the collection is being saved: an import would repeat one that begins at
 * once. 1,000,000 notes in commits of 500 took 81 µs of CPU a row with 1, where the rows alone take 27. With 8 the rows since the
 * last one are at most four times those before it.
 */
const BUSY_DUE = 8;
/**
 * A short compaction is cancelled after this time if writes wait. A shorter limit would cancel and restart it again and
 * again.
 */
const PATIENT_MS = 10_000;
/** One that yielded, or found the lock taken, is tried again after so long. */
const AGAIN_MS = 5_000;
/** The same of a long one, which reads the whole collection before it finds that another process compacts it. */
const BESIDE_AGAIN_MS = 60_000;
/** Saves after which a compaction that failed is tried again. */
const SAVES_AFTER_FAILURE = 512;

/** What a store does by itself. */
export interface CompactionOptions {
  /** While it is open. */
  background?: boolean | undefined;
  /** Before it closes, for at most two seconds, where it is overdue. */
  atClose?: boolean | undefined;
  /** Gets what failed: the answers of calls do not say it. */
  onFailed?: ((name: string, error: unknown) => void) | undefined;
  /** Called at the end of a process that had no time for what is long overdue; with the saves since the last one. */
  onLeft?: ((name: string, saves: number) => void) | undefined;
}

/** A collection that this process saved. */
interface Saved {
  saves: number;
  /** When, by `performance.now`. */
  at: number;
  /** Not before so many saves. */
  notBefore: number;
  /** And not before this time. */
  notBeforeMs: number;
}

type Outcome = "done" | "later" | "failed";

export class Compactor {
  private readonly saved = new Map<Writer, Saved>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: Promise<void> | undefined;
  /** A long one, and of which collection. */
  private beside: { collection: Writer; ended: Promise<void> } | undefined;
  private readonly stopping = new AbortController();

  constructor(private readonly options: CompactionOptions) {}

  /** A save of a collection has ended. Costs nothing but now and then: nothing is read of it here. */
  onSaved(collection: Writer): void {
    const { background, atClose } = this.options;
    if (!background && !atClose) return;
    const entry = this.saved.get(collection) ?? { saves: 0, at: 0, notBefore: 0, notBeforeMs: 0 };
    this.saved.set(collection, entry);
    entry.saves++;
    entry.at = performance.now();
    if (!background || this.stopping.signal.aborted) return;
    // After the answer, which is sent first.
    if (entry.saves % LOOK_SAVES === 0) setTimeout(() => this.begin(collection, entry, false), 1).unref();
    this.wait();
  }

  /**
   * Stops what is under way, and does what is due at the end, until `until`. Before the collections are closed.
   */
  async close(until: number): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.timer);
    await Promise.all([this.running, this.beside?.ended]);
    if (!this.options.atClose) return;
    for (const collection of this.saved.keys()) {
      const counters = this.countersOf(collection);
      const due = counters ? dueOf(counters) : 0;
      if (!counters || due < 2) continue;
      const left = until - performance.now();
      if (compactionMs(counters) < left) await this.compact(collection, AbortSignal.timeout(left), 0, 2);
      else if (due >= 4) this.options.onLeft?.(collection.name, counters.saves);
    }
  }

  private wait(): void {
    if (this.timer !== undefined || this.stopping.signal.aborted) return;
    this.timer = setTimeout(() => this.look(), IDLE_MS);
    this.timer.unref();
  }

  private look(): void {
    this.timer = undefined;
    const idle = performance.now() - IDLE_MS;
    for (const [collection, entry] of this.saved) {
      const isLater = entry.at > idle || performance.now() < entry.notBeforeMs;
      if (isLater || this.running || this.beside?.collection === collection) this.wait();
      // What is not due has to be saved first to become so.
      else if (!this.begin(collection, entry, true) && entry.notBefore <= entry.saves) this.saved.delete(collection);
    }
  }

  /** Begins what is due. @returns false if nothing was begun */
  private begin(collection: Writer, entry: Saved, isIdle: boolean): boolean {
    if (this.stopping.signal.aborted || entry.saves < entry.notBefore) return false;
    if (performance.now() < entry.notBeforeMs) return false;
    const counters = this.countersOf(collection);
    if (!counters) return false;
    const due = dueOf(counters);
    const isShort = compactionMs(counters) <= SHORT_MS_MAX;
    const isDue = isShort ? due >= (isIdle ? 1 : 2) : isLongDue(counters, isIdle);
    if (!isDue || (isShort ? this.running : this.beside)) return false;
    const patientMs = due >= 2 ? PATIENT_MS : 0;
    const compacted = isShort
      ? this.compact(collection, this.stopping.signal, patientMs, isIdle ? 1 : 2)
      : this.compactBeside(collection, isIdle);
    const ended = compacted
      .then((outcome) => {
        if (outcome === "failed") entry.notBefore = entry.saves + SAVES_AFTER_FAILURE;
        if (outcome !== "later") return;
        entry.notBeforeMs = performance.now() + (isShort ? AGAIN_MS : BESIDE_AGAIN_MS);
      })
      .finally(() => {
        if (isShort) this.running = undefined;
        else this.beside = undefined;
        this.wait();
      });
    if (isShort) this.running = ended;
    else this.beside = { collection, ended };
    return true;
  }

  /**
   * Compacts if, with the lock held, at least so much is still due: several processes see that a compaction is due at
   * about the same time, and each of theirs would keep all writers waiting.
   */
  private compact(collection: Writer, signal: AbortSignal, patientMs: number, least: number): Promise<Outcome> {
    const isStillDue = () => dueOf(collection.stats()) >= least;
    return this.outcomeOf(collection, () => collection.compactAside(signal, patientMs, isStillDue));
  }

  private compactBeside(collection: Writer, isIdle: boolean): Promise<Outcome> {
    const isStillDue = () => isLongDue(collection.stats(), isIdle);
    return this.outcomeOf(collection, () => collection.compactBeside(this.stopping.signal, isStillDue));
  }

  private async outcomeOf(collection: Writer, work: () => Promise<boolean>): Promise<Outcome> {
    try {
      return (await work()) ? "done" : "later";
    } catch (error) {
      if (error instanceof CancelledError) return "later";
      this.options.onFailed?.(collection.name, error);
      return "failed";
    }
  }

  /** Undefined where it cannot be read: the next call of it says why. */
  private countersOf(collection: Writer) {
    try {
      return collection.hasStaged ? undefined : collection.stats();
    } catch {
      return undefined;
    }
  }
}

/** Whether a compaction that runs beside writers is due. */
function isLongDue(counters: Counters, isIdle: boolean): boolean {
  const due = dueOf(counters);
  return isIdle ? due >= 1 || isSlowToOpen(counters) : due >= BUSY_DUE;
}
