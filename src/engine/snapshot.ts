/**
 * A copy of a collection in another memory directory. It is made in a folder of its own beside its future place, the manifest last, read
 * back whole, and only then renamed to its name: there is a whole collection or none, also after a crash.
 */
import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { shown } from "../checks/kinds.ts";
import { diskError, makeDirectory, syncDirectory } from "../durable.ts";
import { ValueError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import type { Watch } from "./options.ts";

/** Where to. */
export interface SnapshotPlaces {
  /** The other memory directory. */
  to: string;
  storeAt: (dir: string) => Store;
  watch: Watch;
}

/** Saves what is staged and copies the collection. @throws ValueError where its name is taken there; OSError */
export async function snapshot(collection: Collection, { to, storeAt, watch }: SnapshotPlaces): Promise<void> {
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
    discard(stage);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

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

/** A folder that is not empty is never replaced: somebody may have made a collection of that name meanwhile. */
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

function discard(stage: string): void {
  try {
    rmSync(stage, { recursive: true, force: true });
  } catch {
    // What made the copy fail is what the caller gets; the folder's name says what it is.
  }
}

/** Reads every byte of the copy and compares checksums: the other half of the way. */
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
