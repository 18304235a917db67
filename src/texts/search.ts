/** Searches a collection of texts. */
import type { Collection, SearchAnswer, SearchOptions } from "../store/collection.ts";
import { checkSpace, type Embedder } from "./embedder.ts";
import { DENSE_WEIGHT } from "./ranking.ts";

/** One query term's share in a hit's BM25 score. */
export interface TermContribution {
  term: string;
  score: number;
}

/** The ranking by vector, fused with the one by words where its index is built. A fused row's score is the fusion's. */
export async function searchTexts(
  collection: Collection,
  embedder: Embedder,
  query: string,
  options: SearchOptions,
  signal?: AbortSignal,
): Promise<SearchAnswer> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const { kernelModel, weightedQueries } = embedder;
  const vector = kernelModel === undefined ? await embedder.embedQueries([query], signal) : undefined;
  signal?.throwIfAborted();
  return collection.ask(
    { by: "both", vector, model: kernelModel, text: query, denseWeight: DENSE_WEIGHT },
    { ...options, weighted: weightedQueries },
  );
}
