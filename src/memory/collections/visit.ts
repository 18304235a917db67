/** A verb's visit to each collection of a memory. */
import { REPO_KEY } from "../../checks/names.ts";
import { errorMessage, SvcError } from "../../errors.ts";
import type { Collection } from "../../store/collection.ts";
import type { StoreView } from "../../store/limited/view.ts";
import { type CollectionOverview, whyUnreadable } from "../../store/overview.ts";

/** What a visit needs of a memory. */
export interface Visited {
  readonly store: StoreView;
  readonly open: (name: string) => Collection;
}

/** Which collections are visited, and in which order. */
export interface Visit {
  /** Asked right before the collection is opened. */
  isWanted?: ((one: CollectionOverview) => boolean) | undefined;
  /** The last saved first; else by name. */
  newestFirst?: boolean;
}

/**
 * Does some work for each collection but those of repositories. One that cannot be read does not hide the others.
 * @returns those that could not be read, by name, with the reason
 */
export async function visitCollections(
  { store, open }: Visited,
  work: (collection: Collection) => unknown,
  { isWanted = () => true, newestFirst = false }: Visit = {},
): Promise<Map<string, string>> {
  const unreadable = new Map<string, string>();
  const all = store.overview().filter(({ partition_by }) => partition_by !== REPO_KEY);
  if (newestFirst) all.sort((a, b) => (b.last_write ?? 0) - (a.last_write ?? 0));
  for (const one of all) {
    const why = whyUnreadable(one);
    try {
      if (why !== undefined) unreadable.set(one.name, `${why[0]}: ${why[1]}`);
      else if (isWanted(one)) await work(open(one.name));
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
      unreadable.set(one.name, errorMessage(error));
    }
  }
  return unreadable;
}
