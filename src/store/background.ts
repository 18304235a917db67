/** Changes of a collection that no caller waits for: compactions, and vectors of meaning. They give way to other calls. */
import { existsSync } from "node:fs";
import { NativeError, Status } from "../../ffi/status.ts";
import type { MeaningBatch } from "../../ffi/ty_collection.ts";
import { TimeoutError } from "../errors.ts";
import { Participant } from "./coordination/coordinator.ts";
import { fromNative } from "./failure.ts";
import { watchWaiting } from "./lock/waiting.ts";
import { Writer } from "./writer.ts";

/** A writer with work in the background. */
export class BackgroundWriter extends Writer {
  /**
   * A compaction that no caller waits for, and that holds the lock. It is begun if the lock is free, nothing is staged and,
   * with 0 `patientMs`, no call is queued. It is cancelled if `signal` aborts, or if after `patientMs` a call is queued here
   * or another process waits for the lock. It keeps the history.
   * @param isStillDue called when the lock is held and the saves of other processes are known; false: do not compact
   * @returns false if it could not be begun
   * @throws CancelledError if it was cancelled
   */
  async compactAside(signal: AbortSignal, patientMs: number, isStillDue = () => true): Promise<boolean> {
    // Other machines could not save for as long as it takes, or it would lose to each of their saves.
    if (this.committer.participant) return this.compactBeside(signal, isStillDue);
    if (patientMs === 0 && this.queue.length > 0) return false;
    const compacted = await this.aside(async () => {
      if (isStillDue()) await this.yielding(signal, patientMs);
      return true;
    });
    return compacted ?? false;
  }

  /**
   * A compaction that no caller waits for, and that runs while others save. It holds the lock for about as long as two saves
   * take. It costs more than `compactAside`, because it reads the collection with a handle of its own. It keeps the history.
   * @param isStillDue called before it begins; false: do not compact
   * @returns false if something is staged, another process compacts the collection, or it was dropped
   * @throws CancelledError if `signal` aborted
   */
  async compactBeside(signal: AbortSignal, isStillDue = () => true): Promise<boolean> {
    if (this.hasStaged || !this.isSaved) return false;
    this.options.refuseChanges();
    if (!isStillDue()) return true;
    const own = this.options.openAnother();
    const { coordinator } = this.options;
    const participant = coordinator && new Participant(this.name, own, coordinator, signal);
    try {
      await own.compactBeside({ signal });
      return true;
    } catch (thrown) {
      const error = participant?.cause(thrown) ?? thrown;
      const isNative = error instanceof NativeError;
      if (isNative && (error.status === Status.BUSY || error.status === Status.NOT_FOUND)) return false;
      // An IO error without a failed system call: the folder was removed or replaced.
      const isOther = isNative && error.status === Status.IO && error.errno === 0;
      if (isOther || !existsSync(this.committer.lockFile)) return false;
      // Other machines committed all the time.
      if (error instanceof TimeoutError) return false;
      throw fromNative(error, this.name);
    } finally {
      await participant?.release();
      own.close();
    }
  }

  /**
   * Adds vectors of meaning and saves, as a change that no caller waits for: where the lock is free, nothing is staged,
   * and no call is queued.
   * @param isWanted asked within the change: another process may have turned meaning off since the batch was encoded
   * @returns how many were added; undefined where it could not be begun
   */
  async putMeaningAside(batch: MeaningBatch, isWanted: () => boolean): Promise<number | undefined> {
    if (this.queue.length > 0) return undefined;
    return this.aside(async () => {
      const put = isWanted() ? this.native.putMeaning(batch) : 0;
      await this.native.save();
      return put;
    });
  }

  /** Runs `work`, which saves, where nothing is staged and the lock is free. @returns undefined where it was not run */
  private async aside<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.hasStaged || !this.isSaved) return undefined;
    return this.inTurn(async () => {
      if (this.hasStaged) return undefined;
      this.options.refuseChanges();
      return (await this.committer.tryBegin()) ? this.committer.commit(work) : undefined;
    });
  }

  /** Compacts, and yields as `compactAside` says. */
  private async yielding(signal: AbortSignal, patientMs: number): Promise<void> {
    const stop = new AbortController();
    const began = performance.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const yieldSoon = () => {
      timer ??= setTimeout(() => stop.abort(), Math.max(0, began + patientMs - performance.now()));
    };
    const unwatch = watchWaiting(this.committer.lockFile, yieldSoon);
    this.queue.onAdded = yieldSoon;
    if (this.queue.length > 1) yieldSoon();
    try {
      await this.native.compact({ signal: AbortSignal.any([signal, stop.signal]) }, true);
    } finally {
      this.queue.onAdded = undefined;
      unwatch();
      clearTimeout(timer);
    }
  }
}
