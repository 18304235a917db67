/** A floor: the plainest embedders. Features of a text are hashed with signs into 1,024 numbers, compared by cosine. */
import type { Rankings } from "./ours.ts";
import type { Item } from "./sets.ts";
import type { Units } from "./units.ts";

/** The features of a text, and the weight of a number of occurrences. */
export interface Features {
  of(text: string): string[];
  weight(occurrences: number): number;
}

const DIM = 1024;
/** A letter of a script that is written without blanks counts as a word. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}_]+/gu;
const RUN = /[\p{L}\p{N}_]+/gu;
const GRAMS = [3, 4, 5];

/** Words of lower case, as often as they occur. */
export const WORDS: Features = {
  of: (text) => text.toLowerCase().match(WORD) ?? [],
  weight: (occurrences) => occurrences,
};

/** Words and their character 3- to 5-grams, damped: close to the published column of plain hashing. */
export const NGRAMS: Features = {
  of: (text) => (text.toLowerCase().match(RUN) ?? []).flatMap((word) => [word, ...gramsOf(`<${word}>`)]),
  weight: (occurrences) => 1 + Math.log(occurrences),
};

/** A unit vector, or zeros where there is no feature. */
export function hashed(text: string, features: Features): Float32Array {
  const counts = new Map<string, number>();
  for (const feature of features.of(text)) counts.set(feature, (counts.get(feature) ?? 0) + 1);
  const vector = new Float32Array(DIM);
  for (const [feature, occurrences] of counts) {
    const hash = Bun.hash.xxHash32(feature);
    // The lowest bit is the sign; the place comes from the others.
    vector[(hash >>> 1) % DIM]! += (hash & 1 ? 1 : -1) * features.weight(occurrences);
  }
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((number) => number / length) : vector;
}

/** Units by cosine, ties in their order. */
export function askHashing(units: Units, queries: readonly Item[], features: Features): Rankings {
  const rows = units.rows.map(({ id, text, group }) => ({ id, group, vector: hashed(text, features) }));
  return queries.map(({ text, group }) => {
    const query = hashed(text, features);
    const places = Int32Array.from([...query.keys()].filter((place) => query[place] !== 0));
    const best = rows
      .filter((row) => group === undefined || row.group === group)
      .map(({ id, vector }) => ({ id, score: product(query, vector, places) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, units.depth);
    return units.toDocuments(best.map(({ id }) => id));
  });
}

/** The inner product over the places where `a` is not zero: a query fills few. */
function product(a: Float32Array, b: Float32Array, places: Int32Array): number {
  let sum = 0;
  for (const place of places) sum += a[place]! * b[place]!;
  return sum;
}

/** Each has a prefix, so that no gram equals a word. */
function gramsOf(word: string): string[] {
  return GRAMS.flatMap((n) =>
    Array.from({ length: Math.max(0, word.length - n + 1) }, (_, i) => `#${word.slice(i, i + n)}`),
  );
}
