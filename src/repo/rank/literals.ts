/**
 * What a question quotes or writes in signs, `**` or `--flag` or "not found": the terms of an index have no signs, so it
 * is looked for in files as it is.
 */
import { isQualified } from "./identifiers.ts";

/** Literals of a question that are looked for at most: a whole file may be pasted as one. */
const LITERALS_MAX = 8;
/** What is longer is a passage. */
const LITERAL_UNITS_MAX = 100;

const QUOTED = /`([^`\n]+)`|"([^"\n]+)"|(?<![\p{L}\p{N}])'([^'\n]+)'(?![\p{L}\p{N}])/gu;
/** Letters and digits alone are terms. */
const HAS_SIGN = /[^\p{L}\p{N}\p{M}_]/u;
const FLAG = /^--[\p{L}\p{N}][\p{L}\p{N}_-]*$/u;
const HEX = /^0x[\da-f]+$/i;
/** Without quotation marks: flags, hexadecimal numbers, `:code:`, hidden files, and what has a sign that prose lacks. */
const BARE = [FLAG, HEX, /^:[\w+-]+:$/, /^\.\p{L}[\p{L}\p{N}_.-]+$/u, /[~^*%$@&|<>={}+\\]/, /^[^\p{L}\p{N}\s]{2,}$/u];
/** Arrows and rules, shares, numbers of issues, addresses. */
const PROSE = /^[<>=|.-]+$|^[\d.,]+%$|^#\d+$|^@[\w-]+$|\p{L}@\p{L}|:\/\//u;
const BEFORE = /^[("'`[]+(?=[^)\]]*$)/;
const AFTER = /[.,;?!"'`)\]]+$/;

/** The literals in a question, each once. */
export function literalsIn(question: string): string[] {
  const found = new Set<string>();
  const add = (literal: string) => {
    if (found.size < LITERALS_MAX && literal.length <= LITERAL_UNITS_MAX) found.add(literal);
  };
  const bare = question.replace(QUOTED, (_, ...groups) => {
    const text = String(groups.slice(0, 3).find((group) => group !== undefined))
      .trim()
      .replace(/\(\)$/, "");
    if (HEX.test(text) || (HAS_SIGN.test(text) && !isQualified(text))) add(text);
    return " ";
  });
  for (const [run] of bare.matchAll(/\S+/g)) {
    if (found.size === LITERALS_MAX) break;
    if (run.length > LITERAL_UNITS_MAX) continue;
    const inner = run.replace(BEFORE, "").replace(AFTER, "");
    const text = /^[^\p{L}\p{N}]+$/u.test(run) ? run : inner;
    if (text.length < 2 || PROSE.test(text) || (isQualified(text) && !HEX.test(text))) continue;
    if (BARE.some((pattern) => pattern.test(text))) add(text);
  }
  return [...found];
}

/** A literal in one of its spellings. */
interface Form {
  text: string;
  /** Its UTF-8, a byte a unit. */
  bytes: string;
  /** What may not precede or follow it. */
  before: RegExp | undefined;
  after: RegExp | undefined;
}

const LETTER = /[\p{L}\p{N}_]/u;
/** What beside a literal would make it a part of a longer word. */
const IN_WORD = /\w/;
const IN_FLAG = /[\w-]/;
/** Parsers of arguments name a flag without its dashes. */
const MARKS = ["'", '"', "`"];

function spellingsOf(literal: string): string[] {
  if (FLAG.test(literal)) return [literal, ...MARKS.map((mark) => `${mark}${literal.slice(2)}${mark}`)];
  if (!HEX.test(literal)) return [literal];
  const digits = literal.slice(2);
  return [...new Set([literal, `0x${digits.toLowerCase()}`, `0x${digits.toUpperCase()}`])];
}

/** Finds a literal, not as a part of a longer word. */
export class Literal {
  private readonly forms: readonly Form[];

  constructor(literal: string) {
    this.forms = spellingsOf(literal).map((text) => ({
      text,
      bytes: Buffer.from(text).toString("latin1"),
      before: LETTER.test(text[0]!) ? IN_WORD : undefined,
      after: FLAG.test(text) ? IN_FLAG : LETTER.test(text.at(-1)!) ? IN_WORD : undefined,
    }));
  }

  /** Whether the UTF-8 of a text has it. */
  isIn({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
    const searched = Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
    return this.forms.some((form) => placeIn(searched, form.bytes, form, 0) !== -1);
  }

  /** Where a text has it, ascending within each of its spellings; at most so many places. */
  placesIn(text: string, most: number): number[] {
    const places: number[] = [];
    for (const form of this.forms) {
      for (let at = 0; places.length < most; at++) {
        at = placeIn(text, form.text, form, at);
        if (at === -1) break;
        places.push(at);
      }
    }
    return places;
  }
}

/** The first place of a spelling from `from` on; -1 for none. */
function placeIn(searched: string, spelling: string, { before, after }: Form, from: number): number {
  for (let at = searched.indexOf(spelling, from); at !== -1; at = searched.indexOf(spelling, at + 1)) {
    const [left, right] = [searched[at - 1], searched[at + spelling.length]];
    if (left !== undefined && before?.test(left)) continue;
    if (right === undefined || !after?.test(right)) return at;
  }
  return -1;
}

/** Passes the bytes of each file that can be read, valid until the next one. */
export type ReadEach = (paths: readonly string[], see: (path: string, bytes: Uint8Array) => void) => void;

/** Which share of a question's literals each file has, above 0 to 1; those that few of the files have count more. */
export function literalShares(
  literals: readonly string[],
  paths: readonly string[],
  readEach: ReadEach,
): ReadonlyMap<string, number> {
  const found = literals.map((literal) => ({ literal: new Literal(literal), files: new Set<string>() }));
  readEach(paths, (path, bytes) => {
    for (const { literal, files } of found) if (literal.isIn(bytes)) files.add(path);
  });
  const known = found.filter(({ files }) => files.size > 0);
  const rarity = (count: number) => Math.log(1 + (paths.length - count + 0.5) / (count + 0.5));
  const shares = new Map<string, number>();
  for (const { files } of known) {
    const share = rarity(files.size) / rarity(1) / known.length;
    for (const path of files) shares.set(path, (shares.get(path) ?? 0) + share);
  }
  return shares;
}
