/** Partners that were written by hand: groups.txt. */
import { termsOf } from "./terms.ts";

/** What a line says of one word. */
interface Said {
  word: string;
  partners: string[];
}

/**
 * The words of a file, one group a line:
 *
 *   a b c      each is a partner of the others
 *   a b: c d   as above; a and b also have c and d, and each of these has a and b: a database is PostgreSQL, MySQL is not
 *   a b > c d  a and b have c and d as partners
 *   a          has no partner
 *
 * Partners of a word in several lines are taken in order. @throws Error where a line is something else
 */
export function readGroups(text: string): Said[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .flatMap((line) => {
      const [, first, sign, second] = /^([a-z0-9 ]+?)(?:(:| >) ([a-z0-9 ]+))?$/.exec(line) ?? [];
      const [words, others] = [wordsOf(first), wordsOf(second)];
      if (words.length === 0 || new Set([...words, ...others]).size < words.length + others.length)
        throw new Error(`not a group: ${line}`);
      const among = sign === " >" ? others : [...words, ...others];
      const back = sign === ":" ? others : [];
      return [
        ...words.map((word) => ({ word, partners: among.filter((other) => other !== word) })),
        ...back.map((word) => ({ word, partners: words })),
      ];
    });
}

const wordsOf = (list = "") => list.split(" ").filter(Boolean);

/** The same by terms. */
export interface TermGroups {
  /** By term of a word that has a line. */
  partners: Map<string, string[]>;
  /** The word that stands for a term. */
  words: Map<string, string>;
}

export async function termGroups(text: string): Promise<TermGroups> {
  const groups = readGroups(text);
  const all = [...new Set(groups.flatMap(({ word, partners }) => [word, ...partners]))];
  const terms = await termsOf(all);
  // The last term is the whole word, after its pieces.
  const termOf = new Map(all.map((word, i) => [word, terms[i]!.at(-1)!]));
  const partners = new Map<string, string[]>();
  for (const { word, partners: others } of groups) {
    const term = termOf.get(word)!;
    const more = new Set([...(partners.get(term) ?? []), ...others.map((other) => termOf.get(other)!)]);
    more.delete(term);
    partners.set(term, [...more]);
  }
  const words = new Map([...termOf].reverse().map(([word, term]) => [term, word]));
  return { partners, words };
}
