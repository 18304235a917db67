/** The error for a collection that does not exist: which name was meant, and which collections there are. */
import { listed, shown } from "../checks/kinds.ts";
import { ALL, checkName } from "../checks/names.ts";
import { nearest } from "../checks/nearest.ts";
import { ValueError } from "../errors.ts";
import { MissingCollection } from "../store/folder-lock.ts";
import type { StoreView } from "../store/limited/view.ts";
import { whyUnreadable } from "../store/overview.ts";

/** Names in the message, at most. */
const NAMES_MAX = 5;

/** @throws ValueError for a new collection of the name that stands for all: searches of all would search it alone */
export function refuseAll(name: string): void {
  if (name === ALL) throw new ValueError(`'${ALL}' stands for all collections: give the new one another name`);
}

/** The error of the tools. It names only collections that can be opened. */
export function missingCollection(name: string, stores: Iterable<StoreView>): ValueError {
  if (name === ALL)
    return new ValueError(`'${ALL}' stands for all collections in svc_search only: name one`, "no_collection");
  const places = new Map<string, StoreView>();
  const unsaved = new Set<string>();
  for (const store of stores) {
    const found = store.absent(name);
    if (!(found instanceof MissingCollection)) return found; // an interrupted first save, or one that is under way
    for (const each of store.list()) places.set(each, store);
    for (const each of store.unsaved()) unsaved.add(each.name);
  }
  const names = [...new Set([...places.keys(), ...unsaved])].filter(isSafe).sort();
  const isUsable = (each: string) => {
    if (unsaved.has(each)) return true;
    const [seen] = places.get(each)!.overview([each]);
    return seen !== undefined && whyUnreadable(seen) === undefined;
  };
  return new MissingCollection(name, namesHint(name, names, "svc_add", isUsable), "");
}

/**
 * What follows the sentence that a collection does not exist.
 * @param names of all collections, sorted
 * @param toMake the tool or command that makes one
 * @param isUsable looks at a collection; called for the name that may be meant and those that are listed
 */
export function namesHint(
  name: string,
  names: readonly string[],
  toMake: string,
  isUsable: (name: string) => boolean = () => true,
): string {
  if (names.length === 0) return `, and there are no collections yet: ${toMake} makes it`;
  const similar = nearest(name, names);
  const near = similar !== undefined && isUsable(similar) ? `, did you mean ${shown(similar)}?` : "";
  const usable: string[] = [];
  let looked = 0;
  for (; looked < names.length && usable.length < NAMES_MAX; looked++) {
    if (isUsable(names[looked]!)) usable.push(names[looked]!);
  }
  const count = usable.length + names.length - looked;
  if (count === 0) return ", and no existing collection can be read: 'svc mem list' shows why";
  if (count === 1 && near !== "") return near;
  const some = usable.map(shown);
  if (count > some.length) some.push(`${count - some.length} more`);
  return `${near} (there ${count === 1 ? "is" : "are"} ${listed(some, "and")})`;
}

function isSafe(name: string): boolean {
  try {
    checkName(name);
    return true;
  } catch {
    return false;
  }
}
