/** The engines side by side. */
import { columns } from "../columns.ts";
import type { Cost } from "../cost.ts";
import type { Line } from "../measure.ts";
import type { Engine, Figures } from "./figures.ts";
import { KINDS } from "./queries.ts";

const MB = 1e6;
const HEAD = ["", "ingest MB/s", "build MB/s", "peak MB", "disk MB", "index %", ...KINDS.map((kind) => `${kind} ms`)];

/** Lines of text. */
export function table(figures: Figures): string[] {
  const { passages, bytes, own, peers } = figures;
  return [
    `${passages} passages, ${(bytes / MB).toFixed(1)} MB`,
    ...columns([HEAD, ...[own, ...peers].map((engine) => cells(engine, bytes))]),
    "MB of text per CPU second; peak memory of the build, or of an indexing ingest; CPU time of a query: mean (median)",
  ];
}

/** Every figure of every engine as a line of its own. */
export function figureLines({ bytes, own, peers }: Figures): Line[] {
  return [own, ...peers].flatMap(({ name, ingest, build, disk, index, asked }) => [
    { what: `${name}: ingest, a second of CPU`, value: bytes / MB / ingest.cpu, unit: "MB/s" },
    ...(build ? [{ what: `${name}: build, a second of CPU`, value: bytes / MB / build.cpu, unit: "MB/s" }] : []),
    { what: `${name}: peak memory`, value: (build ?? ingest).memory / MB, unit: "MB" },
    { what: `${name}: all files`, value: disk / MB, unit: "MB" },
    { what: `${name}: index, of the text`, value: (index / bytes) * 100, unit: "%" },
    ...KINDS.flatMap((kind) => [
      { what: `${name}: ${kind}, mean`, value: asked[kind].mean, unit: "ms" },
      { what: `${name}: ${kind}, median`, value: asked[kind].median, unit: "ms" },
    ]),
  ]);
}

function cells({ name, ingest, build, disk, index, asked }: Engine, bytes: number): string[] {
  const rate = (cost: Cost | undefined) => (cost ? (bytes / MB / cost.cpu).toFixed(1) : "-");
  return [
    name,
    rate(ingest),
    rate(build),
    ((build ?? ingest).memory / MB).toFixed(0),
    (disk / MB).toFixed(0),
    ((index / bytes) * 100).toFixed(1),
    ...KINDS.map((kind) => `${digits(asked[kind].mean)} (${digits(asked[kind].median)})`),
  ];
}

const digits = (ms: number) => ms.toFixed(ms < 10 ? 3 : 1);
