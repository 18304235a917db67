/**
 * The notes that a person's prompt is about, for a hook that puts them beside it. Most prompts are about none: a note is
 * given only where it has most of what a prompt says that few notes do.
 */
import type { Collection, Row } from "../store/collection.ts";
import type { CollectionOverview } from "../store/overview.ts";
import { weakHits } from "../texts/confidence.ts";
import { isSuperseded } from "../texts/tiers.ts";
import { type Visited, visitCollections } from "./collections/visit.ts";
import { ORDINARY } from "./ordinary-words.ts";

/** Units of a prompt that are looked at, and words of it: what is pasted below is not what is asked. */
const PROMPT_UNITS = 2000;
const WORDS_MAX = 24;
/** The hits of a collection that are judged. */
const HITS = 8;
/** A note needs at least this share of the total weight of the prompt's words. */
const SHARE_LEAST = 0.5;
/** A note counts only if at most this many notes would have its words by chance. */
const CHANCE_MAX = 0.5;
/** A smaller collection is judged as one of so many rows: its words say little of how rare they are. */
const ROWS_LEAST = 20;
/** A name alone is enough if no more notes than these have it, and no larger part of all. */
const NAMED_MAX = 5;
const NAMED_SHARE_MAX = 0.2;

export interface RecallArguments {
  prompt: string;
  /** So many notes. */
  limit: number;
  /** No further collection is opened after this time of `performance.now`. */
  until: number;
}

/** A note that a prompt is about. */
export interface Recalled {
  collection: string;
  id: string;
  /** Milliseconds since 1970. */
  updated: number | undefined;
  text: string;
}

/** The notes, the one that has most first; of all collections of texts. */
export async function recall(memory: Visited, { prompt, limit, until }: RecallArguments): Promise<Recalled[]> {
  const words = tellingWords(prompt);
  if (words.length === 0) return [];
  const found: (Recalled & { evidence: number })[] = [];
  const add = async (collection: Collection) => found.push(...(await recallFrom(collection, words)));
  const isWanted = ({ rows = 0 }: CollectionOverview) => rows > 0 && performance.now() <= until;
  await visitCollections(memory, add, { isWanted, newestFirst: true });
  return found
    .sort((a, b) => b.evidence - a.evidence)
    .slice(0, limit)
    .map(({ evidence: _, ...note }) => note);
}

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_.-]*[\p{L}\p{N}\p{M}]|[\p{L}\p{N}]/gu;

/** A word that tells what a prompt is about, in lower case. */
export interface TellingWord {
  readonly word: string;
  /** Whether it is written as a name: with a capital, inside of a sentence. */
  readonly isName: boolean;
}

/** The telling words of a prompt, each once: not those of ordinary language and ordinary requests. */
export function tellingWords(prompt: string): TellingWord[] {
  const text = prompt.slice(0, PROMPT_UNITS);
  const words = new Map<string, TellingWord>();
  for (const { 0: written, index } of text.matchAll(WORD)) {
    const word = written.toLowerCase();
    if (word.length === 1 || isOrdinary(word)) continue;
    const isName = /^\p{Lu}\p{Ll}/u.test(written) && /[\p{L}\p{N},][^\S\n]+$/u.test(text.slice(0, index));
    words.set(word, { word, isName: isName || words.get(word)?.isName === true });
  }
  return [...words.values()].slice(0, WORDS_MAX);
}

function isOrdinary(word: string): boolean {
  if (/^[\d.]+$/.test(word)) return true;
  const stems = [word, word.replace(/['’]s$/, ""), word.replace(/(?:e?s|e?d|ing|ly)$/, "")];
  return stems.some((stem) => ORDINARY.has(stem) || ORDINARY.has(`${stem}e`));
}

/** By words alone, which is what is judged. A ranking by vector as well would take ten times as long in a new process. */
async function recallFrom(collection: Collection, words: readonly TellingWord[]) {
  const query = words.map(({ word }) => word).join(" ");
  const detail = { metadata: true, text: true, times: true, scores: true, weights: true };
  // Few collections have the index that a ranking by words alone needs. A vector of one dimension makes the other cheap.
  const vector = new Float32Array(collection.schema.dim);
  vector[0] = 1;
  const question = { by: "both", vector, text: query, denseWeight: 0 } as const;
  const { rows, weights } = await collection.ask(question, { topK: HITS, ...detail });
  const texts = rows.filter((row): row is Row & { text: string } => row.text !== undefined && row.text.length < 16_384);
  if (texts.length === 0) return [];
  const shares = collection.passages(query, undefined, texts.map(textOf)).map(({ questionShare }) => questionShare);
  const weak = weakHits(texts, shares);
  const judge = judgeOf(collection, words, weights);
  return texts.flatMap((row, i) => {
    const evidence = weak[i] ? undefined : judge(row.text);
    if (evidence === undefined || isSuperseded(row.metadata)) return [];
    return [{ collection: collection.name, id: row.id, updated: row.times?.updated, text: row.text, evidence }];
  });
}

const textOf = ({ text }: { text: string }) => text;

/**
 * How much a text has of the words, as the logarithm of how rare such a text is; undefined where that is too little. A
 * word alone is too little, unless it is a name that few notes have.
 */
function judgeOf(
  collection: Collection,
  words: readonly TellingWord[],
  weights: readonly { hash: number; known: boolean; weight: number }[],
) {
  const { liveRows } = collection.manifest();
  const further = Math.log(Math.max(1, ROWS_LEAST / liveRows));
  const weightOf = new Map(weights.map(({ hash, weight }) => [hash, weight > 0 ? weight + further : 0]));
  const weighed = collection.termsOf(words.map(({ word }) => word)).map((terms, i) => ({
    terms: [...terms],
    isName: words[i]!.isName,
    weight: Math.min(...[...terms].map((term) => weightOf.get(term) ?? 0)),
  }));
  const telling = weighed.filter(({ terms, weight }) => terms.length > 0 && weight > 0);
  const whole = telling.reduce((sum, { weight }) => sum + weight, 0);
  const rowsLog = Math.log(Math.max(liveRows, ROWS_LEAST));
  const nameLeast = Math.max(rowsLog - Math.log(NAMED_MAX), Math.log(1 / NAMED_SHARE_MAX));
  return (text: string): number | undefined => {
    const has = new Set(collection.termsOf([text])[0]);
    const matched = telling.filter(({ terms }) => terms.every((term) => has.has(term)));
    const evidence = matched.reduce((sum, { weight }) => sum + weight, 0);
    if (evidence < SHARE_LEAST * whole) return undefined;
    const isRare = evidence - rowsLog >= Math.log(1 / CHANCE_MAX);
    return isRare || matched.some(({ isName, weight }) => isName && weight >= nameLeast) ? evidence : undefined;
  };
}
