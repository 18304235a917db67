/**
 * Any answer in at most so many bytes: its largest lists and strings are cut to a common length, and named. For answers
 * that have no pages: statistics, plans, and what a caller gave and gets back.
 */
import { isObject } from "../checks/kinds.ts";
import { cut, jsonBytes } from "./sizes.ts";

/** Cut parts that are named. */
const NAMED_MAX = 5;
/** Bytes of one name. */
const NAME_BYTES_MAX = 60;
/** An object's fields say more than a list's further entries. */
const OBJECT_SHARE = 4;
/** No part is cut shorter: a number, a flag and a generated id stay whole. */
const PART_BYTES_MIN = 40;

/** An answer that was cut. */
export interface Shortened {
  [field: string]: unknown;
  /** Paths of the parts of which only the beginning is there, at most five. */
  shortened: string[];
}

/**
 * The answer with every list and string of more than some bytes cut to these, and every inner object to four times as
 * many: the most with which it takes at most `maxBytes`.
 */
export function shorten(payload: object, maxBytes: number): Shortened {
  const paths = new Set<string>();
  let fields: Record<string, unknown> = { ...payload };
  for (let most = maxBytes; ; ) {
    // What is cut once is cut further: the first pass alone reads all of a long list.
    const cutNow: string[] = [];
    fields = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, trim(value, most, key, cutNow)]));
    for (const path of cutNow) if (paths.size < NAMED_MAX) paths.add(cut(path, NAME_BYTES_MAX));
    const short = { ...fields, shortened: [...paths] };
    const bytes = jsonBytes(short);
    if (bytes <= maxBytes || most < PART_BYTES_MIN) return short;
    // Shorter parts make an answer shorter by no more than in proportion: this does not cut too much.
    most = Math.floor(most * Math.min(15 / 16, maxBytes / bytes));
  }
}

/** A value in at most `most` bytes of JSON, if it can be cut; paths of what was cut are added to `paths`. */
function trim(value: unknown, most: number, path: string, paths: string[]): unknown {
  if (typeof value === "string") {
    const short = cut(value, Math.max(0, most - 2));
    if (short.length < value.length) paths.push(path);
    return short;
  }
  if (!isObject(value) && !Array.isArray(value)) return value;
  if (jsonBytes(value) <= most) return value;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  const kept: [string, unknown][] = [];
  let left = (isList ? most : most * OBJECT_SHARE) - 2;
  const before = paths.length;
  for (const [key, part] of parts) {
    const named = paths.length;
    // At least the beginning of a list's first entry is there.
    const room = isList && kept.length === 0 ? left - 1 : most;
    const short = trim(part, room, isList ? `${path}[${key}]` : `${path}.${key}`, paths);
    const bytes = (isList ? 0 : jsonBytes(key) + 1) + jsonBytes(short) + 1;
    if (bytes > left) {
      paths.length = named;
      break;
    }
    left -= bytes;
    kept.push([key, short]);
  }
  // Where only parts were cut, their paths say it better.
  if (kept.length < parts.length) paths.splice(before, 0, path);
  return isList ? kept.map(([, part]) => part) : Object.fromEntries(kept);
}
