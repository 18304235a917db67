/** SQLite's FTS5 with its default tokenizer, unicode61, and queries that match where any word does. */

/** What the tokenizer keeps of a text: letters and digits with their marks. */
const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;

/** A query in FTS5's language: its words quoted, so that none is an operator, and OR between them. */
export function anyWord(query: string): string {
  return [...query.matchAll(WORD)].map(([word]) => `"${word}"`).join(" OR ");
}
