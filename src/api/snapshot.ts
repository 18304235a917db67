/**
 * A copy of a collection in another memory directory. It is made in a temporary folder there, the manifest last,
 * verified, and then renamed: also after a crash, the whole collection is there or nothing. Others may write meanwhile.
 */
import { join } from "node:path";
import { readFolder } from "../checks/folders.ts";
import { makeDirectory, syncDirectory } from "../durable.ts";
import { copyLog, logsOf } from "../repo/fingerprints/log-copy.ts";
import type { Collection } from "../store/collection.ts";
import type { StoreView } from "../store/limited/view.ts";
import type { CopyOptions } from "./options.ts";
import { moveInto, refuseTaken, removeFolder, withStage } from "./stage.ts";

/** Attempts at a copy. One fails if another process indexes a repository meanwhile. */
const TRIES = 5;

/** What was copied, in bytes of files. */
export interface CopiedCollection {
  name: string;
  generation: number;
  rows: number;
  /** Bytes of the copy; those of `linked_bytes` it shares with the original. */
  bytes: number;
  linked_bytes: number;
}

/** Saves the collection and copies it to the directory `to`. @throws ValueError where it has the name; OSError */
export async function snapshot(
  collection: Collection,
  to: string,
  store: StoreView,
  options: CopyOptions,
): Promise<void> {
  const { name } = collection;
  const dir = readFolder(to, "dir");
  refuseTaken(name, dir, store.at(dir));
  makeDirectory(dir, 0o700);
  await withStage(dir, async (stage) => {
    await copyInto(stage, collection, store, options);
    moveInto(join(stage, name), join(dir, name), name);
    syncDirectory(dir);
  });
}

/** Copies a collection of the memory `source` into the folder of its name in `stage`, and verifies the copy. */
export async function copyInto(
  stage: string,
  collection: Collection,
  source: Pick<StoreView, "dir" | "at">,
  { signal, onProgress, copy = false }: CopyOptions,
): Promise<CopiedCollection> {
  const { name } = collection;
  const place = join(stage, name);
  for (let tries = 1; ; tries++) {
    makeDirectory(place, 0o700);
    // The second half of the progress reads the copy.
    const first = onProgress && ((done: number, all: number) => onProgress(done, 2 * all));
    const second = onProgress && ((done: number, all: number) => onProgress(all + done, 2 * all));
    const { linkedBytes, copiedBytes, mapDiffers } = await collection.copy(place, !copy, { signal, onProgress: first });
    const there = source.at(stage);
    try {
      const staged = there.open(name);
      const { generation, notes } = staged.manifest();
      const logs = logsOf(notes);
      const sound = logs.filter((log) => copyLog(join(source.dir, name), place, log));
      // A log may have been replaced together with the manifest; one that is damaged is made again from its files.
      if (sound.length < logs.length && collection.manifest().generation !== generation && tries < TRIES) {
        await there.close();
        removeFolder(place);
        continue;
      }
      if (mapDiffers) await staged.compact({ signal }, true);
      await staged.verify({ signal, onProgress: second });
      signal?.throwIfAborted();
      syncDirectory(place);
      const bytes = linkedBytes + copiedBytes + sound.reduce((sum, log) => sum + log.bytes, 0);
      return { name, generation, rows: staged.count(), bytes, linked_bytes: linkedBytes };
    } finally {
      await there.close();
    }
  }
}
