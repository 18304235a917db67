/** Searches a collection of texts. */
import type { Collection, Row, SearchAnswer, SearchOptions } from "../store/collection.ts";
import { checkSpace, type Embedder } from "./embedder.ts";
import { questionOf } from "./question.ts";
import { DENSE_WEIGHT } from "./ranking.ts";

/** One query term's share in a hit's BM25 score. */
export interface TermContribution {
  term: string;
  score: number;
}

/** What an answer says beside its rows. */
export interface Noticed {
  /** A sentence where the answer is not to the whole query: see question.ts. */
  notice?: string | undefined;
}

/** The ranking by vector, fused with the one by words where its index is built. A fused row's score is the fusion's. */
export async function searchTexts(
  collection: Collection,
  embedder: Embedder,
  query: string,
  options: SearchOptions,
  signal?: AbortSignal,
): Promise<SearchAnswer & Noticed> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const { kernelModel, weightedQueries } = embedder;
  const { text, notice } = questionOf(query);
  const vector = kernelModel === undefined ? await embedder.embedQueries([text], signal) : undefined;
  signal?.throwIfAborted();
  const answer = await collection.ask(
    { by: "both", vector, model: kernelModel, text, denseWeight: DENSE_WEIGHT },
    { ...options, weighted: weightedQueries },
  );
  return notice === undefined ? answer : { ...answer, notice };
}

/** The ranking by words alone. */
export async function searchWords(
  collection: Collection,
  query: string,
  options: SearchOptions,
): Promise<{ rows: Row[] } & Noticed> {
  const { text, notice } = questionOf(query);
  return { rows: await collection.searchLexical(text, options), notice };
}
