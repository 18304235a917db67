/** The figures as text and as lines. */
import { columns } from "../columns.ts";
import type { Line } from "../measure.ts";
import { CALLS, type Figures, TOOLS } from "./figures.ts";
import { kindOf } from "./passages.ts";

const MB = 1e6;
/** Passages from which the goal counts, and the goal. */
const JUDGED_PASSAGES = 90_000;
const MOST_MS = 1.2;
/** Words of the questions that are compared with reading memory. */
const READ_WORDS = 6;

/** Tables: over MCP, and in process beside the peers. */
export function table(figures: Figures): string[] {
  const { passages, bytes, disk, bandwidth, ping, mcp, inProcess, memory, peers } = figures;
  const kinds = Object.keys(mcp.fused);
  const overMcp = ["over MCP: p50 (CPU) ms", "fused", "lexical", "CPU ratio", "fused, 1/10", "lexical, 1/10"];
  const called = ["in process: CPU (wall) ms", ...CALLS.map(spelled), ...peers.map(({ name }) => name)];
  return [
    `${passages} passages, ${(bytes / MB).toFixed(1)} MB; on disk ${perText(figures)} times the text, ` +
      `${(disk.all / passages).toFixed(0)} bytes a row, ${(disk.index / passages).toFixed(0)} of them the index of words`,
    `a core reads ${(bandwidth / 1e9).toFixed(1)} GB/s; a ping takes ${ping.toFixed(3)} ms`,
    `a server before its first question: ${held(memory.before)}; after ${memory.questions}: ${held(memory.after)}`,
    ...peers.map(({ name, disk: all }) => `${name}: on disk ${(all / bytes).toFixed(2)} times the text`),
    "",
    ...columns([
      overMcp,
      ...kinds.map((kind) => {
        const [fused, lexical, fusedTenth, lexicalTenth] = TOOLS.map((tool) => {
          const { p50, cpu } = mcp[tool][kind]!;
          return pair(p50, cpu);
        }) as [string, string, string, string];
        const ratio = mcp.fused[kind]!.cpu / mcp.lexical[kind]!.cpu;
        return [kind, fused, lexical, ratio.toFixed(2), fusedTenth, lexicalTenth];
      }),
    ]),
    "",
    ...columns([
      called,
      ...kinds.map((kind) => {
        const all = [...CALLS.map((call) => inProcess[call]), ...peers.map(({ asked }) => asked)];
        return [kind, ...all.map((asked) => pair(asked[kind]!.median, asked[kind]!.wall))];
      }),
    ]),
  ];
}

/** What is judged or compared. */
export function lines(figures: Figures): Line[] {
  const { passages, bandwidth, mcp, inProcess, memory, disk, peers } = figures;
  const over = Object.keys(mcp.fused).map((kind): Line => {
    const [fused, lexical] = [mcp.fused[kind]!, mcp.lexical[kind]!];
    const rivals = [...peers.map(({ name, asked }) => `${name} ${ms(asked[kind]!.wall)}`)];
    const what =
      `svc_search over MCP, fused, ${kind}, p50 (p95 ${ms(fused.p95)}, CPU ${ms(fused.cpu)} ms` +
      `${rivals.length > 0 ? `; words only in process: ${rivals.join(", ")} ms` : ""})`;
    const against = `svc_search_lexical (${ms(lexical.p50)} ms, CPU ${ms(lexical.cpu)})`;
    const line: Line = { what, value: fused.p50, unit: "ms", against, ratio: fused.p50 / lexical.p50 };
    if (passages < JUDGED_PASSAGES) return line;
    return { ...line, goal: `at most ${MOST_MS} ms`, met: fused.p50 <= MOST_MS };
  });
  const read = (inProcess.fused[kindOf(READ_WORDS)]!.median / 1000) * bandwidth;
  return [
    ...over,
    {
      what: `what a core reads in the CPU time of a fused question of ${READ_WORDS} words in process, a row`,
      value: read / passages,
      unit: "bytes",
    },
    { what: "resident memory of the server after the questions", value: memory.after.resident / MB, unit: "MB" },
    { what: "private memory of the server after the questions", value: memory.after.private / MB, unit: "MB" },
    { what: "the compacted collection on disk, by its text", value: Number(perText(figures)), unit: "times" },
    { what: "the compacted collection on disk, a row", value: disk.all / passages, unit: "bytes" },
  ];
}

/** Every figure of every way as a line of its own. */
export function figureLines({ mcp, inProcess, peers }: Figures): Line[] {
  const line = (what: string, value: number): Line => ({ what, value, unit: "ms" });
  return [
    ...TOOLS.flatMap((tool) =>
      Object.entries(mcp[tool]).flatMap(([kind, { p50, p95, cpu }]) => [
        line(`MCP, ${spelled(tool)}, ${kind}: p50`, p50),
        line(`MCP, ${spelled(tool)}, ${kind}: p95`, p95),
        line(`MCP, ${spelled(tool)}, ${kind}: CPU`, cpu),
      ]),
    ),
    ...[
      ...CALLS.map((call) => [`in process, ${spelled(call)}`, inProcess[call]] as const),
      ...peers.map(({ name, asked }) => [name, asked] as const),
    ].flatMap(([name, asked]) =>
      Object.entries(asked).flatMap(([kind, { median, wall }]) => [
        line(`${name}, ${kind}: CPU`, median),
        line(`${name}, ${kind}: wall`, wall),
      ]),
    ),
  ];
}

const perText = ({ disk, bytes }: Figures) => (disk.all / bytes).toFixed(2);
const ms = (value: number) => value.toFixed(value < 10 ? 3 : 1);
const pair = (first: number, second: number) => `${ms(first)} (${ms(second)})`;
const spelled = (name: string) => name.replace("Tenth", ", 1/10");
const held = (memory: { resident: number; private: number }) =>
  `${(memory.resident / MB).toFixed(0)} MB resident, ${(memory.private / MB).toFixed(0)} private`;
