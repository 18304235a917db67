/**
 * The folders of a memory directory, as such. The caller that moves one has the writer's lock of the collection in it.
 */
import { closeSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { shown } from "../checks/kinds.ts";
import { diskError, syncDirectory } from "../durable.ts";
import { OSError, ValueError } from "../errors.ts";
import { holdNow, MissingCollection } from "./folder-lock.ts";
import { isUnsaved } from "./folder-state.ts";

/** Prefix of folders being removed; no collection's name begins with a dot. */
export const DISCARDED = ".discarded-";

/** The file that marks a memory directory as a copy, whose changes a database has to commit. */
export const COPY_MARK = ".svc-copy";

/**
 * Removes a collection's folder: it has another name at once and for good, and is removed under that one. One half
 * removed by a kill would be opened as a damaged collection for ever.
 * @throws OSError where the folder cannot be moved: it is there as it was
 */
export function discardFolder(dir: string, name: string): void {
  try {
    moveAside(dir, name);
    syncDirectory(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    if (error instanceof OSError) throw error;
    throw new OSError(
      `collection ${shown(name)} cannot be removed (${code}): check the permissions of the memory directory`,
    );
  }
  removeDiscarded(dir);
}

/**
 * Removes a collection's folder after a first save that failed, unless it has files that a first save does not
 * make, or another process holds its lock. Where that fails too, the folder is a leftover.
 */
export function removeUnsaved(dir: string, name: string): void {
  const folder = join(dir, name);
  let fd: number | undefined;
  try {
    if (!isUnsaved(folder)) return;
    fd = holdNow(folder);
    // With the lock: another process may have saved it meanwhile.
    if (fd === undefined || !isUnsaved(folder)) return;
    moveAside(dir, name);
    removeDiscarded(dir);
  } catch {
    // The caller gets the error of the save. On a full disk the lock's file may be what could not be made.
    removeEmpty(folder);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is not empty, or not there.
  }
}

/** Gives a folder of a directory a name of those that are removed. @throws the system's error */
export function moveAside(dir: string, name: string): void {
  renameSync(join(dir, name), join(dir, `${DISCARDED}${Bun.randomUUIDv7()}`));
}

/** Removes what is to be removed, with what interrupted calls left. What cannot be is tried again with the next one. */
export function removeDiscarded(dir: string): void {
  for (const entry of readdirSync(dir).filter((name) => name.startsWith(DISCARDED))) {
    try {
      rmSync(join(dir, entry), { recursive: true, force: true });
    } catch {
      // No list shows it meanwhile.
    }
  }
}

/**
 * Gives a collection's folder another name, for good. @throws ValueError where another folder has it; OSError
 */
export function renameFolder(dir: string, from: string, to: string): void {
  try {
    renameSync(join(dir, from), join(dir, to));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR") throw taken(to);
    if (code === "ENOENT") throw new MissingCollection(from);
    throw diskError(error, "rename", from);
  }
  syncDirectory(dir);
}

/** The error for a name that another folder has. */
export function taken(name: string): ValueError {
  return new ValueError(`the memory directory has a folder ${shown(name)} already: choose another name`);
}
