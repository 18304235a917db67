/**
 * `NaN`, `Infinity` and `-Infinity` in the arguments of a request: JSON has no such numbers, but some encoders
 * (Python's `json`) write them. Only a frame that is not JSON is scanned, byte by byte: outside of strings no word of
 * JSON has a capital N or I, and no byte of a multi-byte UTF-8 character equals one.
 */

import { stringEnd } from "../../../checks/depth.ts";
import { member } from "../../../checks/kinds.ts";

/** The first such word of a frame. */
interface BareWord {
  word: string;
  /** The field as a caller writes it, without `args`: `vectors[3][17]`, `metadata[0].score`. One line, shortened. */
  field: string;
}

/** An open array or object and the entry being read. A key is kept as its offsets in the frame, quotes included. */
interface Level {
  isArray: boolean;
  index: number;
  keyStart: number;
  keyEnd: number;
  awaitsKey: boolean;
}

const NAN = Buffer.from("NaN");
const INFINITY = Buffer.from("Infinity");
const ARGS = Buffer.from('"args"');
const FIELD_LENGTH_MAX = 200;

/**
 * Overwrites each of the words in `args` with 0 and blanks, so that the rest can be parsed, and returns the first. Does
 * not check that the rest is JSON.
 * @returns undefined for none, or for one outside of `args`: the other fields are needed for a reply
 * @throws SyntaxError for a key that is not JSON
 */
export function overwriteBareWords(body: Buffer): BareWord | undefined {
  const levels: Level[] = [];
  let top: Level | undefined;
  let isInArgs = false;
  let first: BareWord | undefined;
  for (let at = 0; at < body.length; at++) {
    switch (body[at]) {
      case 0x22: {
        const end = stringEnd(body, at + 1);
        if (top?.awaitsKey) {
          top.awaitsKey = false;
          top.keyStart = at;
          top.keyEnd = end + 1;
          if (levels.length === 1) isInArgs = body.subarray(at, end + 1).equals(ARGS);
        }
        at = end;
        break;
      }
      case 0x5b: // [
      case 0x7b: {
        const isArray = body[at] === 0x5b;
        top = { isArray, index: 0, keyStart: 0, keyEnd: 0, awaitsKey: !isArray };
        levels.push(top);
        break;
      }
      case 0x5d: // ]
      case 0x7d:
        levels.pop();
        top = levels.at(-1);
        break;
      case 0x2c: // ,
        if (!top) return undefined;
        top.index++;
        top.awaitsKey = !top.isArray;
        break;
      case 0x4e: // N
      case 0x49: {
        const word = body[at] === 0x4e ? NAN : INFINITY;
        const isSigned = word === INFINITY && body[at - 1] === 0x2d; // no encoder writes -NaN
        if (!isInArgs || !isWord(body, at, word) || !mayPrecede(body[at - (isSigned ? 2 : 1)])) return undefined;
        first ??= { word: `${isSigned ? "-" : ""}${word.toString("latin1")}`, field: fieldOf(body, levels) };
        // A blank follows the 0, so that no digit joins it.
        body[at] = 0x30;
        for (const end = at + word.length - 1; at < end; ) body[++at] = 0x20;
      }
    }
  }
  return first;
}

function isWord(body: Buffer, at: number, word: Buffer): boolean {
  for (let i = 0; i < word.length; i++) if (body[at + i] !== word[i]) return false;
  return true;
}

/** Whether a number may stand after this byte. */
function mayPrecede(byte: number | undefined): boolean {
  switch (byte) {
    case 0x20:
    case 0x09:
    case 0x0a:
    case 0x0d:
    case 0x2c: // ,
    case 0x3a: // :
    case 0x5b: // [
      return true;
    default:
      return false;
  }
}

function fieldOf(body: Buffer, levels: readonly Level[]): string {
  let field = "";
  // The outermost object is the request.
  for (const { isArray, index, keyStart, keyEnd } of levels.slice(1)) {
    if (isArray) field += `[${index}]`;
    else field = member(field, JSON.parse(body.toString("utf8", keyStart, keyEnd)) as string);
  }
  if (field.length > FIELD_LENGTH_MAX) field = `${field.slice(0, FIELD_LENGTH_MAX).toWellFormed()}…`;
  return field.replace(/^\./, "") || "args";
}
