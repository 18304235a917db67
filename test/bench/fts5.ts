/** SQLite's FTS5 as it comes: its default tokenizer unicode61, and questions that any word of theirs answers. */

/** What the tokenizer keeps of a text: letters and digits with their marks. */
const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;

/** A question as FTS5's query language has it: its words quoted, so that none is an operator, and OR between them. */
export function anyWord(question: string): string {
  return [...question.matchAll(WORD)].map(([word]) => `"${word}"`).join(" OR ");
}
