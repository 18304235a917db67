/** Questions to a collection: options in, results out. */

import { readIds } from "../checks/ids.ts";
import { clampTopK, recallOf } from "../checks/numbers.ts";
import { readString } from "../checks/strings.ts";
import { readMatrix, readVector } from "../checks/vectors.ts";
import { readWhere } from "../checks/where.ts";
import type { Collection, Row, SearchAnswer } from "../store/collection.ts";
import type { TextAnswer } from "../texts/search.ts";
import type { Explanation, Id, SearchOptions, SearchResult, Vector, Vectors } from "./api.ts";
import type {
  GetOptions,
  GotRow,
  LexicalResult,
  LexicalSearchOptions,
  LocalSearchOptions,
  ManySearchOptions,
} from "./options.ts";

/** The rows nearest to a vector. */
export async function searchVector(
  collection: Collection,
  vector: Vector | readonly [Vector],
  options: LocalSearchOptions,
): Promise<SearchResult> {
  const answer = await collection.search(readVector(vector, "vector", collection.schema.dim), {
    topK: clampTopK(options.topK, "topK"),
    where: readWhere(options.where),
    metadata: options.withMetadata,
    targetRecall: recallOf(options),
  });
  return toResult(answer.rows, options, () => explainDense(answer));
}

/** The rows nearest to each of several vectors. */
export async function searchVectors(
  collection: Collection,
  vectors: Vectors,
  options: ManySearchOptions,
  threads: number,
): Promise<SearchResult[]> {
  const question = {
    topK: clampTopK(options.topK, "topK"),
    where: readWhere(options.where),
    metadata: options.withMetadata,
    targetRecall: recallOf(options),
  };
  const { floats } = readMatrix(vectors, "vectors", collection.schema.dim);
  const answers = await collection.searchMany(floats, question, threads, options);
  return answers.map((answer) => toResult(answer.rows, options, () => explainDense(answer)));
}

/** The rows that hold the words of a query. */
export async function searchWords(
  collection: Collection,
  query: string,
  options: LexicalSearchOptions,
): Promise<LexicalResult> {
  readString(query, "query");
  const { explain, withMetadata, withText } = options;
  const where = readWhere(options.where);
  const detail = { metadata: withMetadata, text: withText, explain };
  const rows = await collection.searchLexical(query, { topK: clampTopK(options.topK, "topK"), where, ...detail });
  const result: LexicalResult = { ids: rows.map((row) => row.id), scores: rows.map((row) => row.score) };
  if (withMetadata) result.metadata = rows.map((row) => row.metadata ?? null);
  if (withText) result.texts = rows.map((row) => row.text ?? null);
  if (explain) {
    result.explain = rows.map((row) => (row.terms ?? []).map(({ term, share }) => ({ term, score: share })));
  }
  return result;
}

/** Rows by id, in the order asked. */
export function getRows(collection: Collection, ids: readonly Id[], options: GetOptions): GotRow[] {
  const names = readIds(ids);
  const { withMetadata = true, withText = true, withVector = false } = options;
  return collection.get(names, { metadata: withMetadata, text: withText, vector: withVector }).map((row) => {
    const got: GotRow = { id: row.id, found: row.found };
    if (row.metadata !== undefined) got.metadata = row.metadata;
    if (row.text !== undefined) got.text = row.text;
    if (row.vector !== undefined) got.vector = row.vector;
    return got;
  });
}

/** The answer to a text with what was asked for beside ids and scores. */
export function textResult(answer: TextAnswer, options: SearchOptions): SearchResult {
  return toResult(answer.rows, options, () => explainText(answer));
}

// ---------------------------------------------------------------------------------------------------------------------

function toResult(rows: readonly Row[], options: SearchOptions, explain: () => Explanation): SearchResult {
  const answer: SearchResult = { ids: rows.map((row) => row.id), scores: rows.map((row) => row.score) };
  if (options.withMetadata) answer.metadata = rows.map((row) => row.metadata ?? null);
  if (options.explain) answer.explain = explain();
  return answer;
}

function explainDense({ screenedRows, scoredRows, probedLists }: SearchAnswer): Explanation {
  return {
    mode: probedLists > 0 ? "ivf" : "exact",
    screened_rows: screenedRows,
    scored_rows: scoredRows,
    probed_lists: probedLists,
  };
}

function explainText({ rows, dense, lexical }: TextAnswer): Explanation {
  const explanation = explainDense(dense);
  if (!lexical) return explanation;
  const scores = (ranked: readonly Row[]) => {
    const byId = new Map(ranked.map((row) => [row.id, row.score]));
    return rows.map((row) => byId.get(row.id) ?? null);
  };
  return { ...explanation, mode: "fused", dense_scores: scores(dense.rows), lexical_scores: scores(lexical) };
}
