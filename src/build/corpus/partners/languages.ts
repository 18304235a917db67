/** Terms of other languages to and from English: what CLDR calls the same symbols, and the Chinese Open Wordnet. */
import { readFileSync } from "node:fs";
import type { Entry } from "../../tables/partners-table.ts";
import type { Level } from "../../tables/prior-table.ts";
import { align, type Pair } from "./align.ts";
import { type Keywords, readKeywords } from "./cldr.ts";
import { termsOf } from "./terms.ts";
import type { WordNet } from "./wordnet.ts";

/** CLDR's names of the languages besides English: those whose words are terms of their own, and little inflected. */
export const LANGUAGES = "ar cs da de el es fr hi id it nl pl pt ro ru sv tr uk zh".split(" ");
/** From .3 on the table takes 40 kB more of the executable, and XQuAD's Spanish questions gain .004, Russian ones .017. */
const SCORE_LEAST = 0.35;
/** From English to another language. From .3 on it is 35 kB more for .009 of English questions over Spanish texts. */
const BACK_LEAST = 0.5;
/** Of a term of another language, English terms. Of an English term, one of each language. */
const ENGLISH_MAX = 2;
/** Terms up to this level of prior.tsv are function words of some language, unless they are common terms of English. */
const FUNCTION_LEVEL = 5;
/** A meaning that was never counted in texts, against one that was counted once. */
const UNSEEN = 0.5;

const UNSPACED = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]+$/u;
const LETTERS = /^[\p{L}\p{M}]{2,}$/u;

/** Foreign term to English terms with scores. */
type Scores = Map<string, Map<string, number>>;
/** The written word of each term, the first that was seen. */
type Words = Map<string, string>;

/**
 * The table of other languages.
 * @param levels of prior.tsv
 * @param english the common terms of English: partners are these, and none of them is taken for a word of another language
 */
export async function languages(
  cldr: string,
  cow: string,
  net: WordNet,
  levels: readonly Level[],
  english: ReadonlySet<string>,
): Promise<Entry[]> {
  const little = new Set(levels.filter(([, level]) => level <= FUNCTION_LEVEL).map(([term]) => term));
  const says = (term: string) => LETTERS.test(term) && (!little.has(term) || english.has(term));
  const words: Words = new Map();
  const own = await termLists(readKeywords(cldr, "en"), words, says);
  const partners = new Map<string, Map<string, number>>();
  const add = (from: string, to: string, score: number) => {
    const of = partners.get(from) ?? new Map<string, number>();
    of.set(to, Math.max(of.get(to) ?? 0, score));
    partners.set(from, of);
  };
  for (const language of LANGUAGES) {
    const others = await termLists(readKeywords(cldr, language), words, says);
    const scores = align(pairsOf(others, own));
    if (language === "zh") for (const [term, of] of await chinese(cow, net, words, says)) scores.set(term, of);
    const best = new Map<string, [term: string, score: number]>();
    for (const [foreign, of] of scores) {
      for (const [term, score] of bestOf(of, ENGLISH_MAX)) {
        if (score < SCORE_LEAST || !english.has(term) || english.has(foreign)) continue;
        add(foreign, term, score);
        if (score >= BACK_LEAST && score > (best.get(term)?.[1] ?? 0)) best.set(term, [foreign, score]);
      }
    }
    for (const [term, [foreign, score]] of best) add(term, foreign, score);
  }
  const chosen = new Map(
    [...partners].map(([term, of]) => [term, bestOf(of, LANGUAGES.length).map(([other]) => other)]),
  );
  const shown = new Set([...chosen.values()].flat());
  return [...shown.union(chosen)].map((term) => {
    // What is no term's partner is never shown, and needs no word.
    return { term, word: shown.has(term) ? words.get(term)! : term, partners: chosen.get(term) ?? [] };
  });
}

/** Best first; ties by the order of the terms. */
function bestOf(scores: Map<string, number>, most: number): [term: string, score: number][] {
  return [...scores].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, most);
}

/** Of each symbol the terms of its keywords, and of its name. */
async function termLists(symbols: Map<string, Keywords>, words: Words, says: (term: string) => boolean) {
  const lists = new Map<string, [string[], string[]]>();
  const texts = [...symbols.values()].flatMap(({ keywords, names }) => [...keywords, ...names]).flatMap(pieces);
  const written = [...new Set(texts)];
  const terms = await termsOf(written);
  const byText = new Map(written.map((text, i) => [text, terms[i]!]));
  const ofTexts = (all: string[]) => {
    const found = new Set<string>();
    for (const piece of all.flatMap(pieces)) {
      for (const term of single(piece, byText.get(piece)!)) {
        if (!says(term)) continue;
        found.add(term);
        if (!words.has(term)) words.set(term, UNSPACED.test(piece) ? term : piece);
      }
    }
    return [...found];
  };
  for (const [symbol, { keywords, names }] of symbols) lists.set(symbol, [ofTexts(keywords), ofTexts(names)]);
  return lists;
}

/** Words of a text: whole where they are not separated by spaces. */
const pieces = (text: string) => text.split(/[^\p{L}\p{M}]+/u).filter(Boolean);

/** Terms that stand for a word: its own, or its pairs where spaces do not separate words. */
const single = (word: string, terms: string[]) =>
  UNSPACED.test(word) ? terms.filter((term) => [...term].length === 2) : terms.length === 1 ? terms : [];

function pairsOf(a: Map<string, [string[], string[]]>, b: Map<string, [string[], string[]]>): Pair[] {
  const pairs: Pair[] = [];
  for (const [symbol, lists] of a) {
    const others = b.get(symbol);
    if (others) for (const [i, list] of lists.entries()) pairs.push([list, others[i]!]);
  }
  return pairs;
}

/**
 * Chinese words by the synsets they are in: the share of a synset by how often its English words were counted with it,
 * and of an English word in it likewise.
 */
async function chinese(path: string, net: WordNet, words: Words, says: (term: string) => boolean): Promise<Scores> {
  const inSynset = new Map<string, Map<string, number>>();
  const plain = net.senses.filter(({ word }) => /^[a-z]+$/.test(word));
  const terms = await termsOf(plain.map(({ word }) => word));
  for (const [i, { synset, word, count, rank }] of plain.entries()) {
    const term = terms[i]![0]!;
    if (!says(term)) continue;
    const of = inSynset.get(synset) ?? new Map<string, number>();
    of.set(term, (of.get(term) ?? 0) + count + UNSEEN / rank);
    inSynset.set(synset, of);
    if (!words.has(term)) words.set(term, word);
  }
  const scores: Scores = new Map();
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [synset, kind, lemma] = line.split("\t");
    if (kind !== "cmn:lemma" || !lemma) continue;
    const of = inSynset.get(synset!.at(-1)! + synset!.slice(0, -2));
    for (const term of of ? pairsOfWord(lemma) : []) {
      if (!says(term)) continue;
      const all = scores.get(term) ?? new Map<string, number>();
      for (const [english, n] of of!) all.set(english, (all.get(english) ?? 0) + n);
      scores.set(term, all);
      words.set(term, term);
    }
  }
  for (const of of scores.values()) {
    const total = [...of.values()].reduce((a, b) => a + b);
    for (const [term, n] of of) of.set(term, n / total);
  }
  return scores;
}

/** The term of a word of two characters. */
const pairsOfWord = (word: string) => {
  const bare = word.replace(/[的地]$/, "");
  return UNSPACED.test(bare) && [...bare].length === 2 ? [bare] : [];
};
