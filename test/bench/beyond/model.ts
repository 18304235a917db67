/**
 * Nodes of one database as a queueing model.
 *
 * - Writers of a collection queue for its lock: a closed network of one queue and a think time, by exact mean value
 *   analysis (Reiser and Lavenberg, 1980).
 * - CPU time takes 1 / (1 - u^m) times as long on m cores that are used to the share u: the response time of an M/M/m
 *   queue (Kleinrock, Queueing Systems I, 1975), exact for one and two cores, and close to it for more.
 * - A node begins a round at once if a hint came during the last one, and otherwise at the next hint or look. Saves come
 *   at random times (Poisson).
 *
 * The share u follows from the rates and the rates from u: it is found by bisection.
 */

/** What one call takes, in milliseconds: CPU time on the cores that all share, and the rest, which does not queue for them. */
export interface Demand {
  cpu: number;
  rest: number;
}

export interface Load {
  /** Of the database's machine. */
  cores: number;
  nodes: number;
  writers: number;
  /** While a save holds the lock of the collection. */
  locked: Demand;
  /** Of a save before and after that. */
  unlocked: Demand;
  /** One round of a node. */
  round: Demand;
  /** CPU milliseconds of the database, for the bytes that each save sends to all nodes together. */
  spread: number;
  /** Milliseconds between two looks of a node that gets no hint. */
  pollMs: number;
}

export interface Solved {
  /** Saves a second. */
  saves: number;
  /** Rounds of one node a second. */
  rounds: number;
  /** Share of the cores that is used. */
  used: number;
}

/** Rates of a load in balance. */
export function solve(load: Load): Solved {
  let [low, high] = [0, 1];
  let solved = ratesAt(load, 0);
  // More use makes all calls slower, and slower calls use less: there is one balance.
  for (let i = 0; i < 60; i++) {
    const used = (low + high) / 2;
    solved = ratesAt(load, used);
    if (solved.used > used) low = used;
    else high = used;
  }
  return solved;
}

/** Rates where calls are as slow as at a share of use, and the use that these rates cause. */
function ratesAt(load: Load, used: number): Solved {
  const { cores, nodes, writers, locked, unlocked, round, spread, pollMs } = load;
  const slower = 1 / Math.max(1e-9, 1 - used ** cores);
  const ms = ({ cpu, rest }: Demand) => cpu * slower + rest;
  const saves = savesOf(writers, ms(locked), ms(unlocked));
  const rounds = nodes === 0 ? 0 : 1 / (ms(round) + waitOf(saves, ms(round), pollMs));
  const cpu = saves * (locked.cpu + unlocked.cpu + spread) + nodes * rounds * round.cpu;
  return { saves: saves * 1000, rounds: rounds * 1000, used: cpu / cores };
}

/** Saves a millisecond of writers that queue for a lock: exact mean value analysis of one queue and a think time. */
function savesOf(writers: number, locked: number, unlocked: number): number {
  let [rate, queue] = [0, 0];
  for (let n = 1; n <= writers; n++) {
    const waits = locked * (1 + queue);
    rate = n / (waits + unlocked);
    queue = rate * waits;
  }
  return rate;
}

/** Milliseconds from the end of a round to the beginning of the next, on average. */
function waitOf(saves: number, roundMs: number, pollMs: number): number {
  if (saves === 0) return pollMs;
  const noHint = Math.exp(-saves * roundMs);
  return (noHint * (1 - Math.exp(-saves * pollMs))) / saves;
}
