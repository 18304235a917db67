/**
 * The names that a source file defines, by a table of patterns a language: functions, methods, types, macros, modules
 * and constants; not local variables, calls or prototypes. A parser for each language would be exacter and is not worth
 * it: ctags took 68 ms a MB and its names ranked no better.
 *
 * The time is linear in the text by construction: a line is looked at up to a length, by anchored patterns, and what
 * looks ahead over lines is bounded in lines and in characters.
 */
import { type Block, type Grammar, LINE_MAX, type Line, NEVER, RESERVED, type Rule } from "./definitions/grammar.ts";
import { grammarOf } from "./definitions/languages.ts";

/** UTF-8 bytes of the longest name that counts; longer ones are made by programs. */
export const NAME_BYTES_MAX = 256;

export interface Definition {
  /** As written. */
  name: string;
  /** Of the text, from 1. */
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

  constructor(
    private readonly text: string,
    private readonly grammar: Grammar,
  ) {}

  run(): Definition[] {
    const { text } = this;
    let number = 0;
    for (let start = 0; start < text.length; ) {
      const newline = text.indexOf("\n", start);
      const end = newline === -1 ? text.length : newline;
      number++;
      if (this.resume < end) this.look(start, end, number);
      start = end + 1;
    }
    return this.found;
  }

  private look(start: number, end: number, number: number): void {
    const { text } = this;
    let first = Math.max(start, this.resume);
    while (first < end && isBlank(text.charCodeAt(first))) first++;
    if (first === end || this.skips(first, end)) return;
    const head = text.slice(first, Math.min(end, first + LINE_MAX));
    const line: Line = {
      text,
      first,
      end,
      indent: first - start,
      head: head.endsWith("\r") ? head.slice(0, -1) : head,
    };
    this.strip(line);
    this.names(line, number);
    if (this.grammar.strings) this.skipString(line);
  }

  /** Skips a comment that begins the line; true if it takes the whole line. */
  private skips(first: number, end: number): boolean {
    for (const [open, close] of this.grammar.comments ?? []) {
      if (!this.text.startsWith(open, first)) continue;
      const closed = this.text.indexOf(close, first + open.length);
      this.resume = closed === -1 ? this.text.length : closed + close.length;
      return this.resume >= end;
    }
    return false;
  }

  /** Moves the line's beginning past decorators and the like. */
  private strip(line: Line): void {
    const { before } = this.grammar;
    for (let count = 0; before && count < DECORATORS_MAX; count++) {
      const match = before.exec(line.head);
      if (!match) return;
      line.first += match[0].length;
      line.head = line.head.slice(match[0].length);
    }
  }

  private names(line: Line, number: number): void {
    const { grammar } = this;
    if (this.block) {
      if (line.indent === 0 && line.head.startsWith(this.block.close)) this.block = undefined;
      else {
        if (this.blockIndent === -1) this.blockIndent = line.indent;
        if (line.indent === this.blockIndent) this.apply(this.block.rules, line, number);
        return;
      }
    }
    if (!this.apply(grammar.rules, line, number)) {
      const name = grammar.signature?.(line, this.seen);
      if (name !== undefined) this.add(name, number);
    }
    if (line.indent > 0) return;
    this.block = grammar.blocks?.find(({ open }) => open.test(line.head));
    this.blockIndent = -1;
  }

  /** Adds the name of the first rule that applies; false if none does. */
  private apply(rules: readonly Rule[], line: Line, number: number): boolean {
    for (const rule of rules) {
      if (rule.at !== undefined && (rule.at === "top") !== (line.indent === 0)) continue;
      const match = rule.pattern.exec(line.head);
      if (!match) continue;
      let group = match.length - 1;
      while (group > 0 && match[group] === undefined) group--;
      const name = match[group]!;
      if (match[0].length === LINE_MAX && match[0].endsWith(name)) continue; // The line goes on, perhaps the name does.
      if (rule.bare && RESERVED.has(name)) continue;
      if (rule.follows && !rule.follows(line, line.first + match[0].length)) continue;
      if (rule.list) for (const [word] of name.matchAll(WORDS)) this.add(word, number);
      else this.add(name, number);
      return true;
    }
    return false;
  }

  private add(name: string, line: number): void {
    if (NEVER.has(name) || CONTROL.test(name) || Buffer.byteLength(name) > NAME_BYTES_MAX) return;
    if (this.seen.has(name)) {
      if (this.grammar.once) return;
      for (let at = this.found.length - 1; at >= 0 && this.found[at]!.line === line; at--) {
        if (this.found[at]!.name === name) return;
      }
    }
    this.seen.add(name);
    this.found.push({ name, line });
  }

  /** Notes the end of a string that begins on the line and goes on after it. */
  private skipString({ text, first, end }: Line): void {
    for (let at = first; at < end; ) {
      let [open, quote] = [-1, ""];
      for (const mark of this.grammar.strings!) {
        const found = indexBefore(text, mark, at, end);
        if (found !== -1 && (open === -1 || found < open)) [open, quote] = [found, mark];
      }
      if (open === -1) return;
      const close = text.indexOf(quote, open + quote.length);
      at = close === -1 ? text.length : close + quote.length;
      this.resume = at;
    }
  }
}

/** `indexOf` that does not search past `end`. */
function indexBefore(text: string, mark: string, from: number, end: number): number {
  const found = text.slice(from, end).indexOf(mark);
  return found === -1 ? -1 : from + found;
}

function isBlank(unit: number): boolean {
  return unit === 32 || unit === 9 || unit === 13 || unit === 12;
}
