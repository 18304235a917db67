/** All collections of texts of a memory, as a search of "*" reads them. */
import { Breather } from "../../breather.ts";
import { columnName, firstAndMore, listed, shown } from "../../checks/kinds.ts";
import { REPO_KEY } from "../../checks/names.ts";
import type { Condition } from "../../checks/where.ts";
import { errorMessage, SvcError } from "../../errors.ts";
import type { Collection } from "../../store/collection.ts";
import type { StoreView } from "../../store/limited/view.ts";
import { whyUnreadable } from "../../store/overview.ts";
import { Collections } from "../../texts/collections.ts";
import { type Embedder, isOurSpace } from "../../texts/embedder.ts";
import { joinNotices } from "../../texts/notices.ts";

/** The notice about a query without words to all collections. It gets no hits. */
export const EMPTY_QUERY_TO_ALL = "the query has no words";

/** Names of one kind that a notice has. */
const NAMED_MAX = 3;

/** The collections of one search. */
export interface AllCollections {
  readonly searched: Collections;
  /** Which collections are not searched and why, and that there are none; undefined where all are. */
  notice(): string | undefined;
}

/**
 * The saved collections of texts of this memory's embedder that have the column of `where`, sorted by name.
 * Collections of repositories and of raw vectors are left out; the notice does not name them.
 */
export async function allCollections(
  { store, embedder }: { store: StoreView; embedder: Embedder },
  where: Condition | undefined,
  signal: AbortSignal | undefined,
): Promise<AllCollections> {
  const parts: Collection[] = [];
  const unreadable = new Map<string, string>();
  const foreign: string[] = [];
  const lacking: string[] = [];
  const names = store.present();
  // The first search opens all of them.
  const breather = new Breather(signal, "the call was cancelled; nothing was changed");
  for (const name of names) {
    if (breather.due) await breather.pause();
    try {
      const found = store.find(name);
      if (found === undefined || found.schema.keyName === REPO_KEY || found.schema.embedderProfile === null) continue;
      if (!isOurSpace(found.schema.embedderProfile, embedder)) foreign.push(name);
      else if (where && !found.schema.filterColumns.includes(where.column)) lacking.push(name);
      else parts.push(found);
    } catch (error) {
      // One that cannot be opened does not hide the others.
      if (!(error instanceof SvcError)) throw error;
      unreadable.set(name, reasonOf(store, name, error));
    }
  }
  const searched = new Collections(parts, where, signal);
  return {
    searched,
    notice() {
      for (const [name, error] of searched.failed) unreadable.set(name, reasonOf(store, name, error));
      const reasons = [...unreadable].map(([name, why]) => `${shown(name)} (${why})`);
      const isEmpty = parts.length + unreadable.size + foreign.length + lacking.length === 0;
      const notices = [
        isEmpty ? "there are no collections of texts: svc_add makes one" : undefined,
        leftOut("cannot be read", reasons),
        where && leftOut(`have no column ${columnName(where.column)}`, lacking.map(shown)),
        leftOut("have another embedder", foreign.map(shown)),
      ];
      return joinNotices("; ", notices);
    },
  };
}

/** What the folder says, which is shorter than the error. */
function reasonOf(store: StoreView, name: string, error: SvcError): string {
  const [one] = store.overview([name]);
  const [word, why] = (one && whyUnreadable(one)) ?? [];
  return word === undefined ? errorMessage(error) : `${word}: ${why}`;
}

function leftOut(why: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const named = firstAndMore(names, NAMED_MAX, String);
  return `collections that were not searched because they ${why}: ${listed(named, "and")}`;
}
