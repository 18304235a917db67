/** Partners with the forms of English words that the stemmer keeps apart: "bought", "children", "larger". */
import type { Level } from "../../tables/prior-table.ts";
import type { English } from "./heads.ts";
import type { Form, WordNet } from "./wordnet.ts";

/** Partners of a term, with the forms. */
const WITH_FORMS_MAX = 8;
/** Least share of a word's term that its adjective has where the word has degrees: no "mainest", no "busier" of "business". */
const ADJECTIVE_LEAST = 0.5;

/**
 * A verb's or noun's form is the first partner of its word and follows it wherever that is a partner. All forms have
 * their word and its partners; "larger" has "large", and nothing has "larger".
 */
export function withForms(
  chosen: ReadonlyMap<string, readonly string[]>,
  net: WordNet,
  { termOf, shares, words }: English,
  irregular: readonly Form[],
  levels: readonly Level[],
): Map<string, string[]> {
  const written = writtenTerms(net, levels, termOf);
  const adjectiveShare = (word: string, term: string) => {
    const isAdjective = (name: string) => name.startsWith("a") && net.synsets.get(name)!.words.includes(word);
    return [...(shares.get(term) ?? [])].reduce((sum, [name, share]) => sum + (isAdjective(name) ? share : 0), 0);
  };
  const forms = new Map<string, string[]>();
  const degrees = new Map<string, string>();
  const taken = new Set<string>();
  for (const { form, word, isDegree } of irregular) {
    const [term, base] = [termOf(form), termOf(word)];
    if (term === undefined || base === undefined || !chosen.has(base)) continue;
    // A form that is a word of its own ("left", "found", "ground") is taken for that.
    if (chosen.has(term) || taken.has(term) || !written.has(term)) continue;
    if (isDegree && adjectiveShare(word, base) < ADJECTIVE_LEAST) continue;
    taken.add(term);
    words.set(term, form);
    if (isDegree) degrees.set(term, base);
    else forms.set(base, [...(forms.get(base) ?? []), term]);
  }
  const result = new Map<string, string[]>();
  const set = (term: string, all: readonly string[]) => {
    const others = new Set(all.filter((other) => other !== term));
    result.set(term, [...others].slice(0, Math.max(WITH_FORMS_MAX, chosen.get(term)?.length ?? 0)));
  };
  for (const [head, partners] of chosen) {
    const own = [head, ...(forms.get(head) ?? [])];
    const others = partners.flatMap((partner) => [partner, ...(forms.get(partner) ?? [])]);
    for (const term of own) set(term, [...own, ...others]);
  }
  for (const [term, base] of degrees) set(term, [base, ...chosen.get(base)!]);
  return result;
}

/** Terms that somebody writes: those of prior.tsv and of WordNet's definitions and examples. */
function writtenTerms(
  { synsets }: WordNet,
  levels: readonly Level[],
  termOf: English["termOf"],
): Set<string | undefined> {
  const words = new Set<string>();
  for (const { gloss } of synsets.values())
    for (const word of gloss.toLowerCase().match(/[a-z]+/g) ?? []) words.add(word);
  return new Set([...levels.map(([term]) => term), ...[...words].map(termOf)]);
}
