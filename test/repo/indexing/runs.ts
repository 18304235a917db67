/** Runs over roots, with the trees of this process. */
import { expect } from "bun:test";
import { join } from "node:path";
import { loadLog } from "../../../src/repo/fingerprints/known.ts";
import * as indexer from "../../../src/repo/indexing/indexer.ts";
import { native } from "../../fixture.ts";
import { logOf, MemorySink, plain, rootWith, settleLog, temporary } from "../helpers.ts";

/** The native environment of this process. */
export const { env } = await native();
/** What is known of files from one run to the next. */
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

/** Runs over a root into a collection. */
export function runsOver<S extends indexer.RowSink>(root: string, sink: S) {
  const workspace = { root, repoId: indexer.repoIdOf(root) };
  const base = { workspace, sink, folder: temporary(), collection: "repo_symbols" };
  const run = (options: Partial<indexer.IndexOptions> = {}) => indexRepo({ ...base, ...options });
  return { ...base, root, repoId: workspace.repoId, run };
}

/** Runs into a collection in memory, over a root or a new one with these files, and what the collection holds. */
export function bench(of: string | Record<string, string | Uint8Array>) {
  const root = typeof of === "string" ? of : rootWith(of);
  const runs = runsOver(root, new MemorySink());
  const { repoId, sink, folder } = runs;
  return {
    ...runs,
    note: () => indexer.readNote(sink.noteOf(repoId), repoId),
    log: () => logOf(folder, repoId, sink) ?? join(folder, "none"),
    records: () => loadLog(folder, repoId, sink).files,
    /** Makes the last run look an hour old, so that no file counts as stamped too shortly before it. */
    settle: () => settleLog(folder, root, sink),
    /** Compares the rows with those of a collection that is built from nothing. */
    async expectExact(options: Partial<indexer.IndexOptions> = {}) {
      const oracle = runsOver(root, new MemorySink());
      await oracle.run(options);
      expect(plain(sink.rows)).toEqual(plain(oracle.sink.rows));
    },
  };
}
