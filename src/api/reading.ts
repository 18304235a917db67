/** Queries of a collection: options in, results out. */

import { readIds } from "../checks/ids.ts";
import { clampTopK, recallOf } from "../checks/numbers.ts";
import { readString } from "../checks/strings.ts";
import { readMatrix, readVector } from "../checks/vectors.ts";
import { readWhere } from "../checks/where.ts";
import type { Collection, Row, SearchAnswer } from "../store/collection.ts";
import { troubleNotice } from "../texts/notices.ts";
import * as texts from "../texts/search.ts";
import type { Explanation, Id, Vector, Vectors } from "./api.ts";
import type {
  GetOptions,
  GotRow,
  LexicalResult,
  LexicalSearchOptions,
  LocalSearchOptions,
  LocalSearchResult,
  ManySearchOptions,
} from "./options.ts";

/** The rows nearest to a vector; a promise only where a worker has to find them. */
export function searchVector(
  collection: Collection,
  vector: Vector | readonly [Vector],
  options: LocalSearchOptions,
): LocalSearchResult | Promise<LocalSearchResult> {
  const question = { by: "vector", vector: readVector(vector, "vector", collection.schema.dim) } as const;
  const answer = collection.askAtOnce(question, queryOf(options));
  const result = (found: SearchAnswer) => toResult(found, options, troubleNotice(collection, found.trouble, "vector"));
  return answer instanceof Promise ? answer.then(result) : result(answer);
}

/** The rows nearest to each of several vectors. */
export async function searchVectors(
  collection: Collection,
  vectors: Vectors,
  options: ManySearchOptions,
  threads: number,
): Promise<LocalSearchResult[]> {
  const query = queryOf(options);
  const { floats } = readMatrix(vectors, "vectors", collection.schema.dim);
  const answers = await collection.searchMany(floats, query, threads, options);
  return answers.map((answer) => toResult(answer, options, troubleNotice(collection, answer.trouble, "vector")));
}

function queryOf(options: LocalSearchOptions) {
  return {
    topK: clampTopK(options.topK, "topK"),
    where: readWhere(options.where),
    metadata: options.withMetadata,
    times: options.withTimes,
    targetRecall: recallOf(options),
  };
}

/** The rows that hold the words of a query. */
export async function searchWords(
  collection: Collection,
  query: string,
  options: LexicalSearchOptions,
): Promise<LexicalResult> {
  readString(query, "query");
  const { explain, withMetadata, withText, withTimes } = options;
  const where = readWhere(options.where);
  const detail = { metadata: withMetadata, text: withText, explain, times: withTimes };
  const topK = clampTopK(options.topK, "topK");
  const { rows, notice } = await texts.searchWords(collection, query, { topK, where, ...detail });
  const result: LexicalResult = listsOf(rows, options);
  if (withText) result.texts = rows.map((row) => row.text ?? null);
  if (explain) result.explain = rows.map((row) => texts.contributions(row.terms));
  if (notice !== undefined) result.notice = notice;
  return result;
}

/** Rows by id, in the order of `ids`. */
export function getRows(collection: Collection, ids: readonly Id[], options: GetOptions): GotRow[] {
  const names = readIds(ids);
  const { withMetadata = true, withText = true, withVector = false, withTimes = false } = options;
  const detail = { metadata: withMetadata, text: withText, vector: withVector, times: withTimes };
  return collection.get(names, detail).map((row) => {
    const got: GotRow = { id: row.id, found: row.found, ...row.times };
    if (row.metadata !== undefined) got.metadata = row.metadata;
    if (row.text !== undefined) got.text = row.text;
    if (row.vector !== undefined) got.vector = row.vector;
    return got;
  });
}

/** An answer with the requested parts in addition to ids and scores. */
export function toResult(
  answer: texts.TextAnswer,
  options: LocalSearchOptions,
  notice = answer.notice,
): LocalSearchResult {
  const { rows } = answer;
  const result: LocalSearchResult = listsOf(rows, options);
  if (options.explain) result.explain = explain(answer);
  if (result.explain && answer.recencyShares) result.explain.recency_shares = answer.recencyShares;
  if (notice !== undefined) result.notice = notice;
  return result;
}

/** The lists that all results have. */
function listsOf(
  rows: readonly Row[],
  { withMetadata, withTimes }: LocalSearchOptions,
): Omit<LocalSearchResult, "explain"> {
  const lists: Omit<LocalSearchResult, "explain"> = {
    ids: rows.map((row) => row.id),
    scores: rows.map((row) => row.score),
  };
  if (withMetadata) lists.metadata = rows.map((row) => row.metadata ?? null);
  if (withTimes) {
    lists.created = rows.map((row) => row.times!.created);
    lists.updated = rows.map((row) => row.times!.updated);
  }
  return lists;
}

function explain(answer: SearchAnswer): Explanation {
  const { rows, fused, screenedRows, scoredRows, probedLists, replaced, meaningWeight } = answer;
  const read: Omit<Explanation, "mode"> = {
    screened_rows: screenedRows,
    scored_rows: scoredRows,
    probed_lists: probedLists,
  };
  if (replaced.length > 0) read.replaced = replaced.map(({ word, partners }) => ({ word, searched_as: partners }));
  if (!fused) return { mode: probedLists > 0 ? "ivf" : "exact", ...read };
  const scores = (ranking: "vector" | "words" | "meaning") =>
    rows.map(({ scores: of }) => {
      const score = of?.[ranking] ?? Number.NaN;
      return Number.isFinite(score) ? score : null;
    });
  const fusedOf = { dense_scores: scores("vector"), lexical_scores: scores("words") };
  const meant = meaningWeight === undefined ? {} : { meaning_scores: scores("meaning"), meaning_weight: meaningWeight };
  return { mode: "fused", ...read, ...fusedOf, ...meant };
}
