/**
 * A copy of a collection in another memory directory. It is made in a temporary folder there, the manifest last,
 * verified, and then renamed: also after a crash, the whole collection is there or nothing.
 */
import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { shown } from "../checks/kinds.ts";
import { diskError, makeDirectory, syncDirectory } from "../durable.ts";
import { ValueError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import type { Watch } from "./options.ts";

/** Saves the collection and copies it to the directory `to`. @throws ValueError where it has the name; OSError */
export async function snapshot(
  collection: Collection,
  to: string,
  storeAt: (dir: string) => Store,
  watch: Watch,
): Promise<void> {
  const { name } = collection;
  const dir = resolve(to);
  refuseTaken(name, dir, storeAt(dir));
  makeDirectory(dir, 0o700);
  const stage = temporaryFolder(dir);
  try {
    const copy = join(stage, name);
    makeDirectory(copy, 0o700);
    const { signal, onProgress } = watch;
    await collection.copy(copy, { signal, onProgress: onProgress && ((done, all) => onProgress(done, 2 * all)) });
    await verify(name, storeAt(stage), watch);
    watch.signal?.throwIfAborted();
    moveInto(copy, join(dir, name), name);
    syncDirectory(dir);
  } finally {
    try {
      rmSync(stage, { recursive: true, force: true });
    } catch {
      // The caller gets the error of the copy; the folder's name says what it is.
    }
  }
}

/** Names that differ in case only are one folder on macOS. */
function refuseTaken(name: string, dir: string, there: Store): void {
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

function taken(name: string): ValueError {
  return new ValueError(`the other memory directory has a folder ${shown(name)} already: choose another one`);
}

function temporaryFolder(dir: string): string {
  try {
    return mkdtempSync(join(dir, ".svc-snapshot-"));
  } catch (error) {
    throw diskError(error, "write into", dir);
  }
}

/** A folder that is not empty is never replaced: a collection of that name may have been created meanwhile. */
function moveInto(copy: string, place: string, name: string): void {
  try {
    renameSync(copy, place);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR"
      ? taken(name)
      : diskError(error, "make", place);
  }
}

/** Reads every byte of the copy and compares checksums: the second half of the progress. */
async function verify(name: string, store: Store, { signal, onProgress }: Watch): Promise<void> {
  try {
    await store.open(name).verify({
      signal,
      onProgress: onProgress && ((done, all) => onProgress(all + done, 2 * all)),
    });
  } finally {
    await store.close();
  }
}
