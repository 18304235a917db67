/**
 * A lock that a run over many files of a repository holds, so that two first indexes do not do the same work twice. Rows
 * are right without it: it is given up on where the disk refuses it, or the holder does nothing.
 */
import { closeSync, constants, lstatSync, mkdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { tryLock } from "../../../ffi/system/calls.ts";
import { CancelledError } from "../../errors.ts";
import { openRegular } from "../../regular-file.ts";

/** How often it is tried. */
const POLL_MS = 50;
/** A holder that saves nothing for so long may be stopped: it is not waited for. */
const IDLE_MS = 60_000;

export interface WaitOptions {
  /** Milliseconds until waiting must end. */
  msLeft(): number;
  /** Another value after each save of the holder. */
  progress(): string | undefined;
  signal?: AbortSignal | undefined;
}

export class WorkLock {
  private constructor(
    private readonly fd: number,
    private readonly path: string,
  ) {}

  /**
   * Takes the lock of a repository in a collection's folder, which is made where it is missing.
   * @returns the lock, undefined where there is none to be had, and whether another process held it before; "late"
   *   where there was no time to wait for that
   * @throws CancelledError
   */
  static async take(
    folder: string,
    repoId: string,
    { msLeft, progress, signal }: WaitOptions,
  ): Promise<{ lock: WorkLock | undefined; isLate: boolean } | "late"> {
    const path = join(folder, `repo-${repoId}.lock`);
    let isLate = false;
    let seen = progress();
    let since = performance.now();
    for (;;) {
      let lock: WorkLock | undefined;
      try {
        lock = WorkLock.tryTake(folder, path);
      } catch {
        return { lock: undefined, isLate };
      }
      if (lock) return { lock, isLate };
      isLate = true;
      const now = progress();
      if (now !== seen) [seen, since] = [now, performance.now()];
      if (performance.now() - since > IDLE_MS) return { lock: undefined, isLate };
      const left = msLeft();
      if (left <= 0) return "late";
      await Bun.sleep(Math.min(POLL_MS, Math.ceil(left)));
      if (signal?.aborted)
        throw new CancelledError("the call was cancelled while another process indexed the repository");
    }
  }

  /** Removes the file while it is still locked: who opens it later opens another. */
  release(): void {
    try {
      unlinkSync(this.path);
    } catch {
      // Its folder was removed.
    }
    closeSync(this.fd);
  }

  /** Undefined where another process has it. @throws where the disk refuses it */
  private static tryTake(folder: string, path: string): WorkLock | undefined {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (;;) {
      const { fd, stat: opened } = openRegular(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW);
      let isTaken = false;
      try {
        if (!tryLock(fd)) return undefined;
        const named = lstatSync(path, { throwIfNoEntry: false });
        // The holder before may have removed the file between its opening and its locking.
        isTaken = named?.ino === opened.ino && named.dev === opened.dev;
        if (isTaken) return new WorkLock(fd, path);
      } finally {
        if (!isTaken) closeSync(fd);
      }
    }
  }
}
