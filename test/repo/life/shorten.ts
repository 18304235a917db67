/** Finds a short list of steps that still leads to a difference, by leaving out ever smaller runs of them. */
import type { Difference } from "./life.ts";

/** Lists that are tried at most: each is a life. */
const TRIES = 80;

/**
 * @param found the difference, with the steps that led to it
 * @param again lives with these steps, and compares after the last
 */
export async function shortened(
  found: Difference,
  again: (steps: number[]) => Promise<Difference | undefined>,
): Promise<Difference> {
  let best = found;
  let steps = found.taken.map((step) => Number.parseInt(step, 10));
  let tries = 0;
  for (
    let size = Math.ceil(steps.length / 2);
    size >= 1 && tries < TRIES;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < steps.length && tries < TRIES; tries++) {
      const fewer = [...steps.slice(0, from), ...steps.slice(from + size)];
      const still = await again(fewer);
      if (still) [best, steps] = [still, fewer];
      else from += size;
    }
  }
  return best;
}
