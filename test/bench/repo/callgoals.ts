/** Calls about repositories against their goals, as text and as lines. */
import { columns } from "../columns.ts";
import type { Line } from "../measure.ts";
import type { Calls, OwnCalls } from "./calls.ts";
import type { Written } from "./edits.ts";

/** How many times as much as the peer, at most. */
const MOST = {
  /** A check, of `git status`. */
  check: 1.3,
  /** A question after ten edits, of one after none and the put of ten windows. */
  ten: 1.3,
  /** A first index, of `rg -j1 -c .`. */
  index: 16,
  /** The memory on disk, of the files' bytes. */
  disk: 1.3,
  /** What one edit writes, of its file, beside {@link EDIT_BYTES}. */
  edit: 4,
};
const EDIT_BYTES = 64 * 1024;
const PEAK_BYTES = 200e6;
const MB = 1e6;
const KIB = 1024;

/** What is judged: the last executable. */
export function callLines(calls: Calls): Line[] {
  const { status, rg, bytes, place } = calls;
  const own = calls.own.at(-1)!;
  const { check, question, ten, put, index, peak, disk, touched } = own;
  const where = (what: string) => `${place}: ${what}`;
  const ratio = (what: string, value: number, of: number, against: string, most: number): Line => {
    const goal = `at most ${most} times`;
    return { what: where(what), value, unit: "ms", against, ratio: value / of, goal, met: value <= most * of };
  };
  const sameAndPut = question.cpu + put.cpu / MOST.ten;
  return [
    ratio("check, nothing changed, CPU", check.cpu, status.cpu, `git status (${ms(status.cpu)} ms)`, MOST.check),
    { what: where("question beyond its check, CPU"), value: question.cpu - check.cpu, unit: "ms" },
    ratio(
      "question, ten files changed, CPU",
      ten.cpu,
      sameAndPut,
      `one without a change (${ms(question.cpu)} ms) and the put of ten windows (${ms(put.cpu)} ms)`,
      MOST.ten,
    ),
    limit(where("files and folders written by calls without a change"), touched, "files", 0),
    edit(where("an edit in place"), own.inPlace),
    edit(where("an edit saved by rename"), own.byRename),
    ...(rg
      ? [ratio("first index, CPU", index.cpu, rg.cpu, `rg -j1 -c . (${ms(rg.cpu)} ms)`, MOST.index)]
      : [{ what: where("first index, CPU"), value: index.cpu, unit: "ms" }]),
    limit(where("peak memory of the first index"), peak / MB, "MB", PEAK_BYTES / MB),
    limit(where("memory on disk, by the files' bytes"), disk / bytes, "times", MOST.disk),
  ];
}

function edit(what: string, { written, file }: Written): Line {
  const most = MOST.edit * file + EDIT_BYTES;
  const goal = `at most ${MOST.edit} times the file (${(file / KIB).toFixed(1)} KiB) and 64 KiB`;
  return {
    what: `${what} writes`,
    value: written / KIB,
    unit: "KiB",
    ratio: written / most,
    against: "the goal",
    goal,
    met: written <= most,
  };
}

function limit(what: string, value: number, unit: string, most: number): Line {
  return { what, value, unit, goal: `at most ${most}`, met: value <= most };
}

/** All figures, a line each, a column an executable. */
export function callTable({ tree, place, files, bytes, own, status, rg }: Calls): string[] {
  const row = (what: string, of: (calls: OwnCalls) => number, digits = 2) => {
    const cells = own.map(of);
    const [before, after] = cells;
    const ratio = cells.length === 2 ? [before === 0 ? "-" : (after! / before!).toFixed(3)] : [];
    return [what, ...cells.map((value) => value.toFixed(digits)), ...ratio];
  };
  const labels = own.length === 1 ? ["svc"] : ["before", "after", "ratio"];
  return [
    `${tree}, ${place}: ${files} files, ${(bytes / MB).toFixed(1)} MB`,
    `git status: ${ms(status.cpu)} ms${rg ? `, rg -j1 -c .: ${ms(rg.cpu)} ms` : ""}, CPU`,
    "",
    ...columns([
      ["", ...labels],
      row("check, CPU ms", ({ check }) => check.cpu),
      row("question, CPU ms", ({ question }) => question.cpu),
      row("question, ten files changed, CPU ms", ({ ten }) => ten.cpu),
      row("put of ten windows, CPU ms", ({ put }) => put.cpu),
      row("first index, CPU ms", ({ index }) => index.cpu, 0),
      row("first index, by the clock, ms", ({ index }) => index.wall, 0),
      row("peak memory, MB", ({ peak }) => peak / MB, 1),
      row("disk, MB", ({ disk }) => disk / MB),
      row("written without a change, files", ({ touched }) => touched, 0),
      row("written by an edit in place, KiB", ({ inPlace }) => inPlace.written / KIB, 1),
      row("and by the call after it, KiB", ({ inPlace }) => inPlace.next / KIB, 1),
      row("written by an edit by rename, KiB", ({ byRename }) => byRename.written / KIB, 1),
    ]),
  ];
}

const ms = (value: number) => value.toFixed(value < 10 ? 2 : 0);
