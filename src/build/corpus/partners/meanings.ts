/** Terms of a like meaning: what WordNet says of its words, ordered by what its definitions show. */
import type { Entry } from "../../tables/partners-table.ts";
import { LEVELS, type Level } from "../../tables/prior-table.ts";
import { likeness, nearest, type Vectors, vectorsOf } from "./glosses.ts";
import { termsOf } from "./terms.ts";
import type { Synset, WordNet } from "./wordnet.ts";

/** The commonest terms get an entry: with 6,000 one of twenty questions fewer was answered, 14,000 were no better. */
const HEADS = 9000;
/** Partners of a head, besides its own irregular forms. */
const PARTNERS = 4;
/** With the forms. */
const WITH_FORMS_MOST = 8;
const DIM = 100;

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
/** A meaning that was never counted, against one that was counted once. */
const UNSEEN = 0.5;
/** A partner that mostly means something else counts less: the share of the meaning to this power. */
const DOMINANCE = 0.5;
/** What is said of the partner's meanings with the head counts as well: "delete" is mostly to remove, and "remove" seldom to delete. */
const REVERSE = 0.5;
/** What a level below the rarest one of prior.tsv adds to a count: WordNet's texts are older than computers. */
const LEVEL_COUNT = 3;
/** How much of a relation a cosine is worth, above the cosine of terms that have hardly anything in common. */
const COSINE = 0.5;
const COSINE_LEAST = 0.5;
/** Neighbours by cosine that are looked at, whatever their relations. */
const NEIGHBOURS = 10;

const PLAIN = /^[a-z]{2,}$/;
/** Words of English that WordNet has, mostly as other words than are meant, and that say too little in a question. */
const FUNCTION_WORDS =
  `a about above ad after again ago al all almost also always am an and another any are around as at
  away back be been before behind being below best better between both but by can cannot come could did do does done down
  each either else en er even ever every few for from further get give go had has have he hence her here him his how
  however i if in into is it its just la last least less let like little lot made make many may maybe me might mine more
  most much must my nay need neither never no non nor not now of off often oh ok on once one only onto or other our out
  over own per perhaps please quite rather really said same say self shall she should si since so some soon still such
  take than that the their them then there therefore these they thing this those though through thus till to together
  too toward two under until up upon us use used very want was way we well were what when where which while who whom
  whose why will with within without would yes yet you your`.split(/\s+/);

/** By term: its synsets, with how much of the term's use each has. */
type Shares = Map<string, Map<string, number>>;
type TermOf = (word: string) => string | undefined;

/** The table of other words. @param levels of prior.tsv */
export async function meanings(
  net: WordNet,
  irregular: readonly (readonly [string, string])[],
  levels: readonly Level[],
): Promise<Entry[]> {
  const termOf = await plainTerms(net, irregular);
  const { shares, counts, words } = sensesOf(net, termOf);
  for (const [term, level] of levels) {
    if (counts.has(term)) counts.set(term, counts.get(term)! + LEVEL_COUNT * (LEVELS - level));
  }
  const order = [...shares.keys()].sort((a, b) => counts.get(b)! - counts.get(a)! || (a < b ? -1 : 1));
  const heads = new Set(order.slice(0, HEADS));
  const relations = new Map([...heads].map((head) => [head, related(head, shares, net.synsets, termOf)]));
  const vectors = await glossVectors(net);
  const chosen = new Map<string, string[]>();
  for (const head of heads) {
    const candidates = new Set(relations.get(head)!.keys());
    for (const [other] of nearest(vectors, head, heads, NEIGHBOURS)) candidates.add(other);
    const scored = [...candidates]
      .filter((term) => counts.get(term)! > 0)
      .map((term) => {
        const relation = (relations.get(head)!.get(term) ?? 0) + REVERSE * (relations.get(term)?.get(head) ?? 0);
        const cosine = Math.max(0, likeness(vectors, head, term) - COSINE_LEAST);
        // Of terms alike in meaning the commoner one is likelier in a text.
        return { term, score: (relation + COSINE * cosine) * Math.log2(2 + counts.get(term)!) };
      });
    scored.sort((a, b) => b.score - a.score || (a.term < b.term ? -1 : 1));
    const best = scored.slice(0, PARTNERS).filter(({ score }) => score > 0);
    chosen.set(
      head,
      best.map(({ term }) => term),
    );
  }
  return entriesOf(withForms(chosen, words, irregular, termOf), words);
}

/** Of a word of one term of plain letters that says something: that term. */
async function plainTerms(net: WordNet, irregular: readonly (readonly [string, string])[]): Promise<TermOf> {
  const all = [...net.senses.map(({ word }) => word), ...irregular.flat(), ...FUNCTION_WORDS];
  const words = [...new Set(all)].filter((word) => PLAIN.test(word));
  const terms = await termsOf(words);
  const byWord = new Map(words.map((word, i) => [word, terms[i]![0]!]));
  const little = new Set(FUNCTION_WORDS.map((word) => byWord.get(word)));
  return (word) => {
    const term = byWord.get(word);
    return little.has(term) ? undefined : term;
  };
}

function sensesOf(net: WordNet, termOf: TermOf) {
  const shares: Shares = new Map();
  const counts = new Map<string, number>();
  const best = new Map<string, [word: string, weight: number]>();
  for (const { synset, word, count, rank } of net.senses) {
    const term = termOf(word);
    if (term === undefined) continue;
    const of = shares.get(term) ?? new Map<string, number>();
    of.set(synset, (of.get(synset) ?? 0) + count + UNSEEN / rank);
    shares.set(term, of);
    counts.set(term, (counts.get(term) ?? 0) + count);
    // Of words never counted the shortest stands for its term.
    const weight = count + 1 / (word.length * rank);
    if (weight > (best.get(term)?.[1] ?? 0)) best.set(term, [word, weight]);
  }
  for (const of of shares.values()) {
    const total = [...of.values()].reduce((a, b) => a + b);
    for (const [synset, n] of of) of.set(synset, n / total);
  }
  return { shares, counts, words: new Map([...best].map(([term, [word]]) => [term, word])) };
}

/** What the relations say of a head: partner to score. */
function related(head: string, shares: Shares, synsets: Map<string, Synset>, termOf: TermOf): Map<string, number> {
  const scores = new Map<string, number>();
  const add = (synset: string, words: readonly string[], weight: number) => {
    for (const term of words.map(termOf)) {
      const share = term === undefined ? undefined : shares.get(term)?.get(synset);
      if (share !== undefined && term !== head) {
        scores.set(term!, (scores.get(term!) ?? 0) + weight * share ** DOMINANCE);
      }
    }
  };
  for (const [name, share] of shares.get(head)!) {
    const synset = synsets.get(name)!;
    add(name, synset.words, share);
    for (const { kind, to, from, word } of synset.pointers) {
      const weight = RELATIONS[kind];
      if (weight === undefined || (from !== 0 && termOf(synset.words[from - 1]!) !== head)) continue;
      const { words } = synsets.get(to)!;
      add(to, word === 0 ? words : [words[word - 1]!], share * weight);
    }
  }
  return scores;
}

async function glossVectors({ synsets }: WordNet): Promise<Vectors> {
  const texts = [...synsets.values()].map(({ words, gloss }) => `${words.join(" ").replaceAll("_", " ")} ${gloss}`);
  return vectorsOf(await termsOf(texts), DIM);
}

/**
 * With the forms that the stemmer keeps apart ("bought", "children", "larger"): each stands behind its word wherever
 * that is a partner, is the first partner of its word, and has its word and that word's partners.
 */
function withForms(
  chosen: Map<string, string[]>,
  words: Map<string, string>,
  irregular: readonly (readonly [string, string])[],
  termOf: TermOf,
): Map<string, string[]> {
  const forms = new Map<string, string[]>();
  const taken = new Set<string>();
  for (const [form, word] of irregular) {
    const [term, base] = [termOf(form), termOf(word)];
    // A form that is a word of its own ("left", "found", "ground") is taken for that.
    if (term === undefined || base === undefined || !chosen.has(base) || chosen.has(term) || taken.has(term)) continue;
    taken.add(term);
    words.set(term, form);
    forms.set(base, [...(forms.get(base) ?? []), term]);
  }
  const result = new Map<string, string[]>();
  for (const [head, partners] of chosen) {
    const own = forms.get(head) ?? [];
    const others = partners.flatMap((partner) => [partner, ...(forms.get(partner) ?? [])]);
    for (const term of [head, ...own]) {
      const all = new Set([head, ...own, ...others]);
      all.delete(term);
      result.set(term, [...all].slice(0, WITH_FORMS_MOST));
    }
  }
  return result;
}

function entriesOf(chosen: Map<string, string[]>, words: Map<string, string>): Entry[] {
  const terms = new Set(
    [...chosen].filter(([, partners]) => partners.length > 0).flatMap(([term, partners]) => [term, ...partners]),
  );
  return [...terms].map((term) => ({ term, word: words.get(term)!, partners: chosen.get(term) ?? [] }));
}
