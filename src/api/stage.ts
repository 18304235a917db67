/** Folders in which copies are made before they get their names. */
import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { shown } from "../checks/kinds.ts";
import { diskError } from "../durable.ts";
import { ValueError } from "../errors.ts";
import type { Store } from "../store/store.ts";

/** What a killed process leaves: its copies are not whole, and it may be removed. */
const STAGE = ".svc-backup-";

/** Runs `work` with a new folder in `parent`, which is removed afterwards unless it was renamed. @throws OSError */
export async function withStage<T>(parent: string, work: (stage: string) => Promise<T>): Promise<T> {
  let stage: string;
  try {
    stage = mkdtempSync(join(parent, STAGE));
  } catch (error) {
    throw diskError(error, "write into", parent);
  }
  try {
    return await work(stage);
  } finally {
    removeFolder(stage);
  }
}

/** Removes a folder of a stage. Where that fails the caller gets the error of the copy; the name says what it is. */
export function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The error of the copy matters more; the caller gets that one.
  }
}

/** Refuses a name that a directory has already: names that differ in case only are one folder on macOS. */
export function refuseTaken(name: string, dir: string, there: Store): void {
  const folded = name.toLowerCase();
  const twin = there.list().find((other) => other.toLowerCase() === folded);
  if (twin !== undefined) throw taken(twin);
  try {
    if (readdirSync(join(dir, name)).length > 0) throw taken(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw (error as NodeJS.ErrnoException).code === "ENOTDIR" ? taken(name) : diskError(error, "look into", dir);
  }
}

/** A folder that is not empty is never replaced: another process may have made one of that name meanwhile. */
export function moveInto(copy: string, place: string, name: string): void {
  try {
    renameSync(copy, place);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR"
      ? taken(name)
      : diskError(error, "make", place);
  }
}

function taken(name: string): ValueError {
  return new ValueError(`the target of the copy, the folder ${shown(name)}, exists already: choose another place`);
}
