/** Runs over roots, with the trees of this process. */
import * as indexer from "../../../src/repo/indexing/indexer.ts";
import { native } from "../../fixture.ts";

/** What is known of files from one run to the next. */
const { env } = await native();
let trees = new indexer.Trees(env);

/** As a process that begins: nothing of any root is known. */
export async function forgetTrees(): Promise<void> {
  await trees.close();
  trees = new indexer.Trees(env);
}

export function indexRepo(options: Omit<indexer.IndexOptions, "trees">): Promise<indexer.IndexResult> {
  return indexer.indexRepo({ ...options, trees });
}

export function dryRun(options: Omit<Parameters<typeof indexer.dryRun>[0], "trees">): Promise<indexer.DryRunResult> {
  return indexer.dryRun({ ...options, trees });
}
