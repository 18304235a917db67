/** A process that damages copies of stores and asks them: a line of JSON in, one out. Killed by a fault, it is replaced. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBuiltNative } from "../native.ts";
import { type Answers, askAll, changeAll, checkAll } from "./asks.ts";
import { type Case, damage } from "./cases.ts";
import { findingOf } from "./judge.ts";

/** What a worker is asked: a case on a copy of a memory directory. */
export interface Task {
  dir: string;
  rows: string[];
  /** Undefined: the outcome of the undamaged store is written to `truth`, else it is read from there. */
  damaged?: Case;
  truth: string;
  derived?: boolean;
}

/** What every call came to: at first, after changes, and after they were made. */
export interface Outcome {
  answers: Answers;
  checked: { sound: boolean; said: string };
  changed: Answers;
  after: Answers;
}

const native = await openBuiltNative();

async function run({ dir, rows, damaged }: Task): Promise<Outcome> {
  const copy = mkdtempSync(join(tmpdir(), "svc-damage-"));
  cpSync(dir, copy, { recursive: true });
  try {
    if (damaged && !damaged.live) damage(copy, damaged);
    const answers = await askAll(copy, native, rows, damaged?.live ? () => damage(copy, damaged) : undefined);
    const checked = await checkAll(copy, native);
    const changed = await changeAll(copy, native);
    return { answers, checked, changed, after: await askAll(copy, native, rows) };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const truths = new Map<string, Outcome>();
function truthOf(path: string): Outcome {
  const known = truths.get(path) ?? JSON.parse(readFileSync(path, "utf8"));
  truths.set(path, known);
  return known;
}

for await (const line of console) {
  const task = JSON.parse(line) as Task;
  const outcome = JSON.parse(JSON.stringify(await run(task))) as Outcome;
  if (!task.damaged) writeFileSync(task.truth, JSON.stringify(outcome));
  const finding = findingOf(truthOf(task.truth), outcome, task.damaged, task.derived ?? false);
  process.stdout.write(`${JSON.stringify(finding)}\n`);
}
