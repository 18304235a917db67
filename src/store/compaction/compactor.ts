/**
 * Compacts the collections of a store by itself: in the background of a long-running process, or before a short one ends.
 * It keeps the history. If the process is killed, the compaction has changed nothing.
 *
 * A short compaction holds the writer's lock. It is not begun while the collection is written, by this or another process,
 * or has unsaved changes, and it is cancelled if a write waits for it. A long one runs while others write. At most one of
 * each kind runs at a time.
 */
import { CancelledError } from "../../errors.ts";
import { type Counters, compactionMs, dueOf, isSlowToOpen } from "./due.ts";

/** A collection that was not saved for so long is idle. */
const IDLE_MS = 500;
/** A collection that is never idle is looked at after so many saves. */
const LOOK_SAVES = 64;
/**
 * A compaction that is estimated to take longer than this runs beside writers (`Collection.compactBeside`). A shorter one holds
 * the lock (`Collection.compactAside`), which costs less. It waits until the collection is idle, unless it is overdue.
 */
const SHORT_MS_MAX = 1_000;
/**
 * How much is due before a long one begins while the collection is being saved: an import would repeat one that begins at
 * once. With 8 the rows since the last one are at most four times those before it, and an import of 1,000,000 notes in
 * commits of 500 takes 29 µs of CPU a row, where the rows alone take 27.
 */
const BUSY_DUE = 8;
/**
 * If a short compaction is overdue and writes wait for it, it is cancelled after this time. With less time it could be
 * cancelled and restarted without end.
 */
const PATIENT_MS = 10_000;
/** After so long a short compaction is tried again that was cancelled, or found the lock taken. */
const AGAIN_MS = 5_000;
/** The same for a long one. It reads the whole collection before it finds out that another process is compacting it. */
const BESIDE_AGAIN_MS = 60_000;
/** A compaction that failed is tried again after so many saves. */
const SAVES_AFTER_FAILURE = 512;

/** A collection, as far as its compaction is concerned. */
export interface Compactable {
  readonly name: string;
  readonly isBusy: boolean;
  readonly hasStaged: boolean;
  stats(): Counters;
  compactAside(signal: AbortSignal, patientMs: number, isStillDue: () => boolean): Promise<boolean>;
  compactBeside(signal: AbortSignal, isStillDue: () => boolean): Promise<boolean>;
}

/** What a store does by itself. */
export interface CompactionOptions {
  /** Whether it compacts while it is open. */
  background?: boolean | undefined;
  /** Whether it compacts what is overdue before it closes, for at most two seconds. */
  atClose?: boolean | undefined;
  /** Gets the error of a compaction that failed: no caller waits for it. */
  onFailed?: ((name: string, error: unknown) => void) | undefined;
  /** Called at the end of a process that had no time for a compaction that is long overdue, with the saves since the last one. */
  onLeft?: ((name: string, saves: number) => void) | undefined;
}

/** A collection that this process saved. */
interface Saved {
  saves: number;
  /** When the last save was, by `performance.now`. */
  at: number;
  /** A compaction is not begun before so many saves, */
  notBefore: number;
  /** and not before this time. */
  notBeforeMs: number;
}

/** What `begin` did: began one; left it for later, because another one runs; or found nothing to do. */
type Begun = "begun" | "waits" | "nothing";
type Outcome = "done" | "later" | "failed";

export class Compactor {
  private readonly saved = new Map<Compactable, Saved>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The short compaction that runs. */
  private running: Promise<void> | undefined;
  /** The long compaction that runs, and its collection. */
  private beside: { collection: Compactable; ended: Promise<void> } | undefined;
  private readonly stopping = new AbortController();

  constructor(private readonly options: CompactionOptions) {}

  /** A save of a collection has ended. This reads nothing of the collection, so it takes no time from saves. */
  onSaved(collection: Compactable): void {
    const { background, atClose } = this.options;
    if (!background && !atClose) return;
    const entry = this.saved.get(collection) ?? { saves: 0, at: 0, notBefore: 0, notBeforeMs: 0 };
    this.saved.set(collection, entry);
    entry.saves++;
    entry.at = performance.now();
    if (!background || this.stopping.signal.aborted) return;
    // Later, so that the answer to the save is sent first.
    if (entry.saves % LOOK_SAVES === 0) setTimeout(() => this.begin(collection, entry, false), 1).unref();
    this.wait();
  }

  /** Stops what runs, and compacts what is overdue, until `until`. Call it before the collections are closed. */
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
      // A save that takes long has not ended: the collection is not idle.
      const isLater = entry.at > idle || collection.isBusy || performance.now() < entry.notBeforeMs;
      if (isLater || this.running || this.beside?.collection === collection) this.wait();
      else if (this.begin(collection, entry, true) !== "nothing" || entry.notBefore > entry.saves) continue;
      // It is not due, and becomes due only by a save, which adds it again.
      else this.saved.delete(collection);
    }
  }

  /** Begins a compaction if one is due. */
  private begin(collection: Compactable, entry: Saved, isIdle: boolean): Begun {
    if (this.stopping.signal.aborted || entry.saves < entry.notBefore) return "nothing";
    if (performance.now() < entry.notBeforeMs) return "nothing";
    const counters = this.countersOf(collection);
    if (!counters) return "nothing";
    const due = dueOf(counters);
    const isShort = compactionMs(counters) <= SHORT_MS_MAX;
    if (isShort ? due < 1 : !isLongDue(counters, isIdle)) return "nothing";
    if (isShort ? this.running || (due < 2 && !isIdle) : this.beside) return "waits";
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
    return "begun";
  }

  /**
   * A short compaction. Several processes see at about the same time that one is due, and each of them would keep all writers
   * waiting, so it is only done if under the lock `dueOf` is still at least `least`.
   */
  private compact(collection: Compactable, signal: AbortSignal, patientMs: number, least: number): Promise<Outcome> {
    const isStillDue = () => dueOf(collection.stats()) >= least;
    return this.outcomeOf(collection, () => collection.compactAside(signal, patientMs, isStillDue));
  }

  /** A long compaction. */
  private compactBeside(collection: Compactable, isIdle: boolean): Promise<Outcome> {
    const isStillDue = () => isLongDue(collection.stats(), isIdle);
    return this.outcomeOf(collection, () => collection.compactBeside(this.stopping.signal, isStillDue));
  }

  private async outcomeOf(collection: Compactable, work: () => Promise<boolean>): Promise<Outcome> {
    try {
      return (await work()) ? "done" : "later";
    } catch (error) {
      if (error instanceof CancelledError) return "later";
      this.options.onFailed?.(collection.name, error);
      return "failed";
    }
  }

  /** Undefined if the collection cannot be read: its next call reports why. */
  private countersOf(collection: Compactable) {
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
