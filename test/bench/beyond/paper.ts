/** Nodes and rows that no machine here has, from figures of those that were measured. */
import { type Counters, compactionMs, dueOf } from "../../../src/store/compaction/due.ts";
import { columns } from "../columns.ts";
import type { Figures, Size } from "./figures.ts";
import { type Demand, solve } from "./model.ts";

/** Parts of a run whose figures are needed. */
type Needed = "commits" | "costs" | "move" | "sizes";
export type Measured = Pick<Figures, "crowd"> & Required<Pick<Figures, Needed>>;

export const NODES = [10, 100, 1000];
export const ROWS = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/** Machines and wishes that are assumed, not measured. */
export const ASSUMED = {
  /** Cores of the database's machine, each as fast as one of the machine that was measured. */
  cores: 8,
  /** Nodes with a writer each. */
  writers: 8,
  /** Bytes a second out of the database's machine: 10 Gbit/s. */
  network: 1.25e9,
  /** Saves of one collection a second, of one note each, that all nodes have to keep up with. */
  saves: 10,
  /** Milliseconds of a search. */
  search: 1000,
  /** Bytes of a node's memory, and of its disk, which has a collection twice when it is compacted. */
  memory: 64e9,
  disk: 2e12,
  /** Seconds until a new node has its first copy. */
  copy: 3600,
  /** Bytes of memory for the database's sessions, two a node: one that asks, one that gets hints. */
  sessions: 16e9,
};

/** Between two looks. */
const POLL_MS = 1000;
const SESSIONS = 2;
/** How much has to be due under load before a short compaction begins, and a long one: src/store/compaction/compactor.ts. */
const DUE = { short: 2, long: 8, shortMs: 1000 };

/** One number of nodes with one number of rows. */
export interface Point {
  nodes: number;
  rows: number;
  /** Saves a second of all writers that the database can take, and those with which all nodes keep up. */
  saves: number;
  followed: number;
  /** Bytes that a save sends to all nodes, with its share of the next compaction. */
  bytes: number;
  /** Seconds until a new node has its first copy. */
  copy: number;
  /** Bytes of a node. */
  disk: number;
  memory: number;
  /** CPU milliseconds. */
  search: number;
  /** What is used of what is assumed, from the most: 1 is all of it. */
  limits: Limit[];
}

export const LIMITS = ["lock", "catch-up", "first copy", "disk", "memory", "search", "sessions"] as const;
export interface Limit {
  name: (typeof LIMITS)[number];
  share: number;
}

/** @throws Error with a sentence where a part did not run */
export function measuredOf(figures: Partial<Figures>): Measured {
  const needed: Needed[] = ["commits", "costs", "move", "sizes"];
  const missing = needed.filter((part) => figures[part] === undefined);
  if (missing.length > 0)
    throw new Error(
      `the figures lack ${missing.join(", ")}: run npm run bench -- beyond --json FILE with the parts commits, found, move and sizes`,
    );
  return figures as Measured;
}

/** A save and a round on machines of their own: only the database's CPU time is shared. */
export function demandsOf({
  commits,
  costs,
}: Pick<Measured, "commits" | "costs">): Record<"locked" | "unlocked" | "round", Demand> {
  // Writers of eight nodes wait for the lock nearly all of the time: a save holds it for as long as one takes then.
  const heldMs = Math.min((1000 * commits.nodes.seconds) / commits.nodes.saves, commits.one.p50);
  const cpu = Math.min(costs.commit.server, heldMs);
  return {
    locked: { cpu, rest: heldMs - cpu },
    unlocked: { cpu: 0, rest: commits.one.p50 - heldMs },
    round: { cpu: costs.round.server, rest: Math.max(0, costs.round.ms - costs.round.server) },
  };
}

export function pointOf(measured: Measured, nodes: number, rows: number): Point {
  const { costs, move, sizes } = measured;
  const at = sizeAt(sizes, rows);
  const grownBytes = costs.round.bytes - costs.headBytes;
  const bytes = grownBytes + at.disk / savesBetween(rows, at.disk);
  const cores = { cores: ASSUMED.cores, writers: ASSUMED.writers, pollMs: POLL_MS };
  const demands = demandsOf(measured);
  const alone = solve({ ...cores, ...demands, nodes: 0, spread: 0 });
  const spread = (nodes * (bytes - grownBytes) * move.from.serverCpu) / 1e6;
  const all = solve({ ...cores, ...demands, nodes, spread });
  const sent = nodes * (bytes + (all.rounds / all.saves) * costs.headBytes);
  const followed = Math.min(all.saves, ASSUMED.network / sent);
  const copy = at.disk / 1e6 / move.from.perSecond;
  const shares: Record<Limit["name"], number> = {
    lock: ASSUMED.saves / alone.saves,
    "catch-up": ASSUMED.saves / followed,
    "first copy": copy / ASSUMED.copy,
    disk: (2 * at.disk) / ASSUMED.disk,
    memory: at.resident / ASSUMED.memory,
    search: at.search / ASSUMED.search,
    sessions: (nodes * SESSIONS * costs.session) / ASSUMED.sessions,
  };
  const limits = LIMITS.map((name) => ({ name, share: shares[name] })).sort((a, b) => b.share - a.share);
  const memory = at.resident;
  return {
    nodes,
    rows,
    saves: all.saves,
    followed,
    bytes: sent,
    copy,
    disk: at.disk,
    memory,
    search: at.search,
    limits,
  };
}

/** Share of the database's cores that nodes use while there are no saves: each looks once a second. */
export function idleUse({ costs }: Measured, nodes: number): number {
  return (nodes * costs.poll.server) / POLL_MS / ASSUMED.cores;
}

/** Saves of one note between two compactions, while the collection is never idle. */
function savesBetween(rows: number, disk: number): number {
  const none = { delta_rows: 0, base_dead: 0, delta_dead: 0, delta_bytes: 0, damages: 0, ivf_partitions: 0 };
  const counters: Counters = { ...none, base_rows: rows, base_bytes: disk, saves: 1 };
  const due = compactionMs(counters) <= DUE.shortMs ? DUE.short : DUE.long;
  return due / dueOf(counters);
}

/** A size between those that were measured, by powers of the rows; beyond them everything grows as the rows do. */
export function sizeAt(sizes: readonly Size[], rows: number): Size {
  const next = sizes.findIndex((size) => size.rows >= rows);
  const of = (get: (size: Size) => number) => {
    if (next === -1) return get(sizes.at(-1)!) * (rows / sizes.at(-1)!.rows);
    const [high, low] = [sizes[next]!, sizes[Math.max(0, next - 1)]!];
    if (high === low || high.rows === rows) return get(high);
    const part = Math.log(rows / low.rows) / Math.log(high.rows / low.rows);
    return get(low) * (get(high) / get(low)) ** part;
  };
  return {
    rows,
    disk: of((size) => size.disk),
    search: of((size) => size.search),
    resident: of((size) => size.resident),
    anonymous: of((size) => size.anonymous),
  };
}

/** What the model says of the nodes that were measured, all on the machine that has the database as well. */
export function crowdOf({ costs, crowd }: Pick<Measured, "costs" | "crowd">, cores: number) {
  const whole = ({ server, node, ms }: { server: number; node: number; ms: number }): Demand => ({
    cpu: server + node,
    rest: Math.max(0, ms - server - node),
  });
  const { nodes } = crowd!;
  const load = { cores, nodes, writers: 1, spread: 0, pollMs: POLL_MS };
  const unlocked = { cpu: 0, rest: 0 };
  const { saves, rounds } = solve({ ...load, locked: whole(costs.commit), unlocked, round: whole(costs.round) });
  const server = (saves * costs.commit.server + nodes * rounds * costs.round.server) / 1000 / cores;
  return { nodes, saves, rounds, server };
}

const MB = 1e6;
const GB = 1e9;

/** Lines of text: a block for each number of nodes. */
export function paperTable(points: readonly Point[]): string[] {
  const head = [
    "nodes, rows",
    "saves/s",
    "followed",
    "MB a save",
    "first copy",
    "disk",
    "memory",
    "search",
    "first limit",
  ];
  return columns([head, ...points.map(cellsOf)]);
}

function cellsOf(point: Point): string[] {
  const { name, share } = point.limits[0]!;
  return [
    `${point.nodes}, 1e${Math.log10(point.rows)}`,
    short(point.saves),
    short(point.followed),
    short(point.bytes / MB),
    duration(point.copy),
    `${short(point.disk / GB)} GB`,
    `${short(point.memory / GB)} GB`,
    `${short(point.search)} ms`,
    `${name} ${share > 9.99 ? `${Math.round(share)}x` : `${Math.round(share * 100)} %`}`,
  ];
}

/** Three digits at most, and no exponent. */
const short = (value: number) => {
  if (value >= 100) return Math.round(value).toLocaleString("en-GB");
  return Number(value.toPrecision(2)).toString();
};

function duration(seconds: number): string {
  if (seconds < 100) return `${short(seconds)} s`;
  return seconds < 6000 ? `${short(seconds / 60)} min` : `${short(seconds / 3600)} h`;
}
