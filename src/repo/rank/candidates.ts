/** The windows of a repository that a question is ranked over: the same ones in whatever order they were inserted. */
import type { TermWeight } from "../../../ffi/records.ts";
import { REPO_KEY } from "../../checks/names.ts";
import type { Collection, Row } from "../../store/collection.ts";
import type { Embedder } from "../../texts/embedder.ts";
import { type Noticed, searchTexts } from "../../texts/search.ts";
import { idBase, rowId } from "../chunks/identity.ts";
import { byWordsAlone, firstOf, listedIn, pathOf } from "./cutoff.ts";
import type { Scope } from "./hint.ts";

/**
 * Candidates of each ranking are so many times the rows that are asked for, and a hundred at least: `ty_fuse_depth`.
 */
const DEPTH = 3;
const DEPTH_MIN = 100;
/** Where they are of too few files, so many times as many are asked for. */
const DEEPER = 8;

/** What the windows of a repository are ranked by. */
export interface CandidateQuery {
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
  /** Weights of the query's terms; empty without a ranking by words. */
  weights: readonly TermWeight[];
  /** How many terms of the query, and of the names in it, occur in any row. */
  known: number;
}

/** The rows that either ranking lists, of as many files as are wanted where the scope has so many. */
export async function candidatesOf(
  collection: Collection,
  embedder: Embedder,
  wanted: CandidateQuery,
  signal: AbortSignal | undefined,
): Promise<Candidates> {
  const { query, names, labelShare, repoId, scope, withTimes } = wanted;
  const fileCount = Math.min(wanted.files, scope.files);
  const where = { column: REPO_KEY, value: repoId };
  const under = scope.under === undefined ? undefined : { column: "path", value: scope.under };
  const detail = { metadata: true, times: withTimes, scores: true, candidates: true, weights: true };
  const search = (topK: number) => {
    const options = { ...detail, where, under, labels: names, labelShare, topK, timesAreEvents: false };
    return searchTexts(collection, embedder, query, options, signal);
  };
  const depthOf = (topK: number) => Math.max(DEPTH_MIN, topK * DEPTH);
  let topK = Math.max(wanted.files, Math.floor(DEPTH_MIN / DEPTH));
  // More than are kept: a row beyond the last one shows whether others are equal to it.
  for (let read = topK + 1; ; ) {
    const [depth, most] = [depthOf(topK), depthOf(read)];
    const { rows: listed, ...found } = await search(read);
    // The ranking by vector has every row: a shorter one is all of it.
    const byVector = listedIn(listed, "vector");
    const isAll = byVector.length <= depth;
    // A question made only of symbols has the same vector score for all rows, but a definition may be named by those
    // symbols.
    const isBlind = !isAll && byVector.every((row) => row.scores!.vector === 0);
    const first = firstOf(isBlind ? byWordsAlone(listed) : listed, depth, most);
    if (first === undefined) {
      read *= DEEPER;
      continue;
    }
    const rows = first.filter((row) => scope.allows(pathOf(row)));
    const files = new Set(rows.map(pathOf));
    if (isBlind || isAll || files.size >= fileCount) return { ...found, rows };
    topK *= DEEPER;
    read = Math.max(read, topK + 1);
  }
}

/** The first window of each of these files that has one. */
export function firstWindows(collection: Collection, wanted: CandidateQuery, paths: readonly string[]): Row[] {
  if (paths.length === 0) return [];
  const ids = paths.map((path) => rowId(idBase(wanted.repoId, path), 0));
  return collection.get(ids, { metadata: true, times: wanted.withTimes }).filter((row) => row.found);
}
