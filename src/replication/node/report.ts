/** What a node has done with its database, and how far each collection of its copy is behind. */
import { join } from "node:path";
import { attempt } from "../../errors.ts";
import { savedIn } from "../../store/directory.ts";
import type { Follower } from "./follower.ts";
import type { Log } from "./log.ts";
import { savedState } from "./manifest.ts";

/** The counters are since the process began. Field names are the wire's. */
export interface NodeReport {
  commits: number;
  /** Calls that were made again after a cut connection or a deadlock. */
  retries: number;
  /** Commits that another node's commit came before. */
  lost_races: number;
  fetched_bytes: number;
  /** Since when the database has not answered, as ISO 8601, and why; null: it answered last time. */
  away_since: string | null;
  away_why: string | null;
  /** The collections of the copy and of the database, by their names. */
  collections: Record<string, CollectionReport>;
}

export interface CollectionReport {
  /** Of the copy; 0: it does not have the collection yet. */
  generation: number;
  /** How many generations of the database, when it answered last, the copy lacks. */
  behind: number;
}

/** What there is to report now; it asks the database nothing. */
export function reportOf({ dir, counts, covers }: Log, { outage, generations }: Follower): NodeReport {
  const names = new Set([...savedIn(dir).filter(covers), ...generations.keys()]);
  const collections = [...names].sort().map((name): [string, CollectionReport] => {
    const generation = attempt(() => savedState(join(dir, name))?.generation) ?? 0;
    return [name, { generation, behind: Math.max(0, (generations.get(name) ?? 0) - generation) }];
  });
  return {
    commits: counts.commits,
    retries: counts.retries,
    lost_races: counts.lost,
    fetched_bytes: counts.fetchedBytes,
    away_since: outage === undefined ? null : new Date(outage.since).toISOString(),
    away_why: outage?.why ?? null,
    collections: Object.fromEntries(collections),
  };
}
