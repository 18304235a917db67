/** Passages of 200 words, and questions in words of other passages. */

import { random } from "../../random.ts";
import { DEVELOPMENT, loadSet, setsIn } from "../quality/sets.ts";
import { machinePassages, shuffled } from "../text/machine-text.ts";

/** Words of a passage. */
export const PASSAGE_WORDS = 200;
/** Words of the questions. */
export const LENGTHS = [1, 3, 6, 12, 20, 60, 150] as const;
/** The kind of the sets' own questions. */
export const AS_ASKED = "as asked";

/** What is stored and asked. */
export interface Gathered {
  passages: string[];
  /** How many of them are as their author wrote them. */
  real: number;
  /** By kind. */
  questions: Record<string, string[]>;
}

/** A passage in so many is left out of the collection, and asked about. */
const ASIDE = 20;
/** Words of each of the parts that a passage is recombined of. */
const PART = 50;
/** Texts with longer words on average are not separated by blanks. */
const WORD_MAX = 20;
const SEED = 23;

const wordsOf = (text: string) => text.split(/\s+/).filter(Boolean);

/** The name of a kind of questions. */
export const kindOf = (words: number) => (words === 1 ? "1 word" : `${words} words`);

/**
 * The texts of retrieval sets, or of this machine where there are none, cut into passages and shuffled; where they are
 * too few, further ones are recombined of parts of them.
 */
export function gather(count: number, each: number, sets: readonly string[]): Gathered {
  const loaded = [...new Set([...setsIn(DEVELOPMENT), ...sets])].map(loadSet);
  const texts = loaded.map(({ documents }) => documents.map(({ text }) => text));
  if (texts.length === 0) texts.push([...machinePassages(count)]);
  const all = shuffled(texts.flatMap(passagesOf), SEED);
  const asked = loaded.flatMap(({ queries }) => queries.map(({ text }) => text)).filter(isOfWords);
  return assemble(all, asked, count, each);
}

/** @param all passages in an order of chance */
export function assemble(all: readonly string[], asked: readonly string[], count: number, each: number): Gathered {
  const aside = all.filter((_, i) => i % ASIDE === 0);
  const whole = all.filter((_, i) => i % ASIDE !== 0).slice(0, count);
  const next = random(SEED);
  const passages = [...whole];
  while (passages.length < count) passages.push(recombined(whole, next));
  const questions: Record<string, string[]> = {};
  for (const words of LENGTHS)
    questions[kindOf(words)] = Array.from({ length: each }, () => question(aside, words, next));
  if (asked.length >= each) questions[AS_ASKED] = shuffled(asked, SEED).slice(0, each);
  return { passages, real: whole.length, questions };
}

/** The texts one after the other, in passages. */
export function passagesOf(texts: readonly string[]): string[] {
  const words = texts.filter(isOfWords).flatMap(wordsOf);
  const passages: string[] = [];
  for (let at = 0; at + PASSAGE_WORDS <= words.length; at += PASSAGE_WORDS) {
    passages.push(words.slice(at, at + PASSAGE_WORDS).join(" "));
  }
  return passages;
}

function isOfWords(text: string): boolean {
  const words = wordsOf(text);
  return words.length > 0 && text.length <= words.length * WORD_MAX;
}

function recombined(passages: readonly string[], next: () => number): string {
  const parts = Array.from({ length: PASSAGE_WORDS / PART }, () => runOf(passages, PART, next));
  return parts.join(" ");
}

/** Words that hold a letter or digit: rulers and operators of files are not a question. */
function question(passages: readonly string[], length: number, next: () => number): string {
  for (;;) {
    const words = runOf(passages, length, next);
    if (/[\p{L}\p{N}]/u.test(words)) return words;
  }
}

/** Consecutive words of one passage. */
function runOf(passages: readonly string[], length: number, next: () => number): string {
  const words = wordsOf(passages[Math.floor(next() * passages.length)]!);
  const from = Math.floor(next() * (words.length - length + 1));
  return words.slice(from, from + length).join(" ");
}
