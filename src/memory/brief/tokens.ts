/**
 * How many tokens a text takes at most, without a tokenizer: what models have differs, and their tables are megabytes. The
 * numbers are not below those of three of them for prose in many languages, code, ids and emoji (test/memory/brief).
 */

/** Parts of a text that tokenizers do not join, by how many tokens they take. */
const PARTS = /[a-z]+|[A-Z]+|[\u0080-\u06ff]|[\u0700-\uffff]|[\u{10000}-\u{10ffff}]| +|\p{ASCII}/gu;
/** Letters of an English word that are one token: longer words are a few, and random letters one in two. */
const LETTERS = 3;

/** Tokens of a text, rather too many than too few. */
export function tokensOf(text: string): number {
  let tokens = 0;
  for (const [part] of text.matchAll(PARTS)) tokens += costOf(part);
  return tokens;
}

function costOf(part: string): number {
  const code = part.codePointAt(0)!;
  if (code > 0xffff) return 4;
  if (code >= 0x700) return 2;
  // A space belongs to the word after it.
  if (code === 0x20) return part.length > 1 ? 1 : 0;
  return Math.ceil(part.length / LETTERS);
}
