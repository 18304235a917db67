/**
 * How many tokens a text takes at most, without a tokenizer: models have different ones, and their tables are megabytes.
 * One token for each 3.5 bytes is right for English prose only: JSON has 2, identifiers 1.4. The numbers below are above
 * those of three tokenizers for prose in 30 languages, code, identifiers and emoji (test/memory/brief/tokens.test.ts).
 */

/** Letters and digits that belong together; anything else character by character. A space belongs to what follows it. */
const PARTS = / ?([A-Za-z0-9]+)| ?[!-~]|[^A-Za-z0-9]/gu;
/** A word as a language writes it, not as a key is made. */
const WORD = /^[A-Z]?[a-z]{0,23}$/;
const PIECES = /[A-Z]?[a-z]+|[A-Z]+|\d+/g;
/** Words of so many letters are one token, longer ones are one for each `LETTERS` letters. */
const SHORT_WORD = 4;
const LETTERS = 2.4;
/** Characters outside of ASCII, by their last code point: what each takes. A byte-level tokenizer has one a byte at most. */
const COSTS = [
  [0x3ff, 2],
  [0x45f, 1], // Cyrillic
  [0x7ff, 2],
  [0x8ff, 3],
  [0x97f, 2], // Devanagari
  [0xdff, 3],
  [0xe7f, 2], // Thai
  [0x1dff, 3],
  [0x2bff, 2], // Latin letters with several accents, punctuation, symbols
  [0x2fff, 3],
  [0x30ff, 2], // Kana
  [0x4dff, 3],
  [0x9fff, 2], // Chinese characters
  [0xabff, 3],
  [0xd7ff, 2], // Hangul
  [0xffff, 3],
] as const;

/** Tokens of a text, rather too many than too few. */
export function tokensOf(text: string): number {
  let tokens = 0;
  for (const [part, letters] of text.matchAll(PARTS))
    tokens += letters === undefined ? charCost(part) : keyCost(letters);
  return tokens;
}

function charCost(char: string): number {
  const code = char.codePointAt(0)!;
  return code <= 0x7f ? 1 : (COSTS.find(([last]) => code <= last)?.[1] ?? 4);
}

function keyCost(letters: string): number {
  if (WORD.test(letters)) return wordCost(letters);
  if (/^(?:[A-Z]+|\d+)$/.test(letters)) return runCost(letters);
  const cost = (piece: string) => {
    if (/^\d/.test(piece)) return runCost(piece);
    // A part of a key that is long enough to be a word counts as one.
    return piece.length > 3 && WORD.test(piece) ? wordCost(piece) : piece.length;
  };
  return letters.match(PIECES)!.reduce((sum, piece) => sum + cost(piece), 0);
}

/** Of capital letters or digits. */
function runCost({ length }: string): number {
  return Math.ceil((length * 5) / 8);
}

function wordCost({ length }: string): number {
  return length <= SHORT_WORD ? 1 : Math.ceil(length / LETTERS);
}
