/** Builds approximate indexes where partitions are large enough; changes nothing where none is. */
import type { Watch } from "../../ffi/ty_collection.ts";
import { shown } from "../checks/kinds.ts";
import { CancelledError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";

/** The result of a build. */
export interface IvfBuilt {
  /** Whether any partition was large enough. */
  built: boolean;
  /** Partitions that have an index now. */
  partitions: number;
  /** Live rows of the largest partition. */
  largest: number;
}

/**
 * Builds an index for each partition of at least `minRows` rows and makes its recall the collection's default. Saves
 * staged changes in any case. Where no partition is large enough the base, its indexes and the default stay: a default
 * below 1 would report exact results as approximate.
 */
export async function buildIvf(
  collection: Collection,
  minRows: number,
  targetRecall: number,
  watch: Watch,
): Promise<IvfBuilt> {
  const refuseCancelled = () => {
    if (!watch.signal?.aborted) return;
    throw new CancelledError(`the call was cancelled; collection ${shown(collection.name)} stands as last saved`);
  };
  refuseCancelled();
  // Queued changes first: they may make a partition large enough.
  await collection.save();
  refuseCancelled();
  const partitions = collection.partitions();
  const largest = partitions.reduce((most, { rows }) => Math.max(most, rows), 0);
  // A partition without rows gets no index, whatever `minRows` is.
  if (largest < Math.max(1, minRows)) {
    return { built: false, partitions: partitions.filter(({ nlist }) => nlist > 0).length, largest };
  }
  return { built: true, partitions: await collection.buildIvf(minRows, targetRecall, watch), largest };
}
