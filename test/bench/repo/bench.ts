/**
 * `npm run bench -- repo`: what indexing and asking a repository costs, beside ripgrep and git, of one executable or of
 * two in turns, on a copy of this checkout, of `--tree DIR`, or on a tree of `--generate N` files; and with `--trees`
 * how good and how long its answers are about whole trees.
 */
import { writeFileSync } from "node:fs";
import type { Line } from "../measure.ts";
import { callLines, callTable } from "./callgoals.ts";
import { type Calls, measureCalls } from "./calls.ts";
import type { TreeQuality } from "./figures.ts";
import { goals } from "./goals.ts";
import type { RepoOptions } from "./options.ts";
import { type Counter, measureTree } from "./quality.ts";
import { marksTable, meansTable, sinceTable, sizesTable } from "./table.ts";
import { type Times, timeTree } from "./time.ts";
import { timeLines, timeTable } from "./timetable.ts";
import { tokenCounter } from "./tokens.ts";

const log = (line: string) => console.error(`  ${line}`);

/** Measures what the options ask for. */
export async function benchRepo(options: RepoOptions): Promise<Line[]> {
  const notes: string[] = [];
  const times = options.tree === undefined ? undefined : await timeTree(options.executables, options.tree, log, notes);
  const calls: Calls[] = [];
  for (const place of options.calls?.places ?? []) {
    calls.push(await measureCalls({ ...options, tree: options.calls!.tree, place }, log));
  }
  const sets = await measureTrees(options, notes);
  const lines = [...(times ? timeLines(times) : []), ...calls.flatMap(callLines), ...goals(sets)];
  for (const text of tables({ times, calls, sets }, options)) console.error(`\n${text.join("\n")}`);
  console.error(["", ...notes].join("\n"));
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ notes, times, calls, sets, lines }, null, 2)}\n`);
  return lines;
}

async function measureTrees({ trees, executables }: RepoOptions, notes: string[]): Promise<TreeQuality[]> {
  const count = trees.length > 0 ? await counterOrNote(notes) : undefined;
  const measured: TreeQuality[] = [];
  for (const dir of trees) {
    log(`${dir}: indexing and asking`);
    measured.push(await measureTree(executables.at(-1)!, dir, count));
  }
  return measured;
}

async function counterOrNote(notes: string[]): Promise<Counter> {
  try {
    return await tokenCounter();
  } catch (error) {
    notes.push(`tokens are not counted: ${(error as Error).message}`);
    return undefined;
  }
}

interface Measured {
  times: Times | undefined;
  calls: readonly Calls[];
  sets: readonly TreeQuality[];
}

function tables({ times, calls, sets }: Measured, { against }: RepoOptions): string[][] {
  return [
    ...(times ? [timeTable(times)] : []),
    ...calls.map(callTable),
    ...sets.map(marksTable),
    ...(sets.length > 1 ? [meansTable(sets)] : []),
    ...(sets.length > 0 ? [sizesTable(sets)] : []),
    ...(sets.length > 0 && against ? [sinceTable(sets, against)] : []),
  ];
}
