/** A memory directory: which collections are in it, and which names for others are free. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { shown } from "../checks/kinds.ts";
import { OSError, ValueError } from "../errors.ts";
import { type FolderState, isSaved, stateOf } from "./folder-state.ts";
import { DISCARDED, taken } from "./folders.ts";

/** Names of the saved collections, sorted. @throws OSError where the directory cannot be read */
export function savedIn(dir: string): string[] {
  return foldersOf(dir, (name) => isSaved(join(dir, name)));
}

/** All folders that have something of a collection, sorted by name. @throws OSError where the directory cannot be read */
export function statesIn(dir: string): Map<string, FolderState> {
  const states = new Map<string, FolderState>();
  for (const name of foldersOf(dir, (name) => !name.startsWith("."))) {
    const state = stateOf(join(dir, name));
    if (state !== "other") states.set(name, state);
  }
  return states;
}

/** Whether there is a folder of that name, in this spelling. */
export function hasFolder(dir: string, name: string): boolean {
  return foldersOf(dir, (other) => other === name).length > 0;
}

/**
 * Whether there is a saved collection of that name. Only ENOENT and ENOTDIR count as absent: an unreadable collection
 * taken for a free name would be overwritten.
 * @throws OSError for a link, and for what cannot be read
 */
export function hasManifest(dir: string, name: string): boolean {
  const folder = join(dir, name);
  try {
    if (lstatSync(folder).isSymbolicLink()) {
      throw new OSError(
        `collection ${shown(name)} is a link, and links are not followed: put the real folder in its place`,
      );
    }
    lstatSync(join(folder, "collection.json"));
    return true;
  } catch (error) {
    if (error instanceof OSError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") {
      throw new OSError(`collection ${shown(name)} cannot be read (${code}): check the permissions of its folder`);
    }
  }
  return false;
}

/**
 * A new name for a collection is not one of another folder, whatever that holds, nor such a one in another case.
 * @param of the name that it has
 * @throws ValueError
 */
export function refuseTaken(dir: string, name: string, of: string): void {
  if (hasFolder(dir, name)) throw taken(name);
  const twin = caseTwin(
    name,
    foldersOf(dir, (other) => other !== of),
  );
  if (twin === undefined) return;
  throw new ValueError(`collection name ${shown(name)} differs only in case from ${shown(twin)}: use another name`);
}

/** The one of some names that differs from a name in case only: on macOS both are one directory. */
export function caseTwin(name: string, names: Iterable<string>): string | undefined {
  const folded = name.toLowerCase();
  for (const other of names) if (other !== name && other.toLowerCase() === folded) return other;
  return undefined;
}

function foldersOf(dir: string, isOne: (name: string) => boolean): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith(DISCARDED) && isOne(entry.name))
      .map((entry) => entry.name)
      .sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    throw new OSError(`the memory directory cannot be read (${code}): check its permissions`);
  }
}
