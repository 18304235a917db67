/** Indexes files as rows: this folder's interface. `run.ts` does the work, in an order that makes a crash harmless. */
import { SvcError } from "../../errors.ts";
import { type GitWorkTree, linkedStamp } from "../files/work-tree.ts";
import { forgetGone } from "../fingerprints/indexed.ts";
import { Budget } from "./budget.ts";
import type { IndexOptions, IndexResult } from "./options.ts";
import { IndexRun } from "./run.ts";
import { unchangedResult } from "./unchanged.ts";

/**
 * Updates the collection of `options.sink` to the files of `options.workspace`. @throws ValueError, CancelledError,
 * OSError
 */
export async function indexRepo(options: IndexOptions): Promise<IndexResult> {
  const budget = new Budget(options.maxFiles, options.deadline);
  const run = new IndexRun(options, budget);
  const result = await run.run();
  if (result === undefined) return unchangedResult(options);
  // After the run, which may have copied rows of a work tree that was moved.
  if (run.workTree) await forgetGoneSiblings(run.workTree, options, result.status === "hit");
  return result;
}

/** How long a call that changes nothing relies on the last look at other work trees: a look at 100 takes 3 ms. */
const LOOK_MS = 10_000;

/** The last looks, by folder and repository. */
const looks = new Map<string, { at: number; trees: string }>();

async function forgetGoneSiblings(workTree: GitWorkTree, { folder, sink, deadline }: IndexOptions, isHit: boolean) {
  const key = `${folder}\0${workTree.common}`;
  const trees = linkedStamp(workTree);
  const last = looks.get(key);
  if (isHit && last?.trees === trees && performance.now() - last.at < LOOK_MS) return;
  try {
    const { isComplete } = await forgetGone(folder, sink, { of: workTree, deadline });
    if (isComplete) looks.set(key, { at: performance.now(), trees });
  } catch (error) {
    // The index is up to date; the next run tries again.
    if (!(error instanceof SvcError)) throw error;
  }
}
