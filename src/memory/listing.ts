/** The collections of a memory, as `svc_list_collections` answers: what they are for, and which of them cannot be read. */

import { fitDescribed } from "../answers/lists.ts";
import { whyUnreadable } from "../store/overview.ts";
import type { Store } from "../store/store.ts";
import type { ListCollectionsPayload } from "./payloads.ts";
import type { ArgumentsOf } from "./requests.ts";

/** Names that fit into the answer. For each the manifest is read, and the sizes of its files. */
export function listCollections(store: Store, a: ArgumentsOf<"list_collections">): ListCollectionsPayload {
  const { after = "" } = a;
  const folders = store.folders();
  const names = [...folders.keys()].filter((name) => name > after && folders.get(name) !== "begun");
  return fitDescribed(a, names, (name) => {
    const [one] = store.overview([name]);
    const [word, why] = (one && whyUnreadable(one)) ?? [];
    const remedy = word === "damaged" ? `; 'svc mem check ${name} --repair' saves the rows that can be read` : "";
    const unreadable = word && `${word}: ${why}${remedy}`;
    return { name, isSaved: folders.get(name) === "saved", description: one?.description, unreadable };
  });
}
