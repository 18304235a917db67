/**
 * How a process that wants the writer's lock is seen by the one that has it: while it waits it sets the lock file's time
 * of access, in which nothing else is kept. `flock` does not say who else has asked.
 */
import { statSync, utimesSync } from "node:fs";

/** How often a holder looks. */
const LOOK_MS = 20;

/** Says that this process waits. On a file system that cannot keep the time, no holder sees it. */
export function announceWaiting(lockFile: string): void {
  try {
    utimesSync(lockFile, new Date(), statSync(lockFile).mtime);
  } catch {
    // The next try of the lock says what is wrong with the file.
  }
}

/** Calls `onWaiting` once where another process announces itself from now on. @returns what ends it */
export function watchWaiting(lockFile: string, onWaiting: () => void): () => void {
  const accessed = () => statSync(lockFile, { throwIfNoEntry: false })?.atimeMs;
  const before = accessed();
  const timer = setInterval(() => {
    if (accessed() === before) return;
    clearInterval(timer);
    onWaiting();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
