/** Failing calls, kills, power cuts and two writers: the exhaustive part. `npm run test:soak` is the long one. */
import { expect, test } from "bun:test";
import { buildFault, runFault } from "./program.ts";

/** A fixed seed: the same calls and states at each run. */
const SEED = "5";

/** 25 operations are each of the workload's cycle once; the soak repeats them with other errnos. */
const RUNS = ["fail 25", "kill 25", "power 2000", "pair 2", "beside", "flip 12", "plants"];

test.each(RUNS)(
  "%s",
  async (words) => {
    const { out, code } = await runFault(await buildFault(), [SEED, ...words.split(" ")]);
    expect(out).toMatch(/^[1-9]\d* passed, 0 failed$/m);
    expect(code).toBe(0);
  },
  600_000,
);
