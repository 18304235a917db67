/**
 * How processes that wait for a writer's lock know of each other, as `flock` neither says who waits nor serves them in
 * order. The one that has waited longest writes the time at which its wait began into the lock file's time of access, in
 * which nothing else is kept, and repeats that while it waits. The others do not try for the lock meanwhile. So no
 * process has to wait while later ones are served, which among 64 writers took seconds.
 */
import { statSync, utimesSync } from "node:fs";

/** How long an announcement counts: many pauses of the waiter that repeats it, and little time lost if it was killed. */
const FRESH_MS = 100;
/** How often a holder looks. */
const LOOK_MS = 20;

/** The lock file as a waiter sees it. */
export interface LockSeen {
  /** When the wait of the process began that has waited longest, in milliseconds since 1970; undefined: none waits. */
  firstSince: number | undefined;
  /** For how many milliseconds the lock has been held, as far as the file shows. */
  heldMs: number;
}

/** Looks at a lock file, with one `stat`. Where a file system does not keep the times, no process is seen to wait. */
export function lookAtLock(lockFile: string): LockSeen {
  try {
    const { atimeMs, mtimeMs, ctimeMs } = statSync(lockFile);
    const now = Date.now();
    // A holder that writes its name sets both times of change; an announcement sets the second one only.
    const isFresh = ctimeMs !== mtimeMs && Math.abs(now - ctimeMs) < FRESH_MS;
    return { firstSince: isFresh ? atimeMs : undefined, heldMs: Math.max(0, now - mtimeMs) };
  } catch {
    return { firstSince: undefined, heldMs: 0 }; // the next try of the lock says what is wrong with the file
  }
}

/** Announces that this process waits. @param since when its wait began, in milliseconds since 1970 */
export function announceWaiting(lockFile: string, since: number): void {
  try {
    utimesSync(lockFile, since / 1000, statSync(lockFile).mtime);
  } catch {
    // As in `lookAtLock`.
  }
}

/**
 * Runs `write`, which writes into a lock file that this process holds, and keeps the announcement of a waiter. Without it a
 * save that ends before the waiter announces itself again would look as if no process waited, and the holder would take the
 * lock once more.
 */
export function keepingAnnouncement(lockFile: string, write: () => void): void {
  const { firstSince } = lookAtLock(lockFile);
  write();
  if (firstSince !== undefined) announceWaiting(lockFile, firstSince);
}

/** Calls `onWaiting` once when another process waits. @returns what ends it */
export function watchWaiting(lockFile: string, onWaiting: () => void): () => void {
  const timer = setInterval(() => {
    if (lookAtLock(lockFile).firstSince === undefined) return;
    clearInterval(timer);
    onWaiting();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
