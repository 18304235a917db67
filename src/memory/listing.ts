/** The collections of a memory, as `svc_list_collections` answers: what they are for, and which of them cannot be read. */

import { type CollectionDetail, fitCollections } from "../answers/collections.ts";
import { minuteOf } from "../answers/local-times.ts";
import { DEFAULT_PARTITION_KEY, REPO_KEY } from "../checks/names.ts";
import { attempt } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import type { StoreView } from "../store/limited/view.ts";
import { type CollectionOverview, whyUnreadable } from "../store/overview.ts";
import type { ListCollectionsPayload } from "./payloads.ts";
import type { ArgumentsOf } from "./requests.ts";

/** Scopes of a collection that are named. */
const SCOPES_MAX = 20;

/**
 * Names that fit into the answer. For each the manifest is read, and the sizes of its files.
 * @param open a collection whose scopes are counted; without it none is opened
 */
export function listCollections(
  store: StoreView,
  { after = "", max_bytes }: ArgumentsOf<"list_collections">,
  open?: (name: string) => Collection,
): ListCollectionsPayload {
  const folders = store.folders();
  const names = [...folders.keys()].filter((name) => name > after && folders.get(name) !== "begun");
  return fitCollections(max_bytes, names, (name) => {
    const [one] = store.overview([name]);
    const isSaved = folders.get(name) === "saved";
    const [word, why] = (one && whyUnreadable(one)) ?? [];
    const remedy = word === "damaged" ? `; 'svc mem check ${name} --repair' saves the rows that can be read` : "";
    if (word !== undefined)
      return { name, isSaved, description: one?.description, unreadable: `${word}: ${why}${remedy}` };
    return { name, isSaved, description: one?.description, lookInside: one && (() => detailOf(one, open)) };
  });
}

function detailOf(one: CollectionOverview, open?: (name: string) => Collection): CollectionDetail {
  const { name, rows, partition_by = DEFAULT_PARTITION_KEY, last_write, description } = one;
  // Partitions of repositories have ids that say nothing.
  const scopes = open && partition_by !== REPO_KEY ? scopesOf(name, partition_by, open) : undefined;
  return {
    name,
    rows,
    ...(partition_by !== DEFAULT_PARTITION_KEY && { partition_by }),
    ...scopes,
    ...(last_write !== undefined && { last_write: minuteOf(last_write) }),
    ...(description !== undefined && { description }),
  };
}

/** The scopes of the most rows; nothing where the collection cannot be opened, which the next call to it says. */
function scopesOf(name: string, column: string, open: (name: string) => Collection) {
  const values = attempt(() => open(name).values(column));
  if (values === undefined || values.length === 0) return {};
  const scopes = Object.fromEntries(values.slice(0, SCOPES_MAX).map(({ value, rows }) => [String(value), rows]));
  const omitted = values.length - SCOPES_MAX;
  return { scopes, ...(omitted > 0 && { scopes_omitted: omitted }) };
}
