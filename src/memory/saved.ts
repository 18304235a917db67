/** What a client has saved since a time, for a hook that reminds it of what it has not. */
import type { Origin } from "../origin.ts";
import type { Collection } from "../store/collection.ts";
import { rowsSavedBy } from "../texts/history/by-client.ts";
import { type Visited, visitCollections } from "./collections/visit.ts";

export interface SavedArguments {
  /** Milliseconds since 1970. */
  since: number;
  /** How the names begin under which the client saves. */
  client: string;
  /** So many rows. */
  limit: number;
}

/** A row that was saved. */
export interface SavedRow {
  collection: string;
  id: string;
  text: string;
}

/** The rows, the last saved first, and how many there are in all. Collections that cannot be read have none. */
export async function savedSince(memory: Visited, a: SavedArguments): Promise<{ rows: SavedRow[]; total: number }> {
  const found: { collection: Collection; id: string; time: number }[] = [];
  const isOf = ({ client }: Origin) => client?.toLowerCase().startsWith(a.client) === true;
  const add = (collection: Collection) => {
    for (const [id, time] of rowsSavedBy(collection, isOf, a.since)) found.push({ collection, id, time });
  };
  await visitCollections(memory, add, { isWanted: ({ last_write = 0 }) => last_write >= a.since });
  found.sort((x, y) => y.time - x.time);
  const rows = found.slice(0, a.limit).flatMap(({ collection, id }) => {
    const [row] = collection.get([id], { text: true });
    return row?.text === undefined ? [] : [{ collection: collection.name, id, text: row.text }];
  });
  return { rows, total: found.length };
}
