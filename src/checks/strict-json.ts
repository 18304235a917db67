/**
 * JSON in which two readers cannot find two things. `JSON.parse` takes the last of two equal keys and other parsers the
 * first, so that what one program checks would not be what another uses. RFC 8259 section 4 leaves it open.
 *
 * The value is always that of `JSON.parse`: a scan before it only refuses. A parser of its own would be one more reading.
 */
import { ValueError } from "../errors.ts";

/** Nesting of what is read here: a manifest, a record, a licence. None of them needs half of it. */
const DEPTH_MAX = 16;

/**
 * The value of JSON in UTF-8. Refused are: a byte order mark, bytes that are not UTF-8, more than 16 levels, and a key
 * that stands twice in one object, however it is escaped.
 * @throws ValueError with the rest of a sentence about the file, without any of its text, which may not be trusted
 */
export function parseStrictJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ValueError("it is not UTF-8");
  }
  try {
    refuseDoubles(text);
    return JSON.parse(text);
  } catch (error) {
    throw error instanceof ValueError ? error : new ValueError("it is not JSON");
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/** Refuses double keys and deep nesting. What it does with text that is not JSON does not matter: the parser refuses it. */
function refuseDoubles(text: string): void {
  /** For each open object its keys, for each open array nothing. */
  const open: (Set<string> | undefined)[] = [];
  let beforeKey = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = stringEnd(text, at + 1);
      if (beforeKey) addKey(open.at(-1), text.slice(at, end + 1));
      beforeKey = false;
      at = end;
    } else if (code === 0x7b || code === 0x5b) {
      if (open.push(code === 0x7b ? new Set() : undefined) > DEPTH_MAX)
        throw new ValueError(`it is nested deeper than ${DEPTH_MAX} levels`);
      beforeKey = code === 0x7b;
    } else if (code === 0x7d || code === 0x5d) {
      open.pop();
      beforeKey = false;
    } else if (code === COMMA) {
      beforeKey = open.at(-1) !== undefined;
    }
  }
}

function addKey(keys: Set<string> | undefined, quoted: string): void {
  const key: string = quoted.includes("\\") ? JSON.parse(quoted) : quoted.slice(1, -1);
  if (keys?.has(key)) throw new ValueError("a key stands twice in one object");
  keys?.add(key);
}

/** Offset of the quote that ends a string, or the length. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at >= 0; at = text.indexOf('"', at + 1)) {
    let first = at;
    while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    if ((at - first) % 2 === 0) return at;
  }
  return text.length;
}
