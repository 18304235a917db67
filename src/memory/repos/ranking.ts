/** Ranks the files of one repository for a question. */
import type { Metadata } from "../../checks/values.ts";
import type { Workspace } from "../../repo/indexer.ts";
import type { Collection, Row } from "../../store/collection.ts";
import type { Embedder } from "../../texts/embedder.ts";
import { type Noticed, searchTexts } from "../../texts/search.ts";
import { REPO_KEY } from "./collections.ts";
import { scopeOf } from "./scope.ts";

/** A question to one repository. */
export interface RepoQuestion {
  query: string;
  /** Distinct files to rank at most. */
  topK: number;
  /** Only this file, or files below this folder: absolute, or relative to the workspace or the root. */
  pathHint?: string | undefined;
  withTimes?: boolean | undefined;
}

/** A file of an answer. */
export interface RankedFile {
  path: string;
  /** Its windows among the candidates, best first; at least one. */
  windows: Row[];
}

/** Files, best first: each as good as its best window. */
export interface RepoRanking extends Noticed {
  files: RankedFile[];
}

/** Ranks the rows of one repository, and folds them by file. @throws ValueError for a path hint outside of the root */
export async function rankFiles(
  collection: Collection,
  embedder: Embedder,
  workspace: Workspace,
  question: RepoQuestion,
  signal: AbortSignal | undefined,
): Promise<RepoRanking> {
  const { query, topK, pathHint, withTimes } = question;
  const path = scopeOf(workspace, pathHint);
  const under = path ? { column: "path", value: path } : undefined;
  const where = { column: REPO_KEY, value: workspace.repoId };
  const options = { topK, where, under, metadata: true, times: withTimes, candidates: true };
  const { rows, notice } = await searchTexts(collection, embedder, query, options, signal);
  return { files: byFile(rows).slice(0, topK), notice };
}

/** Rows, best first, by the file of their metadata. */
function byFile(rows: readonly Row[]): RankedFile[] {
  const files = new Map<string, RankedFile>();
  for (const row of rows) {
    const path = String((row.metadata as Metadata | undefined)?.path);
    const file = files.get(path);
    if (file) file.windows.push(row);
    else files.set(path, { path, windows: [row] });
  }
  return [...files.values()];
}
