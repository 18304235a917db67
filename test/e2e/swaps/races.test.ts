/** A short run of the races; `npm run test:soak` has long ones. */
import { expect, test } from "bun:test";
import { race } from "./races.ts";

test("while its runtime is swapped with another, the executable maps what was signed or refuses with a sentence", async () => {
  const tries = 60;
  const races = await race({ tries, seed: 1, parallel: 2 });
  expect(races.wrong).toEqual([]);
  expect(races.mapped).toBe(0);
  // Mapped libraries are noticed, and there were some to map.
  expect(races.noticed).toBeGreaterThan(0);
  expect(Object.values(races.swaps).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  expect(races.loaded + races.refused).toBe(tries);
}, 180_000);
