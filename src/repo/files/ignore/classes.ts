/** Classes of bytes in patterns: `[a-z]`, `[!x]`, `[[:alpha:]]`. */

const BYTES = 256;
const SET_BYTES = BYTES / 8;

const isLower = (byte: number) => byte >= 0x61 && byte <= 0x7a;
const isUpper = (byte: number) => byte >= 0x41 && byte <= 0x5a;
const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;
const isLetter = (byte: number) => isLower(byte) || isUpper(byte);
/** Git's white space has neither the vertical tab nor the form feed. */
const isSpace = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
const isPrinted = (byte: number) => byte >= 0x20 && byte <= 0x7e;

const NAMED: Readonly<Record<string, (byte: number) => boolean>> = {
  alnum: (byte) => isLetter(byte) || isDigit(byte),
  alpha: isLetter,
  blank: (byte) => byte === 0x20 || byte === 0x09,
  cntrl: (byte) => byte < 0x20 || byte === 0x7f,
  digit: isDigit,
  graph: (byte) => isPrinted(byte) && !isSpace(byte),
  lower: isLower,
  print: isPrinted,
  punct: (byte) => isPrinted(byte) && byte !== 0x20 && !isLetter(byte) && !isDigit(byte),
  space: isSpace,
  upper: isUpper,
  xdigit: (byte) => isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66),
};

/** The bytes that a class takes: a bit for each. An ignore file of a megabyte may have 300,000 of them. */
export type ByteSet = Uint8Array;

export interface ByteClass {
  bytes: ByteSet;
  /** Position of its closing bracket. */
  end: number;
}

/**
 * The class that begins after the bracket at `start - 1`. Under `foldsCase` the bytes it is asked about are in lower
 * case; ranges take a letter in either case, single letters stand for themselves, as for git.
 * @returns undefined where it has no end, or names a class that is unknown: such a pattern matches nothing
 */
export function classAt(body: string, start: number, foldsCase: boolean): ByteClass | undefined {
  let at = start;
  const isNegated = body[at] === "!" || body[at] === "^";
  if (isNegated) at++;
  const bytes = new Uint8Array(SET_BYTES);
  /** The character before, from which a range may begin; -1 after a range or a named class. */
  let before = -1;
  // The first character stands for itself, also a closing bracket.
  for (let isFirst = true; isFirst || body[at] !== "]"; isFirst = false, at++) {
    if (at >= body.length) return undefined;
    if (body[at] === "-" && before !== -1 && at + 1 < body.length && body[at + 1] !== "]") {
      if (body[++at] === "\\") at++;
      if (at >= body.length) return undefined;
      takeRange(bytes, before, body.charCodeAt(at), foldsCase);
      before = -1;
      continue;
    }
    if (body.startsWith("[:", at)) {
      const end = body.indexOf("]", at + 2);
      if (end === -1) return undefined;
      if (end > at + 2 && body[end - 1] === ":") {
        const named = NAMED[body.slice(at + 2, end - 1)];
        if (!named) return undefined;
        takeNamed(bytes, foldsCase && named === isUpper ? isLetter : named);
        before = -1;
        at = end;
        continue;
      }
    } else if (body[at] === "\\" && ++at >= body.length) return undefined;
    before = body.charCodeAt(at);
    add(bytes, before);
  }
  if (isNegated) for (let i = 0; i < SET_BYTES; i++) bytes[i]! ^= 0xff;
  return { bytes, end: at };
}

function takeRange(bytes: ByteSet, first: number, last: number, foldsCase: boolean): void {
  for (let byte = first; byte <= last; byte++) {
    add(bytes, byte);
    if (foldsCase && isUpper(byte)) add(bytes, byte + 0x20);
  }
}

function takeNamed(bytes: ByteSet, takes: (byte: number) => boolean): void {
  for (let byte = 0; byte < BYTES; byte++) if (takes(byte)) add(bytes, byte);
}

function add(bytes: ByteSet, byte: number): void {
  bytes[byte >> 3]! |= 1 << (byte & 7);
}

/** Whether a class takes a byte. */
export function has(bytes: ByteSet, byte: number): boolean {
  return ((bytes[byte >> 3]! >> (byte & 7)) & 1) === 1;
}
