/** Texts from a fixed seed: words drawn by Zipf's law from a made-up vocabulary, so that no data set is shipped. */

import { random } from "../random.ts";

const SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu wa ze al en ir os un ter ing tion ment".split(" ");

/** `count` words of one to four syllables, the commonest first. */
function vocabulary(count: number, next: () => number): string[] {
  const words = new Set<string>();
  while (words.size < count) {
    const length = 1 + Math.floor(next() * 4);
    words.add(Array.from({ length }, () => SYLLABLES[Math.floor(next() * SYLLABLES.length)]).join(""));
  }
  return [...words];
}

/** `count` texts of about `words` words each. */
export function makeTexts(count: number, words: number, seed: number): string[] {
  const next = random(seed);
  const all = vocabulary(20_000, next);
  const word = () => all[Math.floor(all.length ** next()) - 1] ?? all[0];
  return Array.from({ length: count }, () =>
    Array.from({ length: Math.round(words * (0.75 + next() / 2)) }, word).join(" "),
  );
}
