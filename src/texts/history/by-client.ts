/** Which rows a client saved last, as far as the history goes back. */
import type { Origin } from "../../origin.ts";
import type { Collection } from "../../store/collection.ts";
import { changesIn, savesOf } from "./history.ts";

/**
 * Live rows whose last save was made by such a client, by id, with the time of that save; the last saved first.
 * @param since earlier saves are not looked at: milliseconds since 1970
 */
export function rowsSavedBy(
  collection: Collection,
  isOf: (origin: Origin) => boolean,
  since = Number.NEGATIVE_INFINITY,
): Map<string, number> {
  const seen = new Set<string>();
  const times = new Map<string, number>();
  for (const { time, origin, from, to } of savesOf(collection)) {
    if (time < since) break;
    const isTheirs = isOf(origin);
    for (const page of changesIn(collection, { from, to })) {
      for (const { id, kind } of page) {
        if (seen.has(id)) continue;
        seen.add(id);
        if (isTheirs && kind !== "deleted") times.set(id, time);
      }
    }
  }
  // What is deleted without a history is not in it.
  for (const { id, found } of collection.get([...times.keys()], {})) if (!found) times.delete(id);
  return times;
}
