/** Runs over roots, with the trees of this process. */
import { expect } from "bun:test";
import { join } from "node:path";
import { repoIdOf } from "../../../src/repo/chunks/identity.ts";
import { Trees } from "../../../src/repo/files/trees.ts";
import { loadLog } from "../../../src/repo/fingerprints/known-logs.ts";
import { readNote } from "../../../src/repo/fingerprints/note.ts";
import type { RowSink } from "../../../src/repo/fingerprints/row-sink.ts";
import * as dry from "../../../src/repo/indexing/dry-run.ts";
import * as indexer from "../../../src/repo/indexing/indexer.ts";
import type { IndexOptions, IndexResult } from "../../../src/repo/indexing/options.ts";
import { native } from "../../fixture.ts";
import { logOf, MemorySink, plain, rootWith, settleLog, temporary } from "../helpers.ts";

/** The native environment of this process. */
export const { env } = await native();
/** What is known of files from one run to the next. */
let trees = new Trees(env);

/** As a process that begins: nothing of any root is known. */
export async function forgetTrees(): Promise<void> {
  await trees.close();
  trees = new Trees(env);
}

export function indexRepo(options: Omit<IndexOptions, "trees">): Promise<IndexResult> {
  return indexer.indexRepo({ ...options, trees });
}

export function dryRun(options: Omit<Parameters<typeof dry.dryRun>[0], "trees">): Promise<dry.DryRunResult> {
  return dry.dryRun({ ...options, trees });
}

/** Runs over a root into a collection. */
export function runsOver<S extends RowSink>(root: string, sink: S) {
  const workspace = { root, repoId: repoIdOf(root) };
  const base = { workspace, sink, folder: temporary(), collection: "repo_symbols" };
  const run = (options: Partial<IndexOptions> = {}) => indexRepo({ ...base, ...options });
  return { ...base, root, repoId: workspace.repoId, run };
}

/** Runs into a collection in memory, over a root or a new one with these files, and what the collection holds. */
export function bench(of: string | Record<string, string | Uint8Array>) {
  const root = typeof of === "string" ? of : rootWith(of);
  const runs = runsOver(root, new MemorySink());
  const { repoId, sink, folder, workspace, collection } = runs;
  return {
    ...runs,
    dry: (options: Partial<IndexOptions> = {}) => dryRun({ workspace, folder, collection, notes: sink, ...options }),
    note: () => readNote(sink.noteOf(repoId), repoId),
    log: () => logOf(folder, repoId, sink) ?? join(folder, "none"),
    records: () => loadLog(folder, repoId, sink).files,
    /** Makes the last run look an hour old, so that no file counts as stamped too shortly before it. */
    settle: () => settleLog(folder, root, sink),
    /** Compares the rows with those of a collection that is built from nothing. */
    async expectExact(options: Partial<IndexOptions> = {}) {
      const oracle = runsOver(root, new MemorySink());
      await oracle.run(options);
      expect(plain(sink.rows)).toEqual(plain(oracle.sink.rows));
    },
  };
}
