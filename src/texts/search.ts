/** Searches a collection of texts. */
import type { Recency } from "../checks/recency.ts";
import type { Collection, Row, SearchAnswer, SearchOptions } from "../store/collection.ts";
import { checkSpace, type Embedder } from "./embedder.ts";
import { questionOf } from "./question.ts";
import { DENSE_WEIGHT } from "./ranking.ts";
import { candidateDetail, preferRecent } from "./recency.ts";

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

/** How to search texts. */
export interface TextOptions extends SearchOptions {
  /** Prefer newer rows. */
  recency?: Recency | undefined;
}

/** What an answer to a search with `recency` has beside its rows. */
export interface RecencyShares {
  /** What recency added to each row's score. */
  recencyShares?: number[];
}

/** The rankings by vector and by words, fused. A row's score is the fusion's, and recency's share. */
export async function searchTexts(
  collection: Collection,
  embedder: Embedder,
  query: string,
  options: TextOptions,
  signal?: AbortSignal,
): Promise<SearchAnswer & Noticed & RecencyShares> {
  checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const { kernelModel, weightedQueries } = embedder;
  const { text, notice } = questionOf(query);
  const vector = kernelModel === undefined ? await embedder.embedQueries([text], signal) : undefined;
  signal?.throwIfAborted();
  const { recency, ...asked } = options;
  const found = await collection.ask(
    { by: "both", vector, model: kernelModel, text, denseWeight: DENSE_WEIGHT },
    { ...(recency ? candidateDetail(asked, recency) : asked), weighted: weightedQueries },
  );
  const answer = recency ? { ...found, ...preferRecent(collection, found, asked, recency) } : found;
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
