/** What a client has saved since a time, for a hook that reminds it of what it has not. */
import { REPO_KEY } from "../checks/names.ts";
import { SvcError } from "../errors.ts";
import type { Origin } from "../origin.ts";
import type { Collection } from "../store/collection.ts";
import { whyUnreadable } from "../store/overview.ts";
import type { Store } from "../store/store.ts";
import { rowsSavedBy } from "../texts/history/by-client.ts";

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

interface SavedParts {
  readonly store: Store;
  readonly open: (name: string) => Collection;
}

/** The rows, the last saved first, and how many there are in all. */
export function savedSince({ store, open }: SavedParts, a: SavedArguments): { rows: SavedRow[]; total: number } {
  const found: { collection: Collection; id: string; time: number }[] = [];
  for (const one of store.overview()) {
    if (whyUnreadable(one) !== undefined || one.partition_by === REPO_KEY || (one.last_write ?? 0) < a.since) continue;
    try {
      const collection = open(one.name);
      const isOf = ({ client }: Origin) => client?.toLowerCase().startsWith(a.client) === true;
      for (const [id, time] of rowsSavedBy(collection, isOf, a.since)) found.push({ collection, id, time });
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
    }
  }
  found.sort((x, y) => y.time - x.time);
  const rows = found.slice(0, a.limit).flatMap(({ collection, id }) => {
    const [row] = collection.get([id], { text: true });
    return row?.text === undefined ? [] : [{ collection: collection.name, id, text: row.text }];
  });
  return { rows, total: found.length };
}
