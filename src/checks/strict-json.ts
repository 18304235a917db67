/**
 * JSON in which two readers cannot find two things. `JSON.parse` takes the last of two equal keys and other parsers the
 * first, so that what one program checks would not be what another uses. RFC 8259 section 4 leaves it open.
 *
 * The value is always that of `JSON.parse`, and what is counted in it afterwards only refuses: a parser of its own would
 * be one more reading. As `JSON.parse` keeps one of two equal keys, the value has fewer keys than the text where one
 * stands twice. Looking at each character instead cost a cold process 1 ms for a manifest.
 */
import { ValueError } from "../errors.ts";
import { stringEnd } from "./depth.ts";

const QUOTE = 0x22;
const COLON = 0x3a;
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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ValueError("it is not JSON");
  }
  if (keysIn(value, 0) !== keysOf(bytes)) throw new ValueError("a key stands twice in one object");
  return value;
}

/** The keys of all objects in a value. @throws ValueError beyond 16 levels */
function keysIn(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth === DEPTH_MAX) throw new ValueError(`it is nested deeper than ${DEPTH_MAX} levels`);
  const inside = Object.values(value);
  let keys = Array.isArray(value) ? 0 : inside.length;
  for (const one of inside) keys += keysIn(one, depth + 1);
  return keys;
}

/** The keys in bytes that are JSON: the strings that a colon follows before the next string. */
function keysOf(json: Uint8Array): number {
  let keys = 0;
  for (let start = json.indexOf(QUOTE); start >= 0; ) {
    const end = stringEnd(json, start + 1);
    start = json.indexOf(QUOTE, end + 1);
    if (json.subarray(end + 1, start < 0 ? undefined : start).includes(COLON)) keys += 1;
  }
  return keys;
}
