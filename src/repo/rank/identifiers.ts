/** Which words of a question are names in code: searched for among definitions, as they are written. */
import { languageOf } from "../chunks/language.ts";

/** Names of a question that are searched for at most: a whole file may be pasted as one. */
const NAMES_MAX = 32;
/** Longer words are not names: a label has at most 256 bytes. */
const NAME_BYTES_MAX = 256;
const NAME_UNITS_MAX = 128;

const LETTER = String.raw`[\p{L}\p{N}\p{M}_$]`;
/** A name of bounded length, matched from its beginning only: the search stays linear in one word of 64 KB. */
const NAME = `(?<!${LETTER}|${LETTER}-|--)(${LETTER}{1,${NAME_UNITS_MAX}})(?!${LETTER})`;
/** A word with what qualifies it: `Foo::bar`, `foo.bar`, `Foo#bar`, `foo->bar`, `bar()`. */
const WORD = new RegExp(String.raw`${LETTER}+(?:(?:::|->|[.#])${LETTER}+)*(?:\(\))?`, "gu");
const WHOLE_WORD = new RegExp(`^${WORD.source}$`, "u");
const QUALIFIER = /::|->|[.#]/;
/** A mark, a capital after a small letter, an acronym before a word, a digit after a letter. */
const WRITTEN_AS_NAME = /[_$]|\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}|\p{L}\p{N}/u;
/** From its first character to its last: control characters are in no name. */
const IS_NAME = /^[\p{L}_$]\P{Cc}+$/u;
/** A capital says something where no sentence, item or quotation begins. */
const CAPITALISED = /^\p{Lu}\p{Ll}/u;
const INSIDE_SENTENCE = /[\p{L}\p{N},;)\]`][ \t]+$/u;
const QUOTED = /`([^`\n]+)`/g;
/** What is asked about where something is defined, whatever it is written like. */
const ASKED_FOR = new RegExp(
  [
    String.raw`${NAME}["'\x60]?\s+(?:is\s+|are\s+|was\s+|gets?\s+)?(?:defined|declared|implemented|definition|declaration|implementation)\b`,
    String.raw`\b(?:defines?|declares?|implements?|(?:definition|declaration|implementation|signature)s?\s+of)\s+(?:the\s+)?["'\x60]?${NAME}`,
    String.raw`\b(?:class|struct|interface|trait|enum|function|func|fn|def|method|macro|constant|const|type)\s+["'\x60]?${NAME}`,
    String.raw`\b(?:the|an?|in|of)\s+["'\x60]?${NAME}["'\x60]?\s+(?:class|struct|interface|trait|enum|function|method|macro|constant)\b`,
  ].join("|"),
  "gu",
);
const COMMON = new Set(
  (
    "a an and any are as at be been by can do does each every for from get gets has have how if in into is it its not of " +
    "on or one other our that the their them then there these this those to use used uses using was we were what when " +
    "where which who why will with you your new old same first last base abstract static public private main helper " +
    "type class function method struct interface enum trait macro constant name names definition " +
    "flag option setting argument parameter variable command value"
  ).split(" "),
);

/**
 * The names in a question, each once, in their order: words written like one, all parts of qualified words, what stands
 * in backquotes, words with a capital inside of a sentence, what is asked about where it is defined, and the one word
 * that a question may be. Names of files do not count.
 */
export function namesIn(question: string): string[] {
  const found: [number, string][] = [];
  const alone = /^["'`]?(\S+?)(?:\(\))?["'`]?([?!])?$/.exec(question.trim());
  if (alone) {
    const [, word, mark] = alone as unknown as [string, string, string | undefined];
    if (isFile(word)) return [];
    // As written too: Lisp and shells have names with a hyphen, Ruby with a mark at the end.
    found.push([0, word], [0, word + (mark ?? "")], ...(word.match(WORD) ?? []).flatMap(parts).map(at(0)));
    return distinct(found);
  }
  const quoted = [...question.matchAll(QUOTED)].map((m) => ({ from: m.index, to: m.index + m[0].length }));
  let inQuote = 0;
  for (const m of question.matchAll(WORD)) {
    const word = m[0];
    if (isFile(word)) continue;
    while (inQuote < quoted.length && quoted[inQuote]!.to <= m.index) inQuote++;
    const isQuoted = inQuote < quoted.length && quoted[inQuote]!.from < m.index;
    const before = question.slice(Math.max(0, m.index - 3), m.index);
    const isName =
      isQuoted ||
      word.endsWith("()") ||
      QUALIFIER.test(word) ||
      (CAPITALISED.test(word) && INSIDE_SENTENCE.test(before)) ||
      WRITTEN_AS_NAME.test(word);
    if (isName) found.push(...parts(word).map(at(m.index)));
  }
  for (const m of question.matchAll(ASKED_FOR)) {
    const word = m.slice(1).find((group) => group !== undefined)!;
    if (!COMMON.has(word.toLowerCase())) found.push([m.index, word]);
  }
  return distinct(found.sort((a, b) => a[0] - b[0]));
}

/** Words about a name, "where is X defined" among them, and words that each name may take: `Foo::bar`, `foo_bar`. */
const WORDS_ABOUT = 3;
const WORDS_OF_NAME = 3;
const WORDS = /[\p{L}\p{N}\p{M}_]+/gu;

/** Whether a question is about the names in it and hardly anything else. */
export function asksForNames(question: string, names: readonly string[]): boolean {
  const most = WORDS_ABOUT + WORDS_OF_NAME * names.length;
  if (names.length === 0) return false;
  let words = 0;
  for (const _ of question.matchAll(WORDS)) if (++words >= most) return false;
  return true;
}

const at =
  (index: number) =>
  (name: string): [number, string] => [index, name];

/** The last part of a qualified name first. */
function parts(word: string): string[] {
  return word.replace(/\(\)$/, "").split(QUALIFIER).reverse();
}

/** Whether a word is one name or a qualified one. */
export function isQualified(word: string): boolean {
  return WHOLE_WORD.test(word);
}

function isFile(word: string): boolean {
  return word.includes("/") || (/[^.]\.\w+$/.test(word) && languageOf(word) !== "text");
}

function distinct(found: readonly [number, string][]): string[] {
  const names = new Set<string>();
  for (const [, name] of found) {
    if (names.size === NAMES_MAX) break;
    if (Buffer.byteLength(name) <= NAME_BYTES_MAX && IS_NAME.test(name)) names.add(name);
  }
  return [...names];
}
