/**
 * Where the words of a question stand in a text: in any case, without accents, and in other forms of the word.
 *
 * The kernel's terms are not used: they have no positions, and every line of a text has to be tokenised. In a text of
 * 100 KB stems are found in 0.3 ms where they are rare and in 3 ms where they are everywhere; the terms of its lines
 * take 1.6 and 3.4 ms.
 */

/** A word of a question. */
export interface Term {
  /** Folded: what occurrences begin with. */
  stem: string;
  /** Whether it stands between characters that are not letters; not so in scripts that part no words. */
  isWord: boolean;
}

/** Terms of a question that are looked for; a longer one has enough of them. */
const TERMS_MAX = 48;
/** Occurrences of one term in one text that are looked at: what is so common says little. */
const OCCURRENCES_MAX = 4_096;
/** UTF-16 units of a word; what is longer is not a word. */
const WORD_UNITS_MAX = 64;

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts whose words stand side by side. */
const JOINED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const LETTER = /[\p{L}\p{N}\p{M}]/u;
/** Small Latin letters with accents, one UTF-16 unit each. */
const ACCENTED = /[\u00df-\u024f\u1e00-\u1eff]/;
const ACCENTED_RANGES = [
  [0xdf, 0x24f],
  [0x1e00, 0x1eff],
] as const;
/** The letters without them, by code; filled by the first text that has some. */
const PLAIN = new Map<number, number>();
const utf16 = new TextDecoder("utf-16le", { ignoreBOM: true });

/** Lower case without accents, of the same length in UTF-16 units, so that positions stay. */
export function fold(text: string): string {
  // The one letter whose lower case is longer.
  const lower = (text.includes("\u0130") ? text.replaceAll("\u0130", "i") : text).toLowerCase();
  if (!ACCENTED.test(lower)) return lower;
  if (PLAIN.size === 0) fillPlain();
  // As numbers: to replace each letter of 1 MB of French through a callback takes 70 ms, this 12.
  const units = new Uint16Array(lower.length);
  for (let i = 0; i < units.length; i++) {
    const unit = lower.charCodeAt(i);
    units[i] = unit < 0xc0 ? unit : (PLAIN.get(unit) ?? unit);
  }
  return utf16.decode(units);
}

function fillPlain(): void {
  for (const [first, last] of ACCENTED_RANGES) {
    for (let unit = first; unit <= last; unit++) {
      PLAIN.set(unit, String.fromCharCode(unit).normalize("NFD").charCodeAt(0));
    }
  }
}

/** The distinct terms of a question. */
export function termsOf(query: string): Term[] {
  const terms = new Map<string, Term>();
  for (const [word] of fold(query.normalize("NFC")).matchAll(WORD)) {
    if (terms.size >= TERMS_MAX) break;
    if (!JOINED.test(word)) add(terms, stem(word), true);
    else for (const pair of pairsOf(word)) add(terms, pair, false);
  }
  return [...terms.values()].slice(0, TERMS_MAX);
}

/** Where a word stands in a text, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

/** Where whole words of the question stand in a text: in order, none within another. */
export function wordSpans(text: string, terms: readonly Term[]): Span[] {
  const folded = fold(text);
  const ends = new Map<number, number>();
  for (const term of terms) {
    for (const start of occurrences(folded, term)) {
      const end = term.isWord ? wordEnd(text, start + term.stem.length) : start + term.stem.length;
      ends.set(start, Math.max(end, ends.get(start) ?? 0));
    }
  }
  const spans: Span[] = [];
  for (const [start, end] of [...ends].sort(([a], [b]) => a - b)) {
    const last = spans.at(-1)?.end ?? 0;
    if (end > last) spans.push({ start: Math.max(start, last), end });
  }
  return spans;
}

function wordEnd(text: string, from: number): number {
  const letters = /[\p{L}\p{N}\p{M}]*/uy;
  letters.lastIndex = from;
  return from + (letters.exec(text)?.[0].length ?? 0);
}

/** The positions of a term in a folded text, in order. */
export function occurrences(folded: string, { stem: wanted, isWord }: Term): number[] {
  const found: number[] = [];
  // The same few words come again and again.
  const forms = new Map<string, boolean>();
  const isForm = (word: string): boolean => {
    let known = forms.get(word);
    if (known === undefined) {
      known = stem(word) === wanted;
      forms.set(word, known);
    }
    return known;
  };
  for (let at = folded.indexOf(wanted); at >= 0; at = folded.indexOf(wanted, at + wanted.length)) {
    if (isWord && !(isWordStart(folded, at) && isForm(wordAt(folded, at)))) continue;
    found.push(at);
    if (found.length === OCCURRENCES_MAX) break;
  }
  return found;
}

/**
 * What forms of one word have in common, in English mostly; the first six characters of a word with other letters than
 * a to z, as the kernel has it. Always a beginning of the word. It errs towards too much in common: it chooses what of
 * a row is shown, and finds no row.
 */
export function stem(word: string): string {
  if (word.length < 4 || /[0-9]/.test(word)) return word;
  if (!/^[a-z]+$/.test(word)) return Array.from(word).slice(0, 6).join("");
  const singular = word.replace(/(?<=[^sui])s$/, "");
  const short = singular.replace(
    /(?<=^.{3,})(?:i?ed|ie|ations?|ions?|ings?|i?ers?|ors?|i?ly|ments?|able|ive|[ey])$/,
    "",
  );
  return short.replace(/(?<=^.{3,})[yie]$/, "").replace(/(?<=^..+)([b-df-hj-np-tv-z])\1$/, "$1");
}

function add(terms: Map<string, Term>, text: string, isWord: boolean): void {
  if (!terms.has(text)) terms.set(text, { stem: text, isWord });
}

/** Pairs of neighbours; a single character is itself. */
function pairsOf(word: string): string[] {
  const characters = Array.from(word);
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => characters[i]! + character);
}

function isWordStart(text: string, at: number): boolean {
  return at === 0 || !isLetter(text, at - 1) || JOINED.test(text.charAt(at - 1));
}

function wordAt(text: string, at: number): string {
  const most = Math.min(text.length, at + WORD_UNITS_MAX);
  let end = at;
  while (end < most && isLetter(text, end)) end++;
  return text.slice(at, end);
}

/** Whether there is a letter of folded text; half of a surrogate pair is not one. */
function isLetter(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
  return LETTER.test(text.charAt(at));
}
