/** The marks of replays and the costs, as tables and as lines. */
import { columns } from "../columns.ts";
import { type Line, median, quantile } from "../measure.ts";
import type { Greeting } from "./costs.ts";
import type { Marks } from "./judge.ts";

/** A replay of the day. */
export interface Replay {
  /** The executable and the flags of its server. */
  name: string;
  marks: Marks[];
}

type Selection = readonly [kind: string, marks: Marks[]];

const count = (marks: readonly Marks[], of: (marks: Marks) => boolean) => marks.filter(of).length;
const mean = (marks: readonly Marks[], of: (marks: Marks) => number) =>
  marks.reduce((sum, each) => sum + of(each), 0) / marks.length;
const tokens = (marks: readonly Marks[]) => marks.map((each) => each.tokens);

function selections(marks: readonly Marks[]): Selection[] {
  const questions = marks.filter(({ isQuestion }) => isQuestion);
  const places = Map.groupBy(questions, ({ isEverywhere }) => (isEverywhere ? "in *" : "in a collection"));
  return [...Map.groupBy(questions, ({ what }) => what), ...places, ["all", questions]];
}

/** The questions by kind and by where they search, a line each and replay. */
export function questionTable(replays: readonly Replay[]): string[] {
  const head = ["questions", "asked", "first", "in five", "at one call", "after all", "noise"];
  const rows = replays.flatMap(({ name, marks }) =>
    selections(marks).map(([kind, own]) => [
      `${name}: ${kind}`,
      `${own.length}`,
      `${count(own, ({ isRight }) => isRight)}`,
      `${count(own, ({ isInFive }) => isInFive)}`,
      `${count(own, ({ isAtOneCall }) => isAtOneCall)}`,
      `${count(own, ({ isAnswered }) => isAnswered)}`,
      mean(own, ({ noise }) => noise).toFixed(1),
      `${median(tokens(own))}`,
      `${quantile(tokens(own), 0.95)}`,
      `${median(own.map(({ bytes }) => bytes))}`,
      mean(own, ({ calls }) => calls).toFixed(2),
    ]),
  );
  return columns([[...head, "tokens", "p95", "bytes", "calls"], ...rows]);
}

/** The other calls: how many have what they should, and the mean tokens and calls until then. */
export function callTable(replays: readonly Replay[]): string[] {
  const others = replays.map(({ marks }) => marks.filter(({ isQuestion }) => !isQuestion));
  const kinds = [...new Set(others.flat().map(({ what }) => what))];
  const cells = (own: readonly Marks[]) =>
    `${count(own, ({ isAnswered }) => isAnswered)} of ${own.length}, ${mean(own, (each) => each.tokens).toFixed(0)} tokens, ` +
    `${mean(own, ({ calls }) => calls).toFixed(1)} calls`;
  const row = (label: string, of: (marks: Marks) => boolean) => [label, ...others.map((own) => cells(own.filter(of)))];
  return columns([
    ["other calls: with what they should have", ...replays.map(({ name }) => name)],
    ...kinds.map((kind) => row(kind, ({ what }) => what === kind)),
    row("all", () => true),
  ]);
}

/** What each set of tools costs a client, a line a set and executable. */
export function greetingTable(greeted: readonly { name: string; sizes: readonly Greeting[] }[]): string[] {
  const rows = greeted.flatMap(({ name, sizes }) =>
    sizes.map(({ set, tools, listed, instructions }) =>
      [`${name}: ${set}`, tools, listed.bytes, listed.tokens, instructions.bytes, instructions.tokens].map(String),
    ),
  );
  return columns([["a session", "tools", "tools/list bytes", "tokens", "instructions bytes", "tokens"], ...rows]);
}

/** The figures of the replays. */
export function replayLines(replays: readonly Replay[]): Line[] {
  return replays.flatMap(({ name, marks }) =>
    selections(marks).flatMap(([kind, own]) => {
      const line = (what: string, value: number, unit: string) => ({ what: `${name}, ${kind}: ${what}`, value, unit });
      const share = (what: string, of: (marks: Marks) => boolean) => line(what, count(own, of) / own.length, "");
      return [
        share("right first", ({ isRight }) => isRight),
        share("right in the first five", ({ isInFive }) => isInFive),
        share("right in the text of one call", ({ isAtOneCall }) => isAtOneCall),
        line(
          "hits that are not right",
          mean(own, ({ noise }) => noise),
          "a question",
        ),
        line("tokens, p50", median(tokens(own)), "tokens"),
        line("tokens, p95", quantile(tokens(own), 0.95), "tokens"),
        line(
          "calls",
          mean(own, ({ calls }) => calls),
          "a question",
        ),
      ];
    }),
  );
}

/** Adding a note: the last executable's times, by those of the one before where there are two. */
export function addLine(times: readonly (readonly number[])[], notes: number): Line {
  const own = times.at(-1)!;
  const what = `svc_add of a note beside ${notes}, p50 (p95 ${quantile(own, 0.95).toFixed(2)} ms)`;
  const line: Line = { what, value: median(own), unit: "ms" };
  const other = times.length > 1 ? times[0] : undefined;
  if (!other) return line;
  const ratio = median(own.map((ms, round) => ms / other[round]!));
  return { ...line, against: `against, pairwise (${median(other).toFixed(2)} ms)`, ratio };
}
