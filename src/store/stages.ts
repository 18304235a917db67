/**
 * Folders in a memory directory in which collections are made before they take a name, or another one's place. What a
 * killed process leaves is removed by the next that makes one: the process that uses one has its lock.
 */
import { closeSync, constants, mkdtempSync, openSync, readdirSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { exchangePaths, tryLock } from "../../ffi/system/calls.ts";
import { shown } from "../checks/kinds.ts";
import { diskError, syncDirectory } from "../durable.ts";
import { OSError } from "../errors.ts";
import { openRegular } from "../regular-file.ts";
import { isNamed, LOCK } from "./folder-lock.ts";
import { moveAside, removeDiscarded } from "./folders.ts";

/** No collection's name begins with a dot. */
const STAGED = ".svc-staged-";
/** Tries to lock a folder that was just made: another process may take it for one that was left. */
const TRIES = 20;

/** Runs `work` with a new folder in the memory directory, which is removed afterwards with all that is in it. */
export async function withStaged<T>(dir: string, work: (stage: string) => Promise<T>): Promise<T> {
  tidy(dir);
  const { stage, fd } = makeStage(dir);
  try {
    return await work(stage);
  } finally {
    remove(stage);
    closeSync(fd);
  }
}

function makeStage(dir: string): { stage: string; fd: number } {
  for (let tries = 1; ; tries++) {
    let stage = dir;
    try {
      stage = mkdtempSync(join(dir, STAGED));
      const fd = openSync(join(stage, LOCK), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
      if (tryLock(fd) && isNamed(fd, join(stage, LOCK))) return { stage, fd };
      closeSync(fd);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || stage === dir || tries === TRIES) {
        throw diskError(error, "write into", dir);
      }
    }
  }
}

/** Removes what killed processes left in a memory directory: folders to be removed, and stages that no process uses. */
export function tidy(dir: string): void {
  for (const entry of readdirSync(dir)) {
    if (entry.startsWith(STAGED)) removeLeft(join(dir, entry));
  }
  removeDiscarded(dir);
}

function removeLeft(stage: string): void {
  let fd: number;
  try {
    fd = openRegular(join(stage, LOCK), constants.O_RDWR | constants.O_NOFOLLOW).fd;
  } catch {
    try {
      rmdirSync(stage); // it is empty, or another process removes it
    } catch {
      // What it holds without a lock is not a stage of ours.
    }
    return;
  }
  if (tryLock(fd)) remove(stage);
  closeSync(fd);
}

/** Under another name first: without its lock it would look like one that is in use. */
function remove(stage: string): void {
  try {
    moveAside(dirname(stage), basename(stage));
    removeDiscarded(dirname(stage));
  } catch {
    // The next one tries again.
  }
}

/**
 * A staged folder and the one of a collection take each other's names, in one step and for good. The caller has the
 * lock of the collection; what was there is in the stage afterwards.
 * @param remedy what else leads there, for the error
 * @throws OSError where the file system cannot do that; nothing has moved
 */
export function exchangeFolders(staged: string, dir: string, name: string, remedy: string): void {
  const [stage, place] = [dirname(staged), join(dir, name)];
  // The name in the stage first: an exchange with what a power cut takes away would leave nothing.
  syncDirectory(staged);
  syncDirectory(stage);
  syncDirectory(dir);
  if (!exchangePaths(staged, place)) {
    throw new OSError(
      `the file system cannot exchange two folders in one step: collection ${shown(name)} stands as it was; ${remedy}`,
    );
  }
  try {
    syncDirectory(dir);
    syncDirectory(stage);
  } catch (error) {
    // Not for good: what is removed with the stage must not be what a power cut brings back.
    exchangePaths(staged, place);
    throw error;
  }
}
