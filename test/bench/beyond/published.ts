/**
 * Figures for the model where a run gives none: of `npm run bench -- beyond` on 30 November 2026, on two quiet cores of 2.0 GHz.
 * Files and searches are those of `npm run bench -- growth`; a process with 10,000 notes has 82 MB in memory, and each byte of files
 * may be.
 */
import type { Measured } from "./paper.ts";

export const PUBLISHED: Measured = {
  commits: {
    local: { writers: 1, saves: 3723, seconds: 10.0, p50: 2.51, p99: 6.45, lost: 0, missing: 0 },
    one: { writers: 1, saves: 1163, seconds: 10.0, p50: 7.8, p99: 28.8, lost: 0, missing: 0 },
    eight: { writers: 8, saves: 5896, seconds: 10.0, p50: 11.4, p99: 59.9, lost: 0, missing: 0 },
    nodes: { writers: 8, saves: 254, seconds: 10.4, p50: 274.0, p99: 955.0, lost: 0, missing: 0 },
    wire: { writers: 8, saves: 4361, seconds: 10.0, p50: 16.4, p99: 53.8, lost: 0, missing: 0 },
  },
  costs: {
    commit: { server: 4.7, node: 6.2, ms: 7.8 },
    round: { server: 14.9, node: 11.2, ms: 27.2, bytes: 3120 },
    headBytes: 1622,
    poll: { server: 0.204, ms: 0.313 },
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
