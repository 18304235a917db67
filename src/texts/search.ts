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
  /** What is missing: of a long query (question.ts), or of the answer where the lexical index is damaged. */
  notice?: string | undefined;
}

/** The rankings by vector and by words, fused. A row's score is the fusion's. */
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
  const notices = [notice, answer.wordsTrouble ? withoutWords(collection.name) : undefined].filter(Boolean);
  return notices.length === 0 ? answer : { ...answer, notice: notices.join("; ") };
}

function withoutWords(name: string): string {
  return `the word index of '${name}' is damaged: the answer is by vectors alone; svc_compact builds it anew`;
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
