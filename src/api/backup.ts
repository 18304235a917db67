/**
 * A backup: every collection of a memory, or some, copied beside busy writers into a folder that is a memory directory
 * itself. All are made in a temporary folder and verified before the first gets its name.
 */
import { realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { readFolder } from "../checks/folders.ts";
import { shown } from "../checks/kinds.ts";
import { diskError, makeDirectory, syncDirectory } from "../durable.ts";
import { CancelledError, errorLine, SvcError, ValueError } from "../errors.ts";
import { BEGUN, isGone, leftoverOf, stateOf } from "../store/folder-state.ts";
import type { Store } from "../store/store.ts";
import { type NamedOptions, watchOf } from "./named.ts";
import type { CopyOptions } from "./options.ts";
import { type CopiedCollection, copyInto } from "./snapshot.ts";
import { moveInto, refuseTaken, removeFolder, withStage } from "./stage.ts";

/** What to copy. */
export interface BackupOptions extends NamedOptions, Pick<CopyOptions, "copy"> {}

/** What was copied, and what could not be. */
export interface BackupResult {
  directory: string;
  collections: CopiedCollection[];
  /** Collections that are not in the backup, each with its error: damaged ones, and those that cannot be read. */
  failed: { name: string; error: string }[];
  /** Folders without a saved row: what first saves left, or are making, and collections that were removed meanwhile. */
  left_out: { name: string; reason: string }[];
}

/**
 * Copies collections to the folder `to`, which is made, or may be empty, or hold collections of other names. A folder
 * that is made here is there whole or not at all, also after a crash; in one that was there each collection is.
 * @throws ValueError for a folder that cannot be used or an unknown name; OSError where it cannot be written
 */
export async function backup(store: Store, to: string, options: BackupOptions): Promise<BackupResult> {
  const directory = readFolder(to, "dir");
  const isThere = refuseUnusable(directory, store.dir);
  for (const name of options.names ?? []) {
    await store.firstSave(name, options.signal);
    store.open(name);
  }
  const names = [...new Set(options.names ?? store.folders().keys())];
  const there = store.at(directory);
  if (isThere) for (const name of options.names ?? store.present()) refuseTaken(name, directory, there);
  const parent = isThere ? directory : dirname(directory);
  makeDirectory(parent, 0o700);
  return withStage(parent, async (stage) => {
    const result: BackupResult = { directory, collections: [], failed: [], left_out: [] };
    for (const name of names) await copyOne(name, stage, store, options, result);
    if (result.collections.length === 0 && result.failed.length + result.left_out.length > 0) return result;
    syncDirectory(stage);
    if (isThere) for (const { name } of result.collections) moveInto(join(stage, name), join(directory, name), name);
    else moveInto(stage, directory, directory);
    syncDirectory(parent);
    return result;
  });
}

/** Why a folder has nothing to copy; undefined where it is a saved collection, or was one. */
function unsaved(store: Store, name: string): string | undefined {
  switch (stateOf(join(store.dir, name))) {
    case "begun":
      return `${BEGUN}: back it up again once that is done`;
    case "leftover":
      return leftoverOf(name);
    case "other":
      return "another process removed it during the backup";
    default:
      return undefined;
  }
}

/** A collection that fails is left out; a full disk, or an end by the caller, ends the backup. */
async function copyOne(
  name: string,
  stage: string,
  store: Store,
  options: BackupOptions,
  result: BackupResult,
  isAgain = false,
): Promise<void> {
  const { signal, copy } = options;
  try {
    const collection = store.open(name);
    result.collections.push(await copyInto(stage, collection, store, { ...watchOf(options, name), copy }));
  } catch (error) {
    if (signal?.aborted) throw new CancelledError("interrupted: no backup was made");
    if (!(error instanceof SvcError) || error.reason === "disk_full") throw error;
    removeFolder(join(stage, name));
    const reason = unsaved(store, name);
    if (reason !== undefined) result.left_out.push({ name, reason });
    // Its first save has ended just now.
    else if (isGone(error) && !isAgain) await copyOne(name, stage, store, options, result, true);
    else result.failed.push({ name, error: errorLine(error) });
  }
}

/** Undefined for what is not there. @throws OSError, as for a path below a file */
function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw diskError(error, "read", path);
  }
}

/**
 * Whether the folder is there.
 * @throws ValueError where it is not a folder, or lies inside the memory directory; OSError where it cannot be looked up
 */
function refuseUnusable(directory: string, memory: string): boolean {
  const stat = statOf(directory);
  if (stat !== undefined && !stat.isDirectory()) {
    throw new ValueError(`${shown(directory)} is not a folder: choose another place for the backup`);
  }
  const inside = relative(real(resolve(memory)), real(directory));
  if (inside === "" || (inside !== ".." && !inside.startsWith("../"))) {
    throw new ValueError(`${shown(directory)} is inside the memory directory: choose a place outside of it`);
  }
  return stat !== undefined;
}

/** The path without links; of what is not there yet, below the nearest folder that is. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" || dirname(path) === path) throw diskError(error, "look at", path);
    return join(real(dirname(path)), relative(dirname(path), path));
  }
}
