/** Strings, lists of strings, and words from a closed list. */
import { ValueError } from "../errors.ts";
import { DESCRIPTION_BYTES_MAX } from "../limits.ts";
import { shown, wrongType } from "./kinds.ts";
import { type ListBounds, readList } from "./lists.ts";

/** @throws TypeError for what is not a string; ValueError for one that UTF-8 cannot hold */
export function readString(value: unknown, name: string): string {
  if (typeof value !== "string") throw wrongType(name, "a string", value);
  checkWellFormed(value, name);
  return value;
}

/** Half of a surrogate pair becomes U+FFFD on disk, where two ids could become one. @throws ValueError */
export function checkWellFormed(text: string, name: string): void {
  if (text.isWellFormed()) return;
  throw new ValueError(`${name} holds half of a surrogate pair, which UTF-8 cannot hold: remove it`);
}

/**
 * What a collection is for, as its manifest takes it.
 * @throws TypeError for what is not a string; ValueError for an empty one, or one of more than 4096 bytes in JSON
 */
export function readDescription(value: unknown, name: string): string {
  const text = readString(value, name);
  if (text.trim() === "") throw new ValueError(`${name} is empty: give it some words`);
  const bytes = Buffer.byteLength(JSON.stringify(text)) - 2;
  if (bytes <= DESCRIPTION_BYTES_MAX) return text;
  throw new ValueError(`${name} has ${bytes} bytes in JSON; the limit is ${DESCRIPTION_BYTES_MAX}`, "limit");
}

/** @throws TypeError for what is not a list of strings; ValueError for a string that UTF-8 cannot hold */
export function readStrings(value: unknown, name: string, bounds?: ListBounds): readonly string[] {
  const list = readList(value, name, 'an array of strings, as in ["a", "b"]', bounds);
  // By index: forEach passes over the holes of a sparse array.
  for (let i = 0; i < list.length; i++) readString(list[i], `${name}[${i}]`);
  return list as readonly string[];
}

/** @throws TypeError for what is not a string; ValueError for one that is not in the list */
export function readChoice<T extends string>(value: unknown, name: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  if (typeof value !== "string") throw wrongType(name, "a string", value);
  throw new ValueError(`${name} must be one of ${choices.join(", ")}, got ${shown(value)}`);
}
