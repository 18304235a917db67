/** What is stored beside rows. */
import { ArgumentTypeError, ValueError } from "../errors.ts";
import { METADATA_BYTES_MAX, METADATA_DEPTH_MAX } from "../limits.ts";
import { isObject, member, wrongType } from "./kinds.ts";
import { type ListBounds, readList } from "./lists.ts";
import { checkKept } from "./numbers.ts";
import type { Metadata } from "./values.ts";

/** A list with one object or null a row; `encodeMetadata` checks the objects. @throws TypeError for anything else */
export function readMetadata(value: unknown, name = "metadata", bounds?: ListBounds): (Metadata | null | undefined)[] {
  const list = readList(value, name, "an array with one object or null for each row", bounds);
  // By index: forEach passes over the holes of a sparse array.
  for (let i = 0; i < list.length; i++) readObject(list[i], `${name}[${i}]`);
  return list as (Metadata | null | undefined)[];
}

/** One row's, null where it has none. @throws TypeError for what is neither an object nor null */
export function readObject(value: unknown, name: string): Metadata | null {
  if (value === null || value === undefined) return null;
  if (isObject(value)) return value;
  throw wrongType(name, "an object or null", value);
}

/**
 * A row's metadata as JSON.
 * @throws ValueError for a number that JSON would change, too many bytes or levels; TypeError for what JSON lacks
 */
export function encodeMetadata(metadata: Metadata, name: string): string {
  checkMembers(metadata, name, 1);
  const json = JSON.stringify(metadata);
  // At most three bytes a UTF-16 unit: most need no count.
  const bytes = json.length * 3 <= METADATA_BYTES_MAX ? 0 : Buffer.byteLength(json);
  if (bytes > METADATA_BYTES_MAX) {
    throw new ValueError(`${name} has ${bytes} bytes as JSON; the limit is ${METADATA_BYTES_MAX}`, "limit");
  }
  return json;
}

function checkMembers(parent: object, name: string, depth: number): void {
  if (depth > METADATA_DEPTH_MAX)
    throw new ValueError(`${name} is nested deeper than ${METADATA_DEPTH_MAX} levels`, "limit");
  for (const key of Object.keys(parent)) {
    const value: unknown = (parent as Record<string, unknown>)[key];
    if (typeof value === "string" || value === null || typeof value === "boolean" || value === undefined) continue;
    if (typeof value === "number" && (Number.isSafeInteger(value) || value % 1 !== 0) && Number.isFinite(value))
      continue;
    // Only here: making a name costs more than the checks above.
    const at = Array.isArray(parent) ? `${name}[${key}]` : member(name, key);
    if (typeof value === "number") checkKept(value, at);
    else if (typeof value === "object") checkMembers(value, at, depth + 1);
    else throw new ArgumentTypeError(`${at} is a ${typeof value}, which JSON does not have: write it as a string`);
  }
}
