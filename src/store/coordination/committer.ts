/** The changes of one collection from taking the writer's lock to freeing it. A coordinator, where there is one, commits too. */
import { NativeError, Status } from "../../../ffi/status.ts";
import type { NativeCollection } from "../../../ffi/ty_collection.ts";
import { TimeoutError } from "../../errors.ts";
import { LOCK_WAIT_MS } from "../../limits.ts";
import { beginWithin, HolderWatch } from "../lock/lock.ts";
import { type Coordinator, Participant } from "./coordinator.ts";

/** A call that waited in the queue for something else tries for the lock at least this long. */
const LEAST_WAIT_MS = 1000;

export class Committer {
  /** Whether this process knows of a save. Until then the collection exists in its memory only. */
  isSaved: boolean;
  readonly participant: Participant | undefined;
  /** Who has kept the calls of the collection's queue waiting. */
  private readonly watch = new HolderWatch();

  constructor(
    readonly name: string,
    private readonly native: NativeCollection,
    readonly lockFile: string,
    coordinator: Coordinator | undefined,
  ) {
    this.participant = coordinator && new Participant(name, native, coordinator);
    this.isSaved = native.generation() > 0;
  }

  /**
   * Takes the lock and reads what others have saved. On a failure the lock is free.
   * @param calledAt when the call was made, by `performance.now`: queued calls that wait for another process's lock all
   *   time out together
   * @param isExclusive a coordinator keeps other machines from committing until the change has ended
   */
  async begin(calledAt: number, signal?: AbortSignal, waitMs = LOCK_WAIT_MS, isExclusive = false): Promise<void> {
    const { name, native, lockFile, watch } = this;
    const least = watch.isFresh ? 0 : LEAST_WAIT_MS;
    const left = Math.min(waitMs, Math.max(least, LOCK_WAIT_MS - (performance.now() - calledAt)));
    await beginWithin(name, native, signal, left, lockFile, { calledAt, watch });
    await this.follow(isExclusive, left);
  }

  /** As `begin`, exclusively and without waiting. @returns false where the lock is taken */
  async tryBegin(): Promise<boolean> {
    try {
      this.native.begin();
      await this.follow(true, LEAST_WAIT_MS);
      return true;
    } catch (error) {
      const isBusy = error instanceof NativeError && error.status === Status.BUSY;
      if (isBusy || error instanceof TimeoutError) return false;
      throw error;
    }
  }

  /** With the lock: runs `work`, which saves. Where it throws, its changes are dropped; the lock is free in any case. */
  async commit<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.isSaved = true;
      return result;
    } catch (error) {
      throw this.participant?.cause(error) ?? error;
    } finally {
      await this.end();
    }
  }

  private async follow(isExclusive: boolean, waitMs: number): Promise<void> {
    try {
      await this.participant?.begin(isExclusive, waitMs);
    } catch (error) {
      await this.end();
      throw error;
    }
  }

  /** Ends a change: drops what is not saved, and frees the lock. */
  private async end(): Promise<void> {
    this.native.rollback(); // nothing, after a save
    await this.participant?.release();
  }
}
