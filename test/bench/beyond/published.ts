/**
 * Figures for the model where a run gives none: of `npm run bench -- beyond` on 1 December 2026, on two quiet cores of 2.0 GHz.
 * Files and searches are those of `npm run bench -- growth`; a process with 10,000 notes has 82 MB in memory, and each byte of files
 * may be.
 */
import type { Measured } from "./paper.ts";

export const PUBLISHED: Measured = {
  commits: {
    local: { writers: 1, saves: 3204, seconds: 6.0, p50: 1.8, p99: 4.7, lost: 0, missing: 0 },
    one: { writers: 1, saves: 990, seconds: 6.0, p50: 5.4, p99: 19.5, lost: 0, missing: 0 },
    eight: { writers: 8, saves: 4734, seconds: 6.0, p50: 8.5, p99: 35.7, lost: 0, missing: 0 },
    nodes: { writers: 8, saves: 214, seconds: 6.1, p50: 189.2, p99: 611.8, lost: 0, missing: 0 },
    wire: { writers: 8, saves: 3132, seconds: 6.0, p50: 14.0, p99: 56.2, lost: 0, missing: 0 },
  },
  costs: {
    commit: { server: 2.8, node: 6.2, ms: 5.4 },
    round: { server: 4.3, node: 7.8, ms: 11.5, bytes: 3120 },
    headBytes: 1622,
    poll: { server: 0.32, ms: 0.47 },
    session: 3.9e6,
  },
  move: {
    to: { mb: 412.0, perSecond: 44.7, barePerSecond: 78.8, serverCpu: 15.7 },
    from: { mb: 412.0, perSecond: 46.6, barePerSecond: 47.4, serverCpu: 15.8 },
  },
  sizes: [
    { rows: 10_000, disk: 8.84e6, search: 0.99, resident: 82e6, anonymous: 38e6 },
    { rows: 100_000, disk: 87.7e6, search: 2.7, resident: 161e6, anonymous: 38e6 },
    { rows: 1_000_000, disk: 867e6, search: 16, resident: 940e6, anonymous: 38e6 },
  ],
};
