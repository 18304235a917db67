/** Sentences about how the words of a query were searched for. */
import type { SearchAnswer } from "../store/collection.ts";

/** Replaced words that a notice names. */
const NAMED_MOST = 4;

/**
 * Which words were searched as which, or that the rows have none of them; undefined where at least one word was searched
 * for as it is and no other was replaced.
 * @param similar whether rows are ranked by similarity as well
 */
export function wordsNotice(
  name: string,
  { words, known, replaced, rows }: Pick<SearchAnswer, "words" | "known" | "replaced" | "rows">,
  similar: boolean,
): string | undefined {
  if (words > 0 && known === 0) {
    const none = `none of the query's words is in '${name}'`;
    if (!similar) return none;
    return rows.length > 0 ? `${none}: the answer is by similarity alone` : undefined;
  }
  if (replaced.length === 0) return undefined;
  const named = replaced.slice(0, NAMED_MOST).map(({ word, partners }, i) => {
    const all = partners.map(quoted);
    const partner = all.length === 1 ? all[0] : `${all.slice(0, -1).join(", ")} or ${all.at(-1)}`;
    return `${quoted(word)} ${i === 0 ? "was searched as" : "as"} ${partner}`;
  });
  const more = replaced.length - named.length;
  return `${named.join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

/** Several notices as one. */
export function joined(...notices: (string | undefined)[]): string | undefined {
  const all = notices.filter((notice) => notice !== undefined);
  return all.length === 0 ? undefined : all.join("; ");
}

/** Without characters that only direct how others are shown. */
function quoted(word: string): string {
  return `'${word.replaceAll(/\p{Cf}/gu, "")}'`;
}
