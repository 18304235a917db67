/** What texts are worth for a question by the terms and the literals in them. */
import type { Literal } from "../rank/literals.ts";

/** A literal in a line is worth so many times the rarest word. */
const LITERAL_WORTH = 2;

/**
 * The sum of the weights of the distinct terms in each text.
 * @param weights what each term of the question weighs, by its hash
 * @param termsOf the hashes of the terms in each text
 */
export function termValues(
  weights: ReadonlyMap<number, number>,
  termsOf: (texts: readonly string[]) => readonly Uint32Array[],
): (texts: readonly string[]) => number[] {
  return (texts) => {
    if (weights.size === 0) return texts.map(() => 0);
    return termsOf(texts).map((terms) => {
      let value = 0;
      const seen: number[] = [];
      for (const term of terms) {
        const weight = weights.get(term);
        if (weight === undefined || seen.includes(term)) continue;
        seen.push(term);
        value += weight;
      }
      return value;
    });
  };
}

/**
 * The same with what lines are worth for the literals in them: each as much as the rarest two words.
 * @param valuesOf what texts are worth by their terms
 * @param most what the rarest word is worth
 */
export function literalValues(
  literals: readonly Literal[],
  valuesOf: (texts: readonly string[]) => number[],
  most: number,
): (texts: readonly string[]) => number[] {
  if (literals.length === 0) return valuesOf;
  return (texts) =>
    valuesOf(texts).map((value, i) => {
      const found = literals.filter((literal) => literal.placesIn(texts[i]!, 1).length > 0);
      return value + found.length * LITERAL_WORTH * most;
    });
}
