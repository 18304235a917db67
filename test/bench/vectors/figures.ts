/** Figures of a data set, as the JSON has them. */
import type { Cost } from "../cost.ts";

/** Cost of a query, in microseconds, and the share of right answers. */
export interface QueryCost {
  /** CPU time, all threads of the process together. */
  cpu: number;
  wall: number;
  recall: number;
}

/** One point of a curve. */
export interface Point extends QueryCost {
  setting: number;
}

/** Spawn to the first answer of a new process, milliseconds, and its resident bytes after it. */
export interface Cold {
  ms: number;
  resident: number;
}

/** One contender on one data set. What it cannot do, or did not get to, is left out. */
export interface Figures {
  name: string;
  runtime?: string;
  /** Why it stopped. */
  error?: string;
  ingest?: Cost;
  /** The approximate index, where that is not part of `ingest`. */
  index?: Cost;
  /** One query at a time. */
  exact?: QueryCost;
  /** Many in one call, on one thread. */
  exactBatch?: QueryCost;
  /** Wall throughput of exact queries on two threads divided by one's, in batches. */
  twoThreads?: number;
  /** By the per cent of rows that match. */
  filtered: Record<string, QueryCost>;
  curve: Point[];
  cold?: Cold;
  /** The same with an exact query. */
  coldExact?: Cold;
  /** Run from source under Bun, which transpiles it first. */
  coldSource?: Cold;
}

/** The bare machine, in the same minutes. */
export interface Bare {
  /** Bytes a second. */
  bandwidth: number;
  /** Seconds of a scan of all rows. */
  scan: number;
  isa: string;
  /** Milliseconds from the spawn of Bun to the output of a script that does nothing else. */
  spawn: number;
}

/** A data set with all contenders. */
export interface SetFigures {
  name: string;
  rows: number;
  dim: number;
  bare: Bare;
  /** This project first. */
  contenders: Figures[];
}

/** Queries a CPU second: what one thread answers. */
export const rate = (asked: { cpu: number }) => 1e6 / asked.cpu;

/** CPU and wall seconds until a contender answers approximately. */
export function building({ index, ingest }: Figures): Cost | undefined {
  return index ?? ingest;
}

/**
 * The rate at a recall: that of the fastest point with at least this recall or, where it is higher, interpolated
 * between two neighbouring points around it. undefined where no point reaches the recall.
 */
export function rateAt(curve: readonly Point[], recall: number): number | undefined {
  const there = curve.filter((point) => point.recall >= recall);
  if (there.length === 0) return undefined;
  const best = Math.max(...there.map(rate));
  const below = curve.filter((point) => point.recall < recall && rate(point) > best);
  if (below.length === 0) return best;
  const low = below.reduce((a, b) => (a.recall > b.recall ? a : b));
  const high = there.reduce((a, b) => (rate(a) > rate(b) ? a : b));
  const share = (recall - low.recall) / (high.recall - low.recall);
  return Math.exp(Math.log(rate(low)) * (1 - share) + Math.log(rate(high)) * share);
}
