/** Terms of a like meaning: what WordNet says of its words and its definitions confirm. */
import type { Level } from "../../tables/prior-table.ts";
import { LEVELS } from "../../tables/prior-table.ts";
import { likeness, nearest, type Vectors, vectorsOf } from "./glosses.ts";
import type { English } from "./heads.ts";
import { readRelations } from "./relations.ts";
import { termsOf } from "./terms.ts";
import type { WordNet } from "./wordnet.ts";

/** Partners of a head, besides irregular forms. */
const PARTNERS = 4;
const DIM = 100;
/** What is said of the partner's meanings with the head counts as well: "delete" is mostly to remove, and "remove" seldom to delete. */
const REVERSE = 0.5;
/** A cosine counts as much as a relation, above the cosine of terms that have little in common. */
const COSINE_LEAST = 0.35;
/** Neighbours by cosine that are looked at, whatever their relations. */
const NEIGHBOURS = 10;

/** Two terms that mostly mean the same are partners, whatever their definitions share: what each says of the other. */
const SAME = { there: 0.5, back: 0.4 };
/**
 * Others have to be related and have to occur in like definitions: "deliver" is to speak, and "retention" is memory, in a
 * few texts only. Least relation and least cosine: one of these pairs.
 */
const CONFIRMED = [
  { relation: 0.01, cosine: 0.55 },
  { relation: 0.12, cosine: 0.2 },
];
/** The least cosine of two terms without a relation, each of which is among the other one's neighbours. */
const NEIGHBOUR_COSINE = 0.85;
/** A term at or below this level of prior.tsv is in every second text. As a partner it finds any of them. */
const COMMON_LEVEL = 7;
const COMMON = { relation: 0.05, cosine: 0.55 };
/** The least relation to a term that prior.tsv does not have: "badger" for "bug" is nothing that a note says. */
const RARE_RELATION = 0.3;

interface Candidate {
  term: string;
  score: number;
}

/** Partners of each head, best first. @param levels of prior.tsv */
export async function meanings(
  net: WordNet,
  english: English,
  levels: readonly Level[],
): Promise<Map<string, string[]>> {
  const { heads, counts } = english;
  const level = new Map(levels);
  const relations = readRelations(net, english);
  const related = new Map([...heads].map((head) => [head, relations.of(head)]));
  const vectors = await glossVectors(net);
  const near = new Map([...heads].map((head) => [head, new Set(neighbours(vectors, head, heads))]));
  const judge = (head: string, term: string): Candidate | undefined => {
    const there = related.get(head)!.get(term) ?? 0;
    const back = related.get(term)?.get(head) ?? 0;
    const relation = there + REVERSE * back;
    const cosine = likeness(vectors, head, term);
    const meets = (least: { relation: number; cosine: number }) => relation >= least.relation && cosine >= least.cosine;
    if (!(there >= SAME.there && back >= SAME.back)) {
      const mutual = near.get(head)!.has(term) && near.get(term)?.has(head);
      if (!CONFIRMED.some(meets) && !(mutual && cosine >= NEIGHBOUR_COSINE)) return undefined;
      if ((level.get(term) ?? LEVELS) <= COMMON_LEVEL && !meets(COMMON)) return undefined;
      if (!level.has(term) && relation < RARE_RELATION) return undefined;
    }
    // Of terms alike in meaning the commoner one is likelier in a text.
    return { term, score: (relation + Math.max(0, cosine - COSINE_LEAST)) * Math.log2(2 + counts.get(term)!) };
  };
  const partners = (head: string) => {
    const opposites = relations.opposites.get(head) ?? new Set();
    const found = [
      ...near
        .get(head)!
        .union(new Set(related.get(head)!.keys()))
        .difference(opposites),
    ]
      .filter((term) => counts.get(term)! > 0)
      .flatMap((term) => judge(head, term) ?? []);
    found.sort((a, b) => b.score - a.score || (a.term < b.term ? -1 : 1));
    return found.slice(0, PARTNERS).map(({ term }) => term);
  };
  return new Map([...heads].map((head) => [head, partners(head)]));
}

const neighbours = (vectors: Vectors, head: string, heads: ReadonlySet<string>) =>
  nearest(vectors, head, heads, NEIGHBOURS).map(([term]) => term);

async function glossVectors({ synsets }: WordNet): Promise<Vectors> {
  const texts = [...synsets.values()].map(({ words, gloss }) => `${words.join(" ").replaceAll("_", " ")} ${gloss}`);
  return vectorsOf(await termsOf(texts), DIM);
}
