/** Deletes the rows that a filter and an age choose. The set is computed under the writer's lock, with the delete. */
import { shown } from "../checks/kinds.ts";
import { REPO_KEY } from "../checks/names.ts";
import type { Condition } from "../checks/where.ts";
import { ValueError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import type { CallContext } from "./requests.ts";

/** Which rows. */
export interface Matching {
  where?: Condition | undefined;
  /** Only rows that were updated before this time, in milliseconds since 1970. */
  until?: number | undefined;
}

/** The rows that match. */
export interface MatchingRows {
  /** In the order of insertion. */
  ids: string[];
  /** When the last of them was updated: a row that is replaced makes it later. */
  newest: number;
}

/** @throws ValueError for a column that is not filterable, and for the index of a repository */
export function matchingRows(collection: Collection, { where, until }: Matching): MatchingRows {
  if (collection.schema.keyName === REPO_KEY) {
    throw new ValueError(
      `collection ${shown(collection.name)} holds the index of a repository: 'svc mem repos --forget' removes one`,
    );
  }
  const ids = collection.ids({ where, until });
  const newest = collection.get(collection.ids({ where, until, newest: 1 }), { times: true });
  return { ids, newest: newest[0]?.times?.updated ?? 0 };
}

/**
 * @param planned what `matchingRows` returned: a delete of anything else is refused
 * @returns how many rows were deleted
 * @throws ValueError as `matchingRows`, and where other rows match than were planned; nothing is deleted
 */
export function deleteMatching(
  collection: Collection,
  matching: Matching,
  planned: MatchingRows | undefined,
  { signal }: CallContext,
): Promise<number> {
  return collection.change(async (t) => {
    const found = matchingRows(collection, matching);
    if (planned !== undefined && !isSame(found, planned)) {
      throw new ValueError(
        `collection ${shown(collection.name)} was changed after its rows were counted, so nothing was deleted: ` +
          "run the command again to count them now",
      );
    }
    return t.delete(found.ids);
  }, signal);
}

function isSame(a: MatchingRows, b: MatchingRows): boolean {
  return a.newest === b.newest && a.ids.length === b.ids.length && a.ids.every((id, i) => id === b.ids[i]);
}
