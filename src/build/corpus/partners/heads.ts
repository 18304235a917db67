/** Which terms of English are common, and how much of the use of each is which of WordNet's meanings. */
import { LEVELS, type Level } from "../../tables/prior-table.ts";
import { termsOf } from "./terms.ts";
import type { Form, WordNet } from "./wordnet.ts";

/** The commonest terms are heads: with 6,000 one of twenty questions fewer was answered, 12,000 were no better. */
const HEADS = 9000;
/** A meaning that was never counted, against one that was counted once. */
const UNSEEN = 0.5;
/** What a level below the rarest one of prior.tsv adds to a count: WordNet's texts are older than computers. */
const LEVEL_COUNT = 3;

const PLAIN = /^[a-z]{2,}$/;
/** Words of English that WordNet has, mostly as other words than are meant, and that say too little in a question. */
const FUNCTION_WORDS =
  `a about above ad after again ago ain al all almost also always am an and another any are aren around as at
  away back be been before behind being below best better between both but by can cannot come could couldn did didn do
  does doesn don done down each either else en er even ever every few for from further get give go had has hasn have
  haven he hence her here him his how however i if in into is isn it its just la last least less let like little ll lot
  made make many may maybe me might mine more most much must my nay need neither never no non nor not now of off often
  oh ok on once one only onto or other our out over own per perhaps please quite rather re really said same say self
  shall she should shouldn si since so some soon still such take than that the their them then there therefore these
  they thing this those though through thus till to together too toward two under until up upon us use used ve very want
  was wasn way we well were weren what when where which while who whom whose why will with within without won would
  wouldn yes yet you your`.split(/\s+/);

/** By term: its synsets, with how much of the term's use each has. */
export type Shares = Map<string, Map<string, number>>;
/** The term of a word that is one term of plain letters and says something. */
export type TermOf = (word: string) => string | undefined;

export interface English {
  termOf: TermOf;
  shares: Shares;
  counts: Map<string, number>;
  /** The word that stands for a term. */
  words: Map<string, string>;
  heads: Set<string>;
}

/** @param levels of prior.tsv */
export async function readEnglish(
  net: WordNet,
  irregular: readonly Form[],
  levels: readonly Level[],
): Promise<English> {
  const termOf = await plainTerms(net, irregular);
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
  for (const [term, level] of levels) {
    if (counts.has(term)) counts.set(term, counts.get(term)! + LEVEL_COUNT * (LEVELS - level));
  }
  const order = [...shares.keys()].sort((a, b) => counts.get(b)! - counts.get(a)! || (a < b ? -1 : 1));
  const words = new Map([...best].map(([term, [word]]) => [term, word]));
  return { termOf, shares, counts, words, heads: new Set(order.slice(0, HEADS)) };
}

async function plainTerms(net: WordNet, irregular: readonly Form[]): Promise<TermOf> {
  const all = [
    ...net.senses.map(({ word }) => word),
    ...irregular.flatMap(({ form, word }) => [form, word]),
    ...FUNCTION_WORDS,
  ];
  const words = [...new Set(all)].filter((word) => PLAIN.test(word));
  const terms = await termsOf(words);
  const byWord = new Map(words.map((word, i) => [word, terms[i]![0]!]));
  const little = new Set(FUNCTION_WORDS.map((word) => byWord.get(word)));
  return (word) => {
    const term = byWord.get(word);
    return little.has(term) ? undefined : term;
  };
}
