/** Figures of imports against the goals, and side by side. */
import { columns } from "../columns.ts";
import { atMost, type Line } from "../measure.ts";
import type { Contender, Kind } from "./figures.ts";

const MB = 1e6;
/** Microseconds of CPU of a note, and megabytes. */
const NOTE_CPU = 30;
const PEAK = 350;
/** Bytes of files to those of the texts. */
const DISK = { notes: 4, passages: 2.1 };
const HEAD = [
  "",
  "user us",
  "system us",
  "wall us",
  "peak MB",
  "anonymous MB",
  "faults",
  "disk",
  "compaction us",
  "syncs",
];

/** All lines of one kind of texts. */
export function lines({ name, rows, bytes, own, fts5 }: Kind): Line[] {
  const cpu = beside(`${name}: CPU of a row (${split(own, rows)})`, cpuOf(own, rows), cpuOf(fts5, rows));
  const wall = beside(`${name}: a row by the clock`, wallOf(own, rows), wallOf(fts5, rows));
  const anonymous = (own.used.anonymous / MB).toFixed(0);
  const peak = own.compaction.peak / MB;
  const disk = { what: `${name}: files after a compaction, to the text`, value: own.disk / bytes, unit: "times" };
  return [
    ...(name === "notes" ? [atMost(cpu, NOTE_CPU), wall] : [asFast(cpu), asFast(wall)]),
    { what: `${name}: page faults of a row`, value: own.used.faults / rows, unit: "faults" },
    atMost({ what: `${name}: most resident memory (no file's: ${anonymous})`, value: peak, unit: "MB" }, PEAK),
    atMost({ ...disk, ...than(fts5.disk / bytes, own.disk / fts5.disk, "times") }, DISK[name]),
    { what: `${name}: CPU of a compaction, a row`, value: compactionOf(own, rows), unit: "us" },
    ...(own.syncs === undefined ? [] : [{ what: `${name}: syncs of a commit`, value: own.syncs, unit: "syncs" }]),
  ];
}

/** Lines of text. */
export function table(kinds: readonly Kind[]): string[] {
  return kinds.flatMap(({ name, rows, bytes, own, fts5 }) => [
    `${rows} ${name}, ${(bytes / MB).toFixed(1)} MB; times and faults of a row, files to the text, syncs of a commit`,
    ...columns([HEAD, ...[own, fts5].map((one) => cells(one, rows, bytes))]),
  ]);
}

const micros = (seconds: number, rows: number) => (seconds / rows) * 1e6;
const cpuOf = ({ used }: Contender, rows: number) => micros(used.user + used.system, rows);
const wallOf = ({ used }: Contender, rows: number) => micros(used.wall, rows);
const compactionOf = ({ compaction }: Contender, rows: number) => micros(compaction.user + compaction.system, rows);

const split = ({ used }: Contender, rows: number) =>
  `user ${micros(used.user, rows).toFixed(1)}, system ${micros(used.system, rows).toFixed(1)}`;

const than = (value: number, ratio: number, unit: string) => ({ against: `FTS5's ${value.toFixed(2)} ${unit}`, ratio });

function beside(what: string, value: number, theirs: number): Line {
  return { what, value, unit: "us", ...than(theirs, value / theirs, "us") };
}

const asFast = (line: Line): Line => ({ ...line, goal: "as fast as FTS5", met: line.ratio! <= 1 });

function cells(one: Contender, rows: number, bytes: number): string[] {
  const { used, compaction, disk, syncs } = one;
  return [
    one.name,
    ...[used.user, used.system, used.wall].map((seconds) => micros(seconds, rows).toFixed(1)),
    (compaction.peak / MB).toFixed(0),
    (used.anonymous / MB).toFixed(0),
    (used.faults / rows).toFixed(2),
    (disk / bytes).toFixed(2),
    compactionOf(one, rows).toFixed(1),
    syncs?.toFixed(1) ?? "-",
  ];
}
