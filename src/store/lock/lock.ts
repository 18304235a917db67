/** Waits for the writer's lock without blocking the event loop. */
import { statSync } from "node:fs";
import { NativeError, Status } from "../../../ffi/status.ts";
import type { Holder, NativeCollection } from "../../../ffi/ty_collection.ts";
import { LOCK_WAIT_MS } from "../../limits.ts";
import { heldError, patienceMs } from "./holder.ts";
import { announceWaiting, lookAtLock } from "./waiting.ts";

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;
/**
 * A writer may overtake another one that has waited for less than this. Strict turns would halve what two writers do,
 * as each of them reads what the other one saved.
 */
const GRACE_MS = 10;
/** The share of the time for which the lock has been held that the first in line waits until it tries again. */
const HELD_SHARE = 1 / 4;
/**
 * How often a waiting writer looks who the holder is and what it does, some 60 µs each time, and tries for the lock
 * though another process waits before it.
 */
const LOOK_MS = 250;

/**
 * What the calls of one queue have seen of the process that keeps them waiting. When a call times
 * out, the calls that are queued after it time out too, instead of each starting a wait of its own.
 */
export class HolderWatch {
  /** Another text for another holder, for another state of it, and after each save of it. */
  private state = "";
  private since = 0;
  private lookedAt = Number.NEGATIVE_INFINITY;

  /** Whether the call before this one waited for the lock until now, in vain. */
  get isFresh(): boolean {
    return performance.now() - this.lookedAt < 2 * LOOK_MS;
  }

  /** The lock was free. */
  end(): void {
    this.lookedAt = Number.NEGATIVE_INFINITY;
  }

  /** @returns since when the holder has been as it is now */
  look({ pid, state, what }: Holder, lockFile: string | undefined): number {
    const now = performance.now();
    const takenAt = lockFile === undefined ? 0 : statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs;
    const seen = [pid, state, what, takenAt].join();
    if (seen !== this.state || !this.isFresh) this.since = now;
    this.state = seen;
    this.lookedAt = now;
    return this.since;
  }
}

/** A call's place in a queue. */
export interface Queued {
  /** When the call was made, by `performance.now`. */
  calledAt: number;
  watch: HolderWatch;
}

/**
 * Begins a change of collection `name`, trying again until the lock is free and no other process has waited longer for
 * it. A blocking `flock` would stop all other calls of this process, and could not be cancelled.
 * @param lockFile through which waiting processes and the holder see each other
 * @throws TimeoutError that names the holder, after `waitMs`, or sooner where waiting for that holder is of little use
 */
export async function beginWithin(
  name: string,
  collection: Pick<NativeCollection, "begin" | "holder">,
  signal: AbortSignal | undefined,
  waitMs = LOCK_WAIT_MS,
  lockFile?: string,
  { calledAt, watch }: Queued = { calledAt: performance.now(), watch: new HolderWatch() },
): Promise<void> {
  const began = performance.now();
  // By the clock of the day, which all processes share: `performance.timeOrigin` drifts from it in a long life.
  const waitsSince = Date.now();
  let nextLook = began;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const now = performance.now();
    const isOver = now >= began + waitMs;
    const isLook = isOver || now >= nextLook;
    if (isLook) nextLook = now + LOOK_MS;
    const lock = lockFile === undefined ? undefined : lookAtLock(lockFile);
    const firstSince = lock?.firstSince ?? waitsSince;
    const isFirst = firstSince >= Math.min(waitsSince, Date.now() - GRACE_MS);
    if (isFirst || (isLook && now > began + GRACE_MS)) {
      try {
        collection.begin();
        watch.end();
        return;
      } catch (error) {
        if (!(error instanceof NativeError && error.status === Status.BUSY)) throw error;
        // Without an errno no process holds the lock: the directory is being replaced.
        if (error.errno === 0) {
          if (isOver) throw error;
        } else if (isLook) {
          const holder = collection.holder();
          const heldSince = Math.max(calledAt, watch.look(holder, lockFile));
          if (isOver || now - heldSince >= patienceMs(holder)) throw heldError(name, holder);
        }
        // After the look, which reads the file and may set its time of access.
        if (lockFile !== undefined && firstSince >= waitsSince) announceWaiting(lockFile, waitsSince);
      }
    }
    const wait = isFirst && lock ? Math.min(Math.max(lock.heldMs * HELD_SHARE, FIRST_PAUSE_MS), pause) : pause;
    // Half of the pause is random, so that two waiting writers do not try in step.
    await Bun.sleep(Math.max(1, wait / 2 + (Math.random() * wait) / 2));
  }
}
