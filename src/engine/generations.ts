/** Answers from at least a certain generation of a collection, which another process or another node has saved. */
import { shown } from "../checks/kinds.ts";
import { COUNT, readNumber } from "../checks/numbers.ts";
import { TimeoutError } from "../errors.ts";
import { AT_LEAST_WAIT_MS } from "../limits.ts";
import type { StoreView } from "../store/limited/view.ts";
import { minuteOf } from "../texts/notices.ts";

/** What brings this process's copy up to date, where a database has the memory's log. */
export interface Following {
  /** Since when the database does not answer, and why. */
  readonly outage: { since: number; why: string } | undefined;
  /** The generations of the database, when it answered last. */
  readonly generations: ReadonlyMap<string, number>;
  /** Brings all collections up to date, once. It never throws. */
  follow(): Promise<void>;
}

/** Between two looks. */
const PAUSE_MS = 50;

/**
 * Waits until a collection has a generation here.
 * @param waitMs at most
 * @throws TimeoutError `behind` that names both generations; ValueError for a collection that does not exist, and no database
 *   that could have it; ValueError, TypeError for what is not a whole number from 0
 */
export async function reach(
  { store, name, following }: { store: StoreView; name: string; following: Following | undefined },
  atLeast: number,
  waitMs: number = AT_LEAST_WAIT_MS,
): Promise<void> {
  const wanted = readNumber(atLeast, "atLeast", COUNT);
  const generation = () => store.find(name)?.generation ?? 0;
  for (const until = performance.now() + waitMs; generation() < wanted; ) {
    const left = until - performance.now();
    // Also where the caller may not know that there is one.
    const isAbsent = store.find(name) === undefined;
    if (isAbsent && (left <= 0 || following === undefined)) throw store.absent(name);
    if (left <= 0) throw behind(name, wanted, generation(), following);
    await Promise.race([following?.follow(), Bun.sleep(left)]);
    if (generation() < wanted) await Bun.sleep(Math.min(PAUSE_MS, left));
  }
}

function behind(name: string, wanted: number, here: number, following: Following | undefined): TimeoutError {
  const { outage, generations } = following ?? {};
  const there = generations === undefined ? "" : `; the database has ${generations.get(name) ?? 0}`;
  const why = outage ? `; the database has not answered since ${minuteOf(outage.since)}: ${outage.why}` : there;
  return new TimeoutError(
    `collection ${shown(name)} is at generation ${here} here, and ${wanted} is wanted${why}. Nothing was read: repeat the ` +
      "call later, or without the generation for an answer from what is here",
    "behind",
  );
}
