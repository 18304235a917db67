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
  if (generation() >= wanted) return;
  const until = performance.now() + waitMs;
  const late = Promise.withResolvers<void>();
  // A timer of its own, which ends with the call: a program that has its answer must not wait for it.
  const timer = setTimeout(late.resolve, waitMs);
  try {
    for (;;) {
      await Promise.race([following?.follow(), late.promise]);
      if (generation() >= wanted) return;
      const isLate = performance.now() >= until;
      // Also where the caller may not know that there is one.
      if ((isLate || following === undefined) && store.find(name) === undefined) throw store.absent(name);
      if (isLate) throw behind(name, wanted, generation(), following);
      await Bun.sleep(PAUSE_MS);
    }
  } finally {
    clearTimeout(timer);
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
