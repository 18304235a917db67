/** Waits for the writer's lock without blocking the event loop. */
import { NativeError, Status } from "../../ffi/status.ts";
import type { NativeCollection } from "../../ffi/ty_collection.ts";
import { LOCK_WAIT_MS, LOCK_WAIT_STOPPED_MS } from "../limits.ts";
import { heldError, isStuck } from "./holder.ts";
import { announceWaiting } from "./waiting.ts";

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;
/** How often a waiting writer looks whether the holder can still free the lock: some 60 µs each time. */
const LOOK_MS = 250;

/**
 * Begins a change of collection `name`, trying again until the lock is free. A blocking `flock` would stop all other
 * calls of this process, and could not be cancelled.
 * @param lockFile through which its holder sees that another process waits
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
  let looked = began;
  /** Since when the holder was seen stuck at each look. */
  let stuckSince: number | undefined;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    try {
      collection.begin();
      return;
    } catch (error) {
      if (!(error instanceof NativeError && error.status === Status.BUSY)) throw error;
      if (lockFile !== undefined) announceWaiting(lockFile);
      const now = performance.now();
      const isOver = now >= began + waitMs;
      // Without an errno no process holds the lock: the directory is being made anew.
      if (error.errno === 0) {
        if (isOver) throw error;
      } else if (isOver || now >= looked + LOOK_MS) {
        looked = now;
        const holder = collection.holder();
        stuckSince = isStuck(holder) ? (stuckSince ?? now) : undefined;
        if (isOver || now - (stuckSince ?? now) >= LOCK_WAIT_STOPPED_MS) throw heldError(name, holder);
      }
    }
    // Half of the pause is random, so that two waiting writers do not try in step.
    await Bun.sleep(pause / 2 + (Math.random() * pause) / 2);
  }
}
