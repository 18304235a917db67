/** Figures against the goals. A goal that needs peers is judged where they ran. */
import type { Line } from "../measure.ts";
import { building, type Figures, type QueryCost, rate, rateAt, type SetFigures } from "./figures.ts";

const RECALL = 0.98;
/** Least recall of a peer's filtered answers for it to be compared. */
const FILTERED_RECALL = 0.9;
/** Least recall of exact answers: engines round differently, but not more than this. */
const EXACT_RECALL = 0.99;
const MB = 1e6;
const GB = 1e9;
const NO_PEER = "no peer ran";

/** A peer with the figure by which it is compared. */
interface Rival {
  name: string;
  value: number;
}

/** All lines of a data set. */
export function goals(set: SetFigures): Line[] {
  const [own, ...peers] = set.contenders as [Figures, ...Figures[]];
  const label = `${set.name} ${set.rows} x ${set.dim}`;
  const lines = [
    ...bareLines(set),
    ...exactLines(set, own, peers),
    ...graphLines(own, peers),
    ...filteredLines(own, peers),
    ...coldLines(set, own, peers),
    ...ingestLines(set),
  ];
  return lines.map((line) => ({ ...line, what: `${label}: ${line.what}` }));
}

const bytesOf = ({ rows, dim }: SetFigures) => rows * dim * 4;

/** The peer with the smallest value. */
function least(peers: readonly Figures[], value: (peer: Figures) => number | undefined): Rival | undefined {
  return peers
    .map((peer) => ({ name: peer.name, value: value(peer) ?? Number.NaN }))
    .filter((rival) => Number.isFinite(rival.value))
    .sort((a, b) => a.value - b.value)[0];
}

/** A line of which `value / rival.value` may be `most`, or has to be `least`. Without a rival nothing is judged. */
function compared(
  line: Omit<Line, "met" | "goal">,
  rival: Rival | undefined,
  bound: { most?: number; least?: number },
): Line {
  const goal = bound.most !== undefined ? `at most ${bound.most.toFixed(3)}` : `at least ${bound.least}`;
  if (!rival) return { ...line, goal: `${goal} of the best peer's; ${NO_PEER}` };
  const ratio = line.value / rival.value;
  const met = bound.most !== undefined ? ratio <= bound.most : ratio >= bound.least!;
  return {
    ...line,
    against: `${rival.name}'s ${rival.value.toFixed(rival.value < 10 ? 2 : 0)} ${line.unit}`,
    ratio,
    goal,
    met,
  };
}

function bareLines({ bare }: SetFigures): Line[] {
  return [
    {
      what: `one core reads memory (dot_f32 over 256 MiB, rows of 2,048 floats, ${bare.isa})`,
      value: bare.bandwidth / GB,
      unit: "GB/s",
    },
    { what: "Bun from spawn to the output of a script of one line", value: bare.spawn, unit: "ms" },
    { what: "a bare f32 scan of all rows (dot_f32, nothing chosen)", value: bare.scan * 1e6, unit: "us" },
  ];
}

function exactLines(set: SetFigures, own: Figures, peers: Figures[]): Line[] {
  const single = ({ exact }: Figures) => (exact && exact.recall >= EXACT_RECALL ? exact.cpu : undefined);
  const batch = ({ exactBatch }: Figures) =>
    exactBatch && exactBatch.recall >= EXACT_RECALL ? exactBatch.cpu : undefined;
  const fastest = (peer: Figures) => Math.min(single(peer) ?? Infinity, batch(peer) ?? Infinity);
  const scan = set.bare.scan * 1e6;
  const lines = [
    { how: "one at a time", cpu: own.exact!.cpu, rival: least(peers, single) },
    { how: "in batches", cpu: own.exactBatch?.cpu, rival: least(peers, fastest) },
  ].flatMap(({ how, cpu, rival }) => {
    if (cpu === undefined) return [];
    const line = { what: `exact top-10 ${how}, CPU time a query`, value: cpu, unit: "us" };
    const effect = bytesOf(set) / (cpu / 1e6);
    return [
      compared(line, rival, { most: 1 / 7 }),
      compared(line, { name: "a bare f32 scan", value: scan }, { most: 1 / 6 }),
      compared(
        { what: `exact top-10 ${how}, f32 bytes a CPU second in effect`, value: effect / GB, unit: "GB/s" },
        { name: "the memory", value: set.bare.bandwidth / GB },
        { least: 5 },
      ),
    ];
  });
  const two = own.twoThreads!;
  const threads = { what: "exact top-10 in batches, two threads beside one", value: two, unit: "times" };
  return [...lines, { ...threads, goal: "at least 1.7", met: two >= 1.7 }];
}

function graphLines(own: Figures, peers: Figures[]): Line[] {
  const reached = own.curve.filter((point) => point.recall >= RECALL);
  const what = `IVF, queries a CPU second at recall@10 of ${RECALL} or more on unseen queries`;
  if (reached.length === 0) {
    const best = Math.max(0, ...own.curve.map((point) => point.recall));
    return [{ what, value: best, unit: "recall", goal: `recall of ${RECALL}`, met: false }];
  }
  const best = reached.reduce((a, b) => (rate(a) > rate(b) ? a : b));
  const rival = least(peers, (peer) => invert(rateAt(peer.curve, RECALL)));
  const fastest = rival && { name: rival.name, value: 1 / rival.value };
  const peer = peers.find(({ name }) => name === rival?.name);
  const cost = building(own)!;
  const theirs = peer && building(peer);
  const build = (kind: "cpu" | "wall") =>
    compared(
      { what: `IVF, building the index, ${kind === "cpu" ? "CPU" : "wall"} time`, value: cost[kind], unit: "s" },
      theirs && { name: peer!.name, value: theirs[kind] },
      { most: 1 / 20 },
    );
  return [
    compared(
      {
        what: `${what} (asked for ${best.setting}, found ${best.recall.toFixed(4)})`,
        value: rate(best),
        unit: "q/s",
      },
      fastest,
      { least: 2 },
    ),
    build("cpu"),
    build("wall"),
  ];
}

const invert = (value: number | undefined) => (value === undefined ? undefined : 1 / value);

function filteredLines(own: Figures, peers: Figures[]): Line[] {
  return Object.entries(own.filtered).flatMap(([percent, asked]) => {
    const what = `exact queries a CPU second, filtered to ${percent} %`;
    const able = (peer: Figures): QueryCost | undefined => {
      const theirs = peer.filtered[percent];
      return theirs && theirs.recall >= FILTERED_RECALL ? theirs : undefined;
    };
    const rival = least(peers, (peer) => able(peer)?.cpu);
    const fastest = rival && { name: rival.name, value: 1e6 / rival.value };
    return [
      compared({ what, value: rate(asked), unit: "q/s" }, fastest, { least: 3 }),
      {
        what: `recall@10, filtered to ${percent} %`,
        value: asked.recall,
        unit: "recall",
        goal: "1",
        met: asked.recall === 1,
      },
    ];
  });
}

/** The goal is for 100,000 x 384. Other sizes are only shown: a small collection measures the runtime's start. */
function coldLines(set: SetFigures, own: Figures, peers: Figures[]): Line[] {
  const asked = set.dim === 384 && set.rows >= 100_000;
  const half = bytesOf(set) / 2;
  const rival = least(peers, (peer) => peer.cold?.ms);
  return [
    { cold: own.cold, how: "the default recall, compiled" },
    { cold: own.coldExact, how: "an exact query, compiled" },
    { cold: own.coldSource, how: "the default recall, from source" },
  ].flatMap(({ cold, how }) => {
    if (!cold) return [];
    const spawn = compared({ what: `spawn to the first answer, ${how}`, value: cold.ms, unit: "ms" }, rival, {
      most: 1 / 3,
    });
    const memory: Line = {
      what: `resident after it, ${how}`,
      value: cold.resident / MB,
      unit: "MB",
      goal: `below half of the vectors' bytes, ${(half / MB).toFixed(0)} MB`,
      met: cold.resident < half,
    };
    return asked ? [spawn, memory] : [unjudged(spawn), unjudged(memory)];
  });
}

function unjudged({ met: _, goal: __, ...line }: Line): Line {
  return line;
}

function ingestLines(set: SetFigures): Line[] {
  return set.contenders.flatMap((contender) => {
    const { ingest, index, name } = contender;
    if (!ingest) return [];
    const [mb, peak] = [bytesOf(set) / MB / ingest.wall, ingest.memory / MB];
    const graph = !index && contender.curve.length > 0 ? ", its index with them" : "";
    return [
      {
        what: `${name}: rows added and saved${graph} (${mb.toFixed(1)} MB/s, ${peak.toFixed(0)} MB above the input)`,
        value: set.rows / ingest.wall,
        unit: "rows/s",
      },
    ];
  });
}
