/**
 * What a language's definitions look like: rules for single lines, and what must be skipped or stripped before them.
 *
 * Every pattern is tried at the beginning of a line, ends in it, and has no unbounded quantifier within or directly
 * beside another that takes the same characters: a line costs a number of steps proportional to its length.
 */

/** A name in most languages: letters of any script, digits, `_` and `$`. */
export const ID = "[A-Za-z_$\\u0080-\\uffff][\\w$\\u0080-\\uffff]*";

/** How much of a line is looked at for parameters: minified code has lines of megabytes. */
const HEAD_MAX = 320;

/** One line as rules see it. */
export class Line {
  /** Its beginning, for what has to be taken apart. */
  private known: string | undefined;

  /**
   * @param first where it begins: its first character that is not blank
   * @param end its end, before the line end
   * @param indent blanks before it, tabs and spaces alike
   */
  constructor(
    readonly text: string,
    readonly first: number,
    readonly end: number,
    readonly indent: number,
  ) {}

  /** From `first`, without the line end, cut at {@link HEAD_MAX}. */
  get head(): string {
    this.known ??= this.text.slice(this.first, Math.min(this.end, this.first + HEAD_MAX)).trimEnd();
    return this.known;
  }
}

export interface Rule {
  /** Matched at the line's beginning; the last group that took part is the name, or a list of names. */
  pattern: Pattern;
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
  open: Pattern;
  /** What the closing line begins with, in the first column. */
  close: string;
  rules: readonly Rule[];
}

interface Test {
  test(text: string): boolean;
}

/** What may stand before and after a function's parameters. */
export interface SignatureStyle {
  /** Matched after the parameters, in a piece of the text without blanks at its beginning. */
  after: Test;
  /** As `after`, for a name with nothing but modifiers before it: a constructor. */
  afterBare: Test;
  /** Modifiers: words that are not a type. */
  modifiers: ReadonlySet<string>;
  /** A name without a type before it may begin a line: `foo (a)` below its type, `Foo::Foo(a)`. */
  topWithoutType?: true;
  /** An interface's name may precede the method's: `int IList.Count(`. */
  dotted?: true;
}

/**
 * What a line with a signature looks like, in the first column and in others: a name with something before it, or a
 * constructor's.
 */
export const SIGNED = [
  "[A-Za-z_$<*\\u0080-\\uffff][^\\n(;=\"']{0,200}\\(",
  `(?:${ID}(?:[ \\t*&:<[?]|\\.[\\w.]{1,100}[ \\t<[])[^\\n(;="']{1,200}|<[^\\n(;="']{1,200}|[A-Z]\\w*[ \\t]?)\\(`,
] as const;

export interface Grammar {
  rules: readonly Rule[];
  /** How definitions with a list of parameters are written. */
  signature?: SignatureStyle;
  /** Openings and ends of comments, over lines, that begin a line. */
  comments?: readonly (readonly [string, string])[];
  /** Delimiters of strings over lines. */
  strings?: readonly string[];
  /** Decorators, attributes and the like before a definition on its line, and the characters they begin with. */
  before?: readonly [starts: string, Pattern];
  blocks?: readonly Block[];
  /** Only the first definition of a name counts: each clause of a function begins with its name. */
  once?: true;
}

/** The words of a text with one space between them. */
export const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Comments over lines in the languages that begin them with a slash. */
export const SLASHES = [["/*", "*/"]] as const;

/** Words that are not a name in any language: what follows them is. */
export const NEVER = words("_ if else for while switch return extends implements class function struct enum operator");

/** Words that begin a statement or an expression: no names where no word before them says that they are defined. */
export const RESERVED = words(
  "if else elif elsif for foreach while until unless do switch case match when catch try finally return throw raise " +
    "with new delete typeof instanceof sizeof alignof decltype defined static_assert await yield in of import export " +
    "super this self not and or is as using lock fixed checked unchecked assert goto break continue default function " +
    "constructor void var let const null nil true false undefined synchronized",
);

/**
 * A regular expression for one place of a text, up to the end of the line. It is compiled when it is first used: all of
 * the table's would cost each process 20 ms. The whole text is given to it: a piece for each line cost twice as much.
 */
export class Pattern {
  private compiled: RegExp | undefined;

  constructor(
    readonly source: string,
    readonly flags: string,
  ) {}

  exec(text: string, at = 0): RegExpExecArray | null {
    this.compiled ??= new RegExp(this.source, `${this.flags}my`);
    this.compiled.lastIndex = at;
    return this.compiled.exec(text);
  }

  test(text: string, at = 0): boolean {
    this.compiled ??= new RegExp(this.source, `${this.flags}my`);
    this.compiled.lastIndex = at;
    return this.compiled.test(text);
  }
}

/**
 * A pattern at the beginning of a line, for that line only. Runs of blanks get a bound, wider than code is aligned: two
 * of them beside each other, with something optional between, would try every division of a long run.
 */
export function at(source: string, flags = ""): Pattern {
  const bounded = source.replaceAll("[ \\t]*", "[ \\t]{0,24}").replaceAll("[ \\t]+", "[ \\t]{1,40}");
  return new Pattern(`(?:${bounded.replaceAll("[^", "[^\\n")})`, flags);
}

/** A rule for any line; see {@link at}. */
export const rule = (source: string, flags = ""): Rule => ({ pattern: at(source, flags) });

/** A rule for lines that begin in the first column. */
export const top = (source: string): Rule => ({ pattern: at(source), at: "top" });

/** A rule for the other lines. */
export const inner = (source: string, flags = ""): Rule => ({ pattern: at(source, flags), at: "inner" });

/** A rule for any line: modifiers, each followed by blanks, then one of the keywords, then the name. */
export function keyword(modifiers: string, keywords: string, name = `(${ID})`, flags = ""): Rule {
  const before = modifiers === "" ? "" : `(?:(?:${modifiers.replaceAll(" ", "|")})[ \\t]+)*`;
  const source = `${before}(?:${keywords.replaceAll(" ", "|")})[ \\t]+${name}`;
  return rule(source.replaceAll("\\s+", "[ \\t]+").replaceAll("\\s*", "[ \\t]*"), flags);
}

/** Letters, digits, `_`, `$`, and everything that is not ASCII. */
export function isNamePart(unit: number): boolean {
  return (
    (unit >= 97 && unit <= 122) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 48 && unit <= 57) ||
    unit === 95 ||
    unit === 36 ||
    unit >= 128
  );
}
