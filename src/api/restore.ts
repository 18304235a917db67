/**
 * The way back from a backup: verified copies of its collections in a memory, each there whole or not at all. One that
 * takes the place of another is exchanged with it in one step, under the writer's lock.
 */
import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { readFolder } from "../checks/folders.ts";
import { firstAndMore, listed, shown } from "../checks/kinds.ts";
import { makeDurableDirectory, syncDirectory } from "../durable.ts";
import { CancelledError, errorLine, SvcError, ValueError } from "../errors.ts";
import { caseTwin } from "../store/directory.ts";
import { isSaved } from "../store/folder-state.ts";
import { replaceCollection } from "../store/moves.ts";
import { withStaged } from "../store/stages.ts";
import type { Store } from "../store/store.ts";
import { type NamedOptions, watchOf } from "./named.ts";
import type { CopyOptions } from "./options.ts";
import { type CopiedCollection, copyInto } from "./snapshot.ts";
import { moveInto } from "./stage.ts";

/** Where the file system cannot exchange two folders. */
const REMEDY = "'svc mem drop' it, and restore it without --replace";

/**
 * How long a collection is waited for after another one was waited for in vain: a server that keeps one most often
 * keeps several, and one call must not wait as long for each of them. An ordinary save takes less.
 */
const WAIT_AGAIN_MS = 250;

/** What to restore. */
export interface RestoreOptions extends NamedOptions, Pick<CopyOptions, "copy"> {
  /** Collections that are there are replaced (false: refused). */
  replace?: boolean | undefined;
}

/** A collection that was restored. */
export interface RestoredCollection extends CopiedCollection {
  /** Whether it has taken the place of another one. */
  replaced: boolean;
}

/** What was restored, and what could not be. */
export interface RestoreResult {
  /** Where from. */
  directory: string;
  collections: RestoredCollection[];
  /** Collections that were not restored, each with its error. What was there of these names stands. */
  failed: { name: string; error: string }[];
}

/** Restores collections of the backup in the folder `from`. @throws ValueError before anything is done; OSError */
export async function restore(store: Store, from: string, options: RestoreOptions): Promise<RestoreResult> {
  const directory = readFolder(from, "dir");
  store.refuseChanges();
  refuseUnusable(directory, store.dir);
  const source = store.at(directory);
  try {
    const present = source.present();
    const names = [...new Set(options.names ?? present)];
    const missing = names.find((name) => !present.includes(name));
    if (missing !== undefined) throw new ValueError(`${shown(directory)} has no collection ${shown(missing)}`);
    if (names.length === 0) throw new ValueError(`${shown(directory)} has no collection: name the folder of a backup`);
    refuseTaken(names, store, options.replace === true);
    makeDurableDirectory(store.dir);
    return await withStaged(store.dir, async (stage) => {
      const result: RestoreResult = { directory, collections: [], failed: [] };
      for (const name of names) await restoreOne(name, stage, store, source, options, result);
      return result;
    });
  } finally {
    await source.close();
  }
}

/** A collection that fails is left out; a full disk, or an end by the caller, ends the restore. */
async function restoreOne(
  name: string,
  stage: string,
  store: Store,
  source: Store,
  options: RestoreOptions,
  result: RestoreResult,
): Promise<void> {
  const { signal, copy, replace } = options;
  try {
    const collection = source.open(name);
    const copied = await copyInto(stage, collection, source, { ...watchOf(options, name), copy });
    const waitMs = result.failed.some(({ error }) => error.startsWith("TimeoutError")) ? WAIT_AGAIN_MS : undefined;
    const replaced = await place(name, stage, store, replace === true, { signal, waitMs });
    result.collections.push({ ...copied, replaced });
  } catch (error) {
    if (signal?.aborted) throw new CancelledError(interrupted(result));
    if (!(error instanceof SvcError) || error.reason === "disk_full") throw error;
    result.failed.push({ name, error: errorLine(error) });
  }
}

/** @returns whether it has taken another one's place */
async function place(
  name: string,
  stage: string,
  store: Store,
  replaces: boolean,
  { signal, waitMs }: { signal: AbortSignal | undefined; waitMs: number | undefined },
): Promise<boolean> {
  const staged = join(stage, name);
  const state = store.folders().get(name);
  if (state !== undefined) {
    const isTaken = state === "saved" || state === "lost";
    const work = async () => {
      // With the lock: what was a leftover, or begun, may have been saved meanwhile.
      if (!replaces && (isTaken || isSaved(join(store.dir, name)))) throw taken([name]);
      return staged;
    };
    return (await replaceCollection(store, name, REMEDY, work, signal, waitMs)) && isTaken;
  }
  syncDirectory(stage);
  moveInto(staged, join(store.dir, name), name);
  syncDirectory(store.dir);
  return false;
}

function interrupted({ collections }: RestoreResult): string {
  if (collections.length === 0) return "interrupted: nothing was restored";
  return `interrupted: ${collections.map(({ name }) => shown(name)).join(", ")} is restored, the rest is not`;
}

/** Before anything is copied: which of the names the memory has already. */
function refuseTaken(names: readonly string[], store: Store, replaces: boolean): void {
  const present = store.present();
  const there = names.filter((name) => present.includes(name));
  if (there.length > 0 && !replaces) throw taken(there);
  for (const name of names) {
    const twin = caseTwin(name, present);
    if (twin === undefined) continue;
    throw new ValueError(
      `collection ${shown(name)} of the backup differs only in case from ${shown(twin)} in the memory: rename the latter`,
    );
  }
}

function taken(names: readonly string[]): ValueError {
  const some = listed(firstAndMore(names, 3, shown), "and");
  return new ValueError(`the memory has ${some} already: --replace replaces them with those of the backup`);
}

/** @throws ValueError for what is not a folder, a collection's own folder, or the memory itself */
function refuseUnusable(directory: string, memory: string): void {
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ValueError(`there is no folder ${shown(directory)}: name the folder of a backup`);
  }
  if (isSaved(directory)) {
    throw new ValueError(`${shown(directory)} is the folder of one collection: name the folder that it is in`);
  }
  const isMemory = statSync(memory, { throwIfNoEntry: false }) && realpathSync(memory) === realpathSync(directory);
  if (isMemory) throw new ValueError(`${shown(directory)} is the memory itself: name the folder of a backup`);
}
