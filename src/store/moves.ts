/**
 * What is done to the folder of a collection as a whole: it is removed, renamed, or exchanged with another one, under the
 * writer's lock, so that other processes' writes are done before and find the result afterwards.
 */
import { join } from "node:path";
import { shown } from "../checks/kinds.ts";
import { checkName } from "../checks/names.ts";
import { OSError, RuntimeError, ValueError } from "../errors.ts";
import type { Collection } from "./collection.ts";
import { hasFolder, hasManifest, refuseTaken } from "./directory.ts";
import { MissingCollection, withFolderLock } from "./folder-lock.ts";
import { absent, isRemainder, stateOf } from "./folder-state.ts";
import { discardFolder, renameFolder, taken } from "./folders.ts";
import { exchangeFolders } from "./stages.ts";
import type { Store } from "./store.ts";

/**
 * Works on a collection while no other process can change it, and puts another one in its place, or leaves it.
 * @param work makes that in a stage; resolves to its folder, or to undefined for nothing to change
 * @param remedy what else leads there where the file system cannot exchange two folders, for the error
 * @param waitMs how long another process's change is waited for at most
 * @returns whether there is another one
 * @throws ValueError where there is none; TimeoutError that names who has unsaved changes
 */
export async function replaceCollection(
  store: Store,
  name: string,
  remedy: string,
  work: () => Promise<string | undefined>,
  signal?: AbortSignal,
  waitMs?: number,
): Promise<boolean> {
  store.refuseChanges();
  refuseCoordinated(store, name);
  refuseStaged(store, name);
  return withFolderLock({ env: store.env, dir: store.dir, name, signal, waitMs }, async () => {
    const staged = await work();
    if (staged === undefined) return false;
    signal?.throwIfAborted();
    exchangeFolders(staged, store.dir, name, remedy);
    store.forget(store.held(name));
    return true;
  });
}

/**
 * Removes a collection for good, one that cannot be opened or has lost its manifest as well.
 * @throws ValueError where there is none; TimeoutError that names who has unsaved changes; PermissionError; OSError
 */
export async function dropCollection(store: Store, name: string, signal?: AbortSignal): Promise<void> {
  const { env, dir } = store;
  store.refuseChanges();
  store.requireUsable();
  checkName(name);
  hasManifest(dir, name); // not of a link
  if (!hasFolder(dir, name)) {
    // One that was never saved is in this process only.
    const held = store.held(name);
    if (held?.isSaved !== false || held.isBusy) throw new MissingCollection(name);
    return store.forget(held);
  }
  refuseStaged(store, name);
  const folder = join(dir, name);
  if (stateOf(folder) === "other" && !isRemainder(folder)) {
    throw new ValueError(`the folder ${shown(name)} has files that do not belong to a collection: remove it by hand`);
  }
  await withFolderLock({ env, dir, name, signal }, async () => {
    if (store.coordinator?.covers(name)) await store.coordinator.drop(name);
    discardFolder(dir, name);
  });
  store.forget(store.held(name));
}

/**
 * Gives a collection another name. The manifest has the new name first: a kill between leaves the collection under its
 * old one.
 * @throws ValueError where there is none, or one of the new name; TimeoutError that names who has unsaved changes
 */
export async function renameCollection(store: Store, from: string, to: string, signal?: AbortSignal): Promise<void> {
  const { env, dir } = store;
  store.refuseChanges();
  checkName(to);
  refuseCoordinated(store, from);
  refuseStaged(store, from);
  if (from === to) throw new ValueError(`collection ${shown(from)} has this name already`);
  // Damage does not keep a folder from being renamed: the rest of it may still be of use.
  const collection = unlessDamaged(store, from);
  if (collection === undefined && !store.present().includes(from)) throw absent(dir, from);
  if (collection?.isSaved === false) throw new ValueError(`collection ${shown(from)} was never saved: save it first`);
  refuseName(store, to, from);
  const setName = (name: string) => collection?.change(async (t) => t.set("name", name), signal);
  await setName(to);
  try {
    await withFolderLock({ env, dir, name: from, signal }, () => {
      refuseName(store, to, from);
      renameFolder(dir, from, to);
    });
  } catch (error) {
    await setName(from)?.catch(() => {});
    throw error;
  }
  store.forget(collection);
}

/** The collection of that name; undefined where there is none that can be opened. */
function unlessDamaged(store: Store, name: string): Collection | undefined {
  try {
    return store.find(name);
  } catch (error) {
    if (error instanceof OSError && (error.reason === "damaged" || error.reason === "other_version")) return undefined;
    throw error;
  }
}

/** A database has the saves of a collection, and no step that exchanges all of them. */
function refuseCoordinated(store: Store, name: string): void {
  if (!store.coordinator?.covers(name)) return;
  throw new RuntimeError(
    `collection ${shown(name)} cannot be renamed or replaced while a database has its log: ` +
      "copy it into a memory directory of its own, change it there, and copy it back",
  );
}

function refuseStaged(store: Store, name: string): void {
  if (!store.held(name)?.hasStaged) return;
  throw new ValueError(`collection ${shown(name)} has unsaved changes in this process: save them first`);
}

/** @throws ValueError where another collection, or a folder, has a name, or one that differs in case only */
function refuseName(store: Store, name: string, of: string): void {
  if (store.held(name)) throw taken(name);
  refuseTaken(store.dir, name, of);
}
