/** What WordNet's relations say of two terms. */
import type { English } from "./heads.ts";
import type { WordNet } from "./wordnet.ts";

/** What a relation says of two words, by its sign in WordNet's files; others say nothing. */
const RELATIONS: Record<string, number> = {
  "+": 0.7, // a derivation
  "\\": 0.7, // an adjective of a noun, an adverb of an adjective
  $: 0.7, // verbs of one group
  "&": 0.6, // adjectives of like meaning
  "@": 0.5, // a hypernym
  "~": 0.35, // a hyponym
  "^": 0.3, // "see also"
  "=": 0.3, // what an adjective is a value of
};
const HYPERNYM = "@";
const HYPONYM = "~";
const ANTONYM = "!";
/** A partner that mostly means something else counts less: the share of the meaning to this power. */
const DOMINANCE = 0.5;
/**
 * A synset with this many below it ("property", "activity", "change") says nothing of them; with fewer it says the more
 * the fewer there are. At 1,000 the table was 6 % larger and no further question was answered.
 */
const BELOW_MAX = 100;

export interface Relations {
  /** What they say of a head: partner to score. */
  of: (head: string) => Map<string, number>;
  /** Terms that mean the opposite of a term. */
  opposites: Map<string, Set<string>>;
}

export function readRelations(net: WordNet, english: English): Relations {
  const below = new Map<string, number>();
  const specificity = (name: string) => {
    if (!below.has(name)) below.set(name, countBelow(net, name));
    return Math.max(0, 1 - Math.log(1 + below.get(name)!) / Math.log(BELOW_MAX));
  };
  return { of: (head) => related(net, english, specificity, head), opposites: oppositesOf(net, english) };
}

function countBelow({ synsets }: WordNet, name: string): number {
  const found = new Set<string>();
  const left = [name];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const { kind, to } of synsets.get(next)!.pointers) {
      if (kind !== HYPONYM || found.has(to)) continue;
      found.add(to);
      left.push(to);
    }
  }
  return found.size;
}

function related({ synsets }: WordNet, english: English, specificity: (name: string) => number, head: string) {
  const { termOf, shares } = english;
  const scores = new Map<string, number>();
  // Words with a capital are names ("Co" is cobalt), and have no term.
  const add = (synset: string, words: readonly string[], weight: number) => {
    for (const term of words.map(termOf)) {
      const share = term === undefined ? undefined : shares.get(term)?.get(synset);
      if (share !== undefined && term !== head) {
        scores.set(term!, (scores.get(term!) ?? 0) + weight * share ** DOMINANCE);
      }
    }
  };
  for (const [name, share] of shares.get(head)!) {
    const { words, pointers } = synsets.get(name)!;
    if (!words.some((word) => termOf(word) === head)) continue;
    add(name, words, share);
    for (const { kind, to, from, word } of pointers) {
      const value = RELATIONS[kind];
      if (value === undefined || (from !== 0 && termOf(words[from - 1]!) !== head)) continue;
      const part = kind === HYPERNYM ? specificity(to) : kind === HYPONYM ? specificity(name) : 1;
      const others = synsets.get(to)!.words;
      add(to, word === 0 ? others : [others[word - 1]!], share * value * part);
    }
  }
  return scores;
}

function oppositesOf({ synsets }: WordNet, { termOf }: English): Map<string, Set<string>> {
  const opposites = new Map<string, Set<string>>();
  for (const { words, pointers } of synsets.values()) {
    for (const { kind, to, from, word } of pointers) {
      const term = kind === ANTONYM ? termOf(words[from - 1]!) : undefined;
      const other = kind === ANTONYM ? termOf(synsets.get(to)!.words[word - 1]!) : undefined;
      if (term === undefined || other === undefined) continue;
      opposites.set(term, (opposites.get(term) ?? new Set()).add(other));
    }
  }
  return opposites;
}
