/**
 * What a language's definitions look like: rules for single lines, and what must be skipped or stripped before them.
 *
 * Every pattern is anchored, sees one line cut at {@link LINE_MAX}, and has no unbounded quantifier within or directly
 * beside another that takes the same characters: a line costs a bounded number of steps.
 */

/** Characters of a line that patterns see, from its first that is not blank: minified code has lines of megabytes. */
export const LINE_MAX = 320;

/** A name in most languages: letters of any script, digits, `_` and `$`. */
export const ID = "[A-Za-z_$\\u0080-\\uffff][\\w$\\u0080-\\uffff]*";

/** One line as rules see it. */
export interface Line {
  /** The whole text. */
  text: string;
  /** Where the line begins: its first character that is not blank. */
  first: number;
  /** Its end, before the line end. */
  end: number;
  /** Blanks before it, tabs and spaces alike. */
  indent: number;
  /** From `first`, cut at {@link LINE_MAX}. */
  head: string;
}

export interface Rule {
  /** Matched at the line's head; the last group that took part is the name, or a list of names. */
  pattern: RegExp;
  /** Whether the rule is for lines that begin in the first column, or for the others only. */
  at?: "top" | "inner";
  /** The group is a list: each name in it counts. */
  list?: true;
  /** No word before the name says that it is defined: reserved words do not count. */
  bare?: true;
  /** What must follow the match, which ends at `at` in the text. */
  follows?: (line: Line, at: number) => boolean;
}

/** Lines between an opening and a closing one, which follow rules of their own: the members of a Go `const (`. */
export interface Block {
  open: RegExp;
  /** What the closing line begins with, in the first column. */
  close: string;
  rules: readonly Rule[];
}

export interface Grammar {
  rules: readonly Rule[];
  /** A definition with a list of parameters; its name, where the line begins one. */
  signature?: (line: Line, seen: ReadonlySet<string>) => string | undefined;
  /** Openings and ends of comments, over lines, that begin a line. */
  comments?: readonly (readonly [string, string])[];
  /** Delimiters of strings over lines. */
  strings?: readonly string[];
  /** Decorators, attributes and the like before a definition on its line. */
  before?: RegExp;
  blocks?: readonly Block[];
  /** Only the first definition of a name counts: each clause of a function begins with its name. */
  once?: true;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Words that are no name in any language: what follows them is. */
export const NEVER = words("_ if else for while switch return extends implements class function struct enum operator");

/** Words that begin a statement or an expression: no names where no word before them says that they are defined. */
export const RESERVED = words(
  "if else elif elsif for foreach while until unless do switch case match when catch try finally return throw raise " +
    "with new delete typeof instanceof sizeof alignof decltype defined static_assert await yield in of import export " +
    "super this self not and or is as using lock fixed checked unchecked assert goto break continue default function " +
    "constructor void var let const null nil true false undefined synchronized",
);

/**
 * A pattern at the start of a line. Runs of blanks get a bound, wider than code is aligned: two of them beside each
 * other, with something optional between, would try every division of a long run.
 */
export function at(source: string, flags = ""): RegExp {
  const bounded = source.replaceAll("[ \\t]*", "[ \\t]{0,24}").replaceAll("[ \\t]+", "[ \\t]{1,40}");
  return new RegExp(`^(?:${bounded})`, flags);
}

/** A rule for any line: modifiers, each followed by blanks, then one of the keywords, then the name. */
export function keyword(modifiers: string, keywords: string, name = `(${ID})`, flags = ""): Rule {
  const before = modifiers === "" ? "" : `(?:(?:${modifiers.replaceAll(" ", "|")})[ \\t]+)*`;
  return { pattern: at(`${before}(?:${keywords.replaceAll(" ", "|")})[ \\t]+${name}`, flags) };
}
