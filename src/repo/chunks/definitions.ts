/**
 * The names that a source file defines, by a table of patterns a language: functions, methods, types, macros, modules
 * and constants; not local variables, calls or prototypes. A parser for each language would be exacter and is not worth
 * it: ctags took 68 ms a MB and its names ranked no better.
 *
 * One regular expression finds the lines that may define something (`definitions/finder.ts`), and only these are looked
 * at. The time is linear in the text by construction: patterns are tried where lines begin, and what looks ahead over
 * lines is bounded in lines and in characters.
 */
import { finderOf } from "./definitions/finder.ts";
import { type Block, type Grammar, Line, NEVER, RESERVED, type Rule } from "./definitions/grammar.ts";
import { grammarOf } from "./definitions/languages.ts";
import { signatureName } from "./definitions/signature.ts";

/** UTF-8 bytes of the longest name that counts; longer ones are made by programs. */
export const NAME_BYTES_MAX = 256;

export interface Definition {
  /** As written. */
  name: string;
  /** Line of the text, from 1. */
  line: number;
}

/**
 * The names that a text defines, in the order of their lines; a name counts once a line.
 * @param language as `languageOf` names it; one without a table defines nothing
 */
export function definitionsIn(text: string, language: string): Definition[] {
  const grammar = grammarOf(language);
  return grammar ? new Scan(text, grammar).run() : [];
}

/** No name has these, and a NUL would end a label. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const CONTROL = /[\0-\x1f]/;
const WORDS = /[\w$\u0080-\uffff]+[?!]?/g;
const DECORATORS_MAX = 4;

class Scan {
  private readonly found: Definition[] = [];
  /** Every name found so far. */
  private readonly seen = new Set<string>();
  /** Up to here the text is a comment or a string. */
  private resume = 0;
  private block: Block | undefined;
  /** Indentation of the block's first line. */
  private blockIndent = -1;
  /** Up to here strings over lines are known, and where the next of each delimiter is. */
  private stringsTo = 0;
  private readonly marks = new Map<string, number>();
  /** The last line that was counted, and its beginning. */
  private number = 1;
  private numbered = 0;

  constructor(
    private readonly text: string,
    private readonly grammar: Grammar,
  ) {}

  run(): Definition[] {
    const { text } = this;
    const finder = finderOf(this.grammar);
    for (let at = 0; at < text.length; ) {
      let start = at;
      if (!this.block) {
        finder.lastIndex = at;
        if (!finder.test(text)) break;
        // A match ends in the line where it begins.
        start = Math.max(at, text.lastIndexOf("\n", finder.lastIndex - 1) + 1);
      }
      const newline = text.indexOf("\n", start);
      const end = newline === -1 ? text.length : newline;
      this.passStrings(start);
      if (this.resume < end) this.look(start, end);
      // What is left of a line after a string or a comment is looked at as well.
      at = this.resume > end ? this.lineAfter(this.resume) : end + 1;
    }
    return this.found;
  }

  /** The beginning of a line that a string or comment ends in; of the next one, where that is a string's. */
  private lineAfter(place: number): number {
    const newline = this.text.indexOf("\n", place);
    const start = this.text.lastIndexOf("\n", place - 1) + 1;
    return this.grammar.strings ? (newline === -1 ? this.text.length : newline + 1) : start;
  }

  private look(start: number, end: number): void {
    const { text, grammar } = this;
    let first = Math.max(start, this.resume);
    for (;;) {
      while (first < end && isBlank(text.charCodeAt(first))) first++;
      if (first === end) return;
      if (!this.skipsComment(first)) break;
      if (this.resume >= end) return;
      first = this.resume;
    }
    const from = grammar.before?.[0].includes(text[first]!) ? this.pastDecorators(first) : first;
    this.names(new Line(text, from, end, first - start));
  }

  /** Skips a comment that begins at a place; false where none does. */
  private skipsComment(first: number): boolean {
    for (const [open, close] of this.grammar.comments ?? []) {
      if (!this.text.startsWith(open, first)) continue;
      const closed = this.text.indexOf(close, first + open.length);
      this.resume = closed === -1 ? this.text.length : closed + close.length;
      return true;
    }
    return false;
  }

  /** Where a line begins after its decorators and the like. */
  private pastDecorators(first: number): number {
    let from = first;
    for (let count = 0; count < DECORATORS_MAX; count++) {
      const match = this.grammar.before![1].exec(this.text, from);
      if (!match) break;
      from += match[0].length;
    }
    return from;
  }

  private names(line: Line): void {
    const { grammar, text } = this;
    const isTop = line.indent === 0;
    if (this.block) {
      if (isTop && text.startsWith(this.block.close, line.first)) this.block = undefined;
      else {
        if (this.blockIndent === -1) this.blockIndent = line.indent;
        if (line.indent === this.blockIndent) this.apply(this.block.rules, line);
        return;
      }
    }
    if (!this.apply(grammar.rules, line)) {
      const name = grammar.signature && signatureName(line, grammar.signature, this.seen);
      if (name !== undefined) this.add(name, line);
    }
    if (!isTop) return;
    this.block = grammar.blocks?.find(({ open }) => open.test(text, line.first));
    this.blockIndent = -1;
  }

  /** Adds the name of the first rule that applies; false if none does. */
  private apply(rules: readonly Rule[], line: Line): boolean {
    for (const rule of rules) {
      if (rule.at !== undefined && (rule.at === "top") !== (line.indent === 0)) continue;
      const match = rule.pattern.exec(this.text, line.first);
      if (!match) continue;
      let group = match.length - 1;
      while (group > 0 && match[group] === undefined) group--;
      const name = match[group]!;
      if (rule.bare && RESERVED.has(name)) continue;
      if (rule.follows && !rule.follows(line, line.first + match[0].length)) continue;
      if (rule.list) for (const [word] of name.matchAll(WORDS)) this.add(word, line);
      else this.add(name, line);
      return true;
    }
    return false;
  }

  private add(name: string, { first }: Line): void {
    if (NEVER.has(name) || CONTROL.test(name) || Buffer.byteLength(name) > NAME_BYTES_MAX) return;
    if (this.grammar.once && this.seen.has(name)) return;
    const line = this.numberOf(first);
    if (this.seen.has(name)) {
      for (let at = this.found.length - 1; at >= 0 && this.found[at]!.line === line; at--) {
        if (this.found[at]!.name === name) return;
      }
    }
    this.seen.add(name);
    this.found.push({ name, line });
  }

  /** The number of the line that a place is in; places ascend. */
  private numberOf(place: number): number {
    for (;;) {
      const newline = this.text.indexOf("\n", this.numbered);
      if (newline === -1 || newline >= place) return this.number;
      this.numbered = newline + 1;
      this.number++;
    }
  }

  /** Notes where the strings over lines that begin before a place end. */
  private passStrings(place: number): void {
    const { strings } = this.grammar;
    if (!strings) return;
    for (let at = Math.max(this.stringsTo, this.resume); ; ) {
      let [open, quote] = [Number.POSITIVE_INFINITY, ""];
      for (const mark of strings) {
        const found = this.indexFrom(mark, at);
        if (found < open) [open, quote] = [found, mark];
      }
      if (open >= place) return;
      const close = this.text.indexOf(quote, open + quote.length);
      at = close === -1 ? this.text.length : close + quote.length;
      this.stringsTo = at;
      this.resume = Math.max(this.resume, at);
    }
  }

  /** `indexOf` for places that ascend: what was found is kept, so that all searches together read the text once. */
  private indexFrom(mark: string, from: number): number {
    const known = this.marks.get(mark);
    if (known !== undefined && known >= from) return known;
    const found = this.text.indexOf(mark, from);
    const place = found === -1 ? Number.POSITIVE_INFINITY : found;
    this.marks.set(mark, place);
    return place;
  }
}

function isBlank(unit: number): boolean {
  return unit === 32 || unit === 9 || unit === 13 || unit === 12;
}
