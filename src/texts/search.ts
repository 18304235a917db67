/** Searches a collection of texts. */
import type { TermShare } from "../../ffi/records.ts";
import { shown } from "../checks/kinds.ts";
import type { Recency } from "../checks/recency.ts";
import { RuntimeError } from "../errors.ts";
import type { Collection, Row, SearchAnswer, SearchOptions } from "../store/collection.ts";
import { absentValue } from "./absent-value.ts";
import { candidateDetail, firstCandidates, prefers } from "./candidates.ts";
import { Collections } from "./collections.ts";
import { checkSpace, type Embedder } from "./embedder.ts";
import { joinNotices, troubleNotice, wordsNotice } from "./notices.ts";
import { questionOf } from "./question.ts";
import { timeIn } from "./question-times.ts";
import { DENSE_WEIGHT } from "./ranking.ts";
import { lookedUpIn, noticeOfMeaning, ranksAnyByMeaning, type Searched, troublesOf } from "./searched.ts";
import { searchedRows } from "./searched-rows.ts";
import { tiersOf } from "./tiers.ts";

/** One query term's share in a hit's BM25 score. */
export interface TermContribution {
  term: string;
  score: number;
  /** The query's word that the term was searched for instead of, because the rows searched lack it. */
  instead_of?: string;
}

/** What the terms of a row added to its score. */
export function contributions(terms: readonly TermShare[] | undefined): TermContribution[] {
  return (terms ?? []).map(({ term, share, instead }) =>
    instead === undefined ? { term, score: share } : { term, score: share, instead_of: instead },
  );
}

/** @throws RuntimeError for a collection that has no search by word alone, with the command that adds it */
export function requireLexical({ name, schema }: Collection): void {
  if (schema.lexical) return;
  const command = /^[\w.]+$/.test(name) ? `svc mem alter ${name} --lexical` : "svc mem alter NAME --lexical";
  throw new RuntimeError(`collection ${shown(name)} is without a lexical index: '${command}' adds one`);
}

/** What an answer says beside its rows. */
export interface Noticed {
  /** What the caller has to know of how the query was answered: see question.ts and notices.ts. */
  notice?: string | undefined;
}

/** How to search texts. */
export interface TextOptions extends SearchOptions {
  /** Prefer newer rows. */
  recency?: Recency | undefined;
  /** What "last week" in a query is before, in milliseconds since 1970 (the clock). */
  now?: number | undefined;
  /** Whether a row's time is when its event happened (default true). False for indexes of files. */
  timesAreEvents?: boolean | undefined;
  /** Labels to rank by beside the query, and how many times their rarity each counts: see `Question`. */
  labels?: readonly string[] | undefined;
  labelShare?: number | undefined;
  /** The scope whose rows come first: see tiers.ts. */
  project?: string | undefined;
}

/** An answer to a search of texts. */
export interface TextAnswer extends SearchAnswer, Noticed {
  /** With `recency`: what it added to each row's score. */
  recencyShares?: number[];
}

const HAS_WORD = /[\p{L}\p{N}]/u;

/** Whether a query has nothing to search for: every row is as like it as any other. */
export function isBlank(collection: Pick<Collection, "termsOf">, query: string): boolean {
  return !HAS_WORD.test(query) && collection.termsOf([questionOf(query).text])[0]!.length === 0;
}

/** The rankings by vector and by words, fused. A row's score is the fusion's, and recency's share. */
export async function searchTexts(
  collection: Searched,
  embedder: Embedder,
  query: string,
  options: TextOptions,
  signal?: AbortSignal,
): Promise<TextAnswer> {
  if (!(collection instanceof Collections)) checkSpace(collection.name, collection.schema.embedderProfile, embedder);
  const { kernelModel, weightedQueries, encoder } = embedder;
  const { text, notice } = questionOf(query);
  const vector = kernelModel === undefined ? await embedder.embedQueries([text], signal) : undefined;
  const meaning = await ranksAnyByMeaning(collection, encoder);
  signal?.throwIfAborted();
  const { recency, labels, labelShare, now = Date.now(), timesAreEvents = true, project, ...asked } = options;
  const named = timesAreEvents ? timeIn(text, now) : undefined;
  const preferred = { recency, named, tiers: tiersOf(collection, project) };
  const isPreferred = prefers(preferred);
  const found = await collection.ask(
    { by: "both", vector, model: kernelModel, text, denseWeight: DENSE_WEIGHT, labels, labelShare, meaning },
    { ...(isPreferred ? candidateDetail(asked, preferred) : asked), weighted: weightedQueries },
  );
  const answer = isPreferred ? { ...found, ...firstCandidates(collection, text, found, asked, preferred) } : found;
  const trouble = troublesOf(collection, found);
  const absent = found.rows.length === 0 ? absentValue(collection, asked.where) : undefined;
  const searched = absent === undefined ? await lookedUpIn(collection, text, asked.where, found) : undefined;
  const words = absent ?? wordsNotice(collection.name, answer, true, searched);
  const unread = await noticeOfMeaning(collection, encoder, found);
  const all = joinNotices("; ", [notice, trouble, words, unread]);
  return all === undefined ? answer : { ...answer, notice: all };
}

/** The ranking by words alone. */
export async function searchWords(
  collection: Collection,
  query: string,
  { project, ...asked }: SearchOptions & Pick<TextOptions, "project">,
): Promise<{ rows: Row[] } & Noticed> {
  requireLexical(collection);
  const { text, notice } = questionOf(query);
  const preferred = { tiers: tiersOf(collection, project) };
  const isPreferred = prefers(preferred);
  const found = await collection.ask({ by: "words", text }, isPreferred ? candidateDetail(asked, preferred) : asked);
  const answer = isPreferred ? { ...found, ...firstCandidates(collection, text, found, asked, preferred) } : found;
  const trouble = troubleNotice(collection, answer.trouble, "words");
  const absent = answer.rows.length === 0 ? absentValue(collection, asked.where) : undefined;
  const searched = absent === undefined ? await searchedRows(collection, text, asked.where, answer) : undefined;
  const words = absent ?? wordsNotice(collection.name, answer, false, searched);
  return { rows: answer.rows, notice: joinNotices("; ", [notice, trouble, words]) };
}
