/** What texts are worth for a question by the terms in them. */

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
