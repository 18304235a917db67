/** The run of docs/benchmarks.md, as far as the model needs it. */
import type { Measured } from "./paper.ts";

const load = { writers: 1, saves: 1000, seconds: 4, p50: 4, p99: 20, lost: 0, missing: 0 };
export const PUBLISHED: Measured = {
  commits: { local: load, one: load, eight: load, nodes: load, wire: load },
  costs: {
    commit: { server: 1, node: 2, ms: 4 },
    round: { server: 2, node: 2, ms: 8, bytes: 3121 },
    headBytes: 1623,
    poll: { server: 0.18, ms: 1 },
    session: 3.9e6,
  },
  move: {
    to: { mb: 412, perSecond: 91, barePerSecond: 100, serverCpu: 8 },
    from: { mb: 412, perSecond: 200, barePerSecond: 250, serverCpu: 3 },
  },
  sizes: [
    { rows: 10_000, disk: 8.84e6, search: 1, resident: 9e7, anonymous: 5e7 },
    { rows: 100_000, disk: 87.7e6, search: 2.7, resident: 1.7e8, anonymous: 7e7 },
    { rows: 1_000_000, disk: 867e6, search: 16, resident: 9e8, anonymous: 2e8 },
  ],
};
