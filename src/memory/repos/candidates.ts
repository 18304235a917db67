/** The windows of a repository that a question is ranked over. */
import type { TermWeight } from "../../../ffi/records.ts";
import { REPO_KEY } from "../../checks/names.ts";
import type { Metadata } from "../../checks/values.ts";
import { idBase, rowId } from "../../repo/identity.ts";
import type { Scope } from "../../repo/rank/hint.ts";
import type { Collection, Row } from "../../store/collection.ts";
import type { Embedder } from "../../texts/embedder.ts";
import { type Noticed, searchTexts } from "../../texts/search.ts";

/** Candidates of each ranking are so many times the rows that are asked for, and a hundred at least: `ty_fuse_depth`. */
const DEPTH = 3;
const DEPTH_MIN = 100;
/** Where they are of too few files, so many times as many are asked for. */
const DEEPER = 8;

/** What the windows of a repository are ranked by. */
export interface Asked {
  query: string;
  /** Searched for among definitions. */
  names: readonly string[];
  /** How many times its rarity such a name counts. */
  labelShare: number;
  repoId: string;
  /** Only these files. */
  scope: Scope;
  /** Distinct files that are wanted. */
  files: number;
  withTimes: boolean | undefined;
}

export interface Candidates extends Noticed {
  rows: Row[];
  /** Of the terms of the query; none where there is no ranking by words. */
  weights: readonly TermWeight[];
}

/** The rows that either ranking lists, of as many files as are wanted where the scope has so many. */
export async function candidatesOf(
  collection: Collection,
  embedder: Embedder,
  asked: Asked,
  signal: AbortSignal | undefined,
): Promise<Candidates> {
  const { query, names, labelShare, repoId, scope, withTimes } = asked;
  const wanted = Math.min(asked.files, scope.files);
  const where = { column: REPO_KEY, value: repoId };
  const under = scope.under === undefined ? undefined : { column: "path", value: scope.under };
  const detail = { metadata: true, times: withTimes, scores: true, candidates: true, weights: true };
  for (let topK = Math.max(asked.files, Math.floor(DEPTH_MIN / DEPTH)); ; topK *= DEEPER) {
    const depth = Math.max(DEPTH_MIN, topK * DEPTH);
    const options = { ...detail, where, under, labels: names, labelShare, topK };
    const answer = await searchTexts(collection, embedder, query, options, signal);
    const rows = answer.rows.filter((row) => scope.allows(pathOf(row)));
    // The ranking by vector has every row: a shorter one is all of it.
    const listed = answer.rows.filter((row) => row.scores && !Number.isNaN(row.scores.vector)).length;
    if (listed < depth || new Set(rows.map(pathOf)).size >= wanted) {
      return { rows, weights: answer.weights, notice: answer.notice };
    }
  }
}

/** The first window of each of these files that has one. */
export function firstWindows(collection: Collection, asked: Asked, paths: readonly string[]): Row[] {
  if (paths.length === 0) return [];
  const ids = paths.map((path) => rowId(idBase(asked.repoId, path), 0));
  return collection.get(ids, { metadata: true, times: asked.withTimes }).filter((row) => row.found);
}

/** The file that a row is a window of. */
export function pathOf(row: Row): string {
  return String((row.metadata as Metadata | undefined)?.path);
}
