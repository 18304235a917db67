/**
 * Figures for the model until a whole run on a quiet machine replaces them. Times are of a prototype on two quiet cores.
 * CPU times of calls are of this program on such a machine while other work kept its cores busy. A save without a database took
 * 5.6 times as much CPU then as in the quiet run of docs/benchmarks.md (5.5 and 0.98 ms), so they are divided by that.
 */
import type { Measured } from "./paper.ts";

const BUSY = 5.6;

const load = (writers: number, saves: number, seconds: number, p50: number) => {
  return { writers, saves, seconds, p50, p99: 10 * p50, lost: 0, missing: 0 };
};

/** Prototype: a save took 1.6 ms here and 1.1 ms in the database; 8 writers that wait for one lock made 1,406 commits a second. */
const one = load(1, 1000, 2.7, 2.7);
const eight = load(8, 1406, 1, 4);

export const PUBLISHED: Measured = {
  commits: { local: load(1, 1000, 1.6, 1.6), one, eight, nodes: eight, wire: eight },
  costs: {
    commit: { server: 3.7 / BUSY, node: 11 / BUSY, ms: 2.7 },
    round: { server: 13.3 / BUSY, node: 10.3 / BUSY, ms: 12.4, bytes: 3121 },
    headBytes: 1623,
    poll: { server: 0.18 / BUSY, ms: 0.5 },
    session: 3.9e6,
  },
  // Rates of the prototype; CPU of the database for a megabyte as above.
  move: {
    to: { mb: 443, perSecond: 91, barePerSecond: 91, serverCpu: 17.8 / BUSY },
    from: { mb: 443, perSecond: 212, barePerSecond: 212, serverCpu: 11.5 / BUSY },
  },
  // Files and searches of `npm run bench -- growth`; a process with 10,000 notes has 82 MB in memory, and each byte of files may.
  sizes: [
    { rows: 10_000, disk: 8.84e6, search: 0.99, resident: 82e6, anonymous: 38e6 },
    { rows: 100_000, disk: 87.7e6, search: 2.7, resident: 161e6, anonymous: 38e6 },
    { rows: 1_000_000, disk: 867e6, search: 16, resident: 940e6, anonymous: 38e6 },
  ],
};
