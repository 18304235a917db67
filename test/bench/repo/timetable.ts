/** The times as text and as lines. */
import { basename } from "node:path";
import { columns } from "../columns.ts";
import type { Line } from "../measure.ts";
import type { Timing } from "./peers.ts";
import type { OwnTimes, Times } from "./time.ts";

const MB = 1e6;
/** By how much the second of two executables may be slower. */
const MOST = 1.1;

/** CPU and wall times, a line what is done, a column an executable. */
export function timeTable({ tree, files, bytes, own, peers }: Times): string[] {
  const names = [...new Set(own.flatMap(({ asked }) => Object.keys(asked)))];
  const row = (what: string, of: (times: OwnTimes) => Timing | undefined) => {
    const cells = own.map(of);
    const [before, after] = cells;
    const ratio = own.length === 2 ? [before && after ? (after.cpu / before.cpu).toFixed(3) : "-"] : [];
    return [what, ...cells.map(pair), ...ratio];
  };
  const labels = own.map((_, i) => (own.length === 1 ? "svc" : i === 0 ? "before" : "after"));
  return [
    `${tree}: ${files} files, ${(bytes / MB).toFixed(1)} MB`,
    ...own.map(({ svc, disk }, i) => `${labels[i]}: ${svc}, ${(disk / MB).toFixed(1)} MB on disk`),
    ...Object.entries(peers).map(([name, timing]) => `${name}: ${pair(timing)} ms`),
    "",
    ...columns([
      ["CPU (wall) ms", ...labels, ...(own.length === 2 ? ["ratio"] : [])],
      row("first index", ({ index }) => index),
      ...names.map((name) => row(`question, ${name}`, ({ asked }) => asked[name])),
      row("question after an edit", ({ edited }) => edited),
    ]),
  ];
}

/** What is judged or compared: the last executable beside peers, and beside the first where there are two. */
export function timeLines({ bytes, own, peers }: Times): Line[] {
  const last = own.at(-1)!;
  const { index, disk, asked, edited } = last;
  const [rg, status] = [peers["rg -c ."], peers["git status"]];
  const beside = (name: string, peer: Timing | undefined, cpu: number) =>
    peer ? { against: `${name} (${ms(peer.cpu)} ms)`, ratio: cpu / peer.cpu } : {};
  const lines: Line[] = [
    { what: "first index, CPU", value: index.cpu, unit: "ms", ...beside("rg -c .", rg, index.cpu) },
    { what: "first index, text by the clock", value: bytes / MB / (index.wall / 1000), unit: "MB/s" },
    { what: "memory on disk, by the files' bytes", value: disk / bytes, unit: "times" },
  ];
  const question = asked.default;
  if (question) {
    const peer = beside("git status", status, question.cpu);
    lines.push({ what: "question, nothing changed, CPU", value: question.cpu, unit: "ms", ...peer });
    lines.push({ what: "question, nothing changed, by the clock", value: question.wall, unit: "ms" });
  }
  lines.push({ what: "question after an edit, CPU", value: edited.cpu, unit: "ms" });
  return own.length === 2 ? [...lines, ...ratios(own[0]!, last)] : lines;
}

function ratios(before: OwnTimes, after: OwnTimes): Line[] {
  const line = (what: string, first: Timing | undefined, second: Timing | undefined): Line[] => {
    if (!first || !second) return [];
    const ratio = second.cpu / first.cpu;
    const against = `${basename(before.svc)} before (${ms(first.cpu)} ms)`;
    const goal = `at most ${MOST.toFixed(3)}`;
    return [{ what: `${what}, CPU`, value: second.cpu, unit: "ms", against, ratio, goal, met: ratio <= MOST }];
  };
  return [
    ...line("first index", before.index, after.index),
    ...line("question", before.asked.default, after.asked.default),
    ...line("question with text", before.asked["with_text: true"], after.asked["with_text: true"]),
    ...line("question after an edit", before.edited, after.edited),
  ];
}

const ms = (value: number) => value.toFixed(value < 10 ? 2 : 0);
const pair = (timing: Timing | undefined) => (timing ? `${ms(timing.cpu)} (${ms(timing.wall)})` : "-");
