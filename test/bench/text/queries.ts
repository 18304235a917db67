/** Queries about passages. */
import { random } from "../../random.ts";

/** Kinds of queries. */
export const KINDS = ["1 word", "6 words", "20 words", "6 by frequency"] as const;
export type Kind = (typeof KINDS)[number];
export type Queries = Record<Kind, string[]>;

const EACH = 200;
const SEED = 22;
const WORD = /[\p{L}\p{N}]+/gu;

/**
 * 200 of each kind. Runs of consecutive words hold stop words as real queries do; words drawn by frequency come from
 * different passages.
 *
 * @throws Error where passages have too few words to draw from
 */
export function queriesAbout(passages: readonly string[], each = EACH): Queries {
  const next = random(SEED);
  const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)]!;
  const wordsOf = (least: number): string[] => {
    for (let tries = 0; tries < 1000; tries++) {
      const words = pick(passages).match(WORD) ?? [];
      if (words.length >= least) return words;
    }
    throw new Error(`passages have fewer than ${least} words`);
  };
  const run = (length: number) => {
    const words = wordsOf(length);
    const from = Math.floor(next() * (words.length - length + 1));
    return words.slice(from, from + length).join(" ");
  };
  const drawn = (length: number) => Array.from({ length }, () => pick(wordsOf(1))).join(" ");
  const many = (make: () => string) => Array.from({ length: each }, make);
  return {
    "1 word": many(() => run(1)),
    "6 words": many(() => run(6)),
    "20 words": many(() => run(20)),
    "6 by frequency": many(() => drawn(6)),
  };
}
