/** Waits for the writer's lock without blocking the event loop. */
import { NativeError, Status } from "../../ffi/status.ts";
import type { NativeCollection } from "../../ffi/ty_collection.ts";
import { LOCK_WAIT_MS } from "../limits.ts";

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;

/**
 * Begins a change, trying again until the lock is free. After `waitMs` throws the last native error, which names the
 * holder. A blocking `flock` would stop all other calls of this process, and could not be cancelled.
 */
export async function beginWithin(
  collection: NativeCollection,
  signal: AbortSignal | undefined,
  waitMs = LOCK_WAIT_MS,
): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    try {
      collection.begin();
      return;
    } catch (error) {
      const busy = error instanceof NativeError && error.status === Status.BUSY;
      if (!busy || performance.now() >= deadline) throw error;
    }
    // Half of the pause is random, so that two waiting writers do not try in step.
    await Bun.sleep(pause / 2 + (Math.random() * pause) / 2);
  }
}
