/** Waits for the writer's lock without blocking the event loop. */
import { NativeError, Status } from "../../ffi/status.ts";
import type { NativeCollection } from "../../ffi/ty_collection.ts";
import { LOCK_WAIT_MS, LOCK_WAIT_STOPPED_MS } from "../limits.ts";
import { heldError, isStuck } from "./holder.ts";
import { announceWaiting, lookAtLock } from "./waiting.ts";

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;
/**
 * Until another process has waited for so long, the lock is taken before it: two writers that take turns at each save,
 * and read what the other one saved, do half as much.
 */
const GRACE_MS = 10;
/** The share of the time for which the lock has been held that the first in line waits until it tries again. */
const HELD_SHARE = 1 / 4;
/**
 * How often a waiting writer looks whether the holder can still free the lock, some 60 µs each time, and tries for it
 * though another one waits before it.
 */
const LOOK_MS = 250;

/**
 * Begins a change of collection `name`, trying again until the lock is free and no other process has waited longer for
 * it. A blocking `flock` would stop all other calls of this process, and could not be cancelled.
 * @param lockFile through which waiting processes and the holder see each other
 * @throws TimeoutError that names the holder, after `waitMs`, or sooner where the holder is stopped
 */
export async function beginWithin(
  name: string,
  collection: Pick<NativeCollection, "begin" | "holder">,
  signal: AbortSignal | undefined,
  waitMs = LOCK_WAIT_MS,
  lockFile?: string,
): Promise<void> {
  const began = performance.now();
  const since = performance.timeOrigin + began;
  let looked = began;
  /** Since when the holder was seen stuck at each look. */
  let stuckSince: number | undefined;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const now = performance.now();
    const isOver = now >= began + waitMs;
    const isLook = isOver || now >= looked + LOOK_MS;
    const lock = lockFile === undefined ? undefined : lookAtLock(lockFile);
    const firstSince = lock?.firstSince ?? since;
    const isFirst = firstSince >= Math.min(since, Date.now() - GRACE_MS);
    if (isFirst || isLook) {
      try {
        collection.begin();
        return;
      } catch (error) {
        if (!(error instanceof NativeError && error.status === Status.BUSY)) throw error;
        if (lockFile !== undefined && firstSince >= since) announceWaiting(lockFile, since);
        // Without an errno no process holds the lock: the directory is being made anew.
        if (error.errno === 0) {
          if (isOver) throw error;
        } else if (isLook) {
          looked = now;
          const holder = collection.holder();
          stuckSince = isStuck(holder) ? (stuckSince ?? now) : undefined;
          if (isOver || now - (stuckSince ?? now) >= LOCK_WAIT_STOPPED_MS) throw heldError(name, holder);
        }
      }
    }
    const wait = isFirst && lock ? Math.min(Math.max(lock.heldMs * HELD_SHARE, FIRST_PAUSE_MS), pause) : pause;
    // Half of the pause is random, so that two waiting writers do not try in step.
    await Bun.sleep(Math.max(1, wait / 2 + (Math.random() * wait) / 2));
  }
}
