/** External ids. */
import { KeyError, ValueError } from "../errors.ts";
import { ID_BYTES_MAX } from "../limits.ts";
import { shown, wrongType } from "./kinds.ts";
import { type ListBounds, readList } from "./lists.ts";
import { checkWellFormed } from "./strings.ts";

/**
 * An external id as a caller may give it. An integer stands for its decimal string: 7 and "7" are one id. It is stored
 * and returned as a string.
 */
export type Id = string | number;

/**
 * The id that a value is, or stands for.
 * @throws TypeError for what is neither a string nor an integer; ValueError for an integer beyond ±(2^53 - 1), an empty
 * string, one of more than 512 bytes of UTF-8, one with a NUL or half of a surrogate pair
 */
export function readId(value: unknown, name: string): string {
  // -0 is written "0".
  if (typeof value !== "string" && Number.isSafeInteger(value)) return String(value);
  if (typeof value === "number" && (Number.isInteger(value) || Math.abs(value) === Number.POSITIVE_INFINITY)) {
    // What was written may have been its neighbour: JSON.parse has rounded it.
    throw new ValueError(`${name} is an integer beyond 2^53 - 1, which arrived as ${value}: send it as a string`);
  }
  if (typeof value !== "string") throw wrongType(name, "a string, or an integer that stands for one", value);
  if (value === "") throw new ValueError(`${name} is empty: an id has 1 to ${ID_BYTES_MAX} bytes`);
  if (value.includes("\0")) throw new ValueError(`${name} holds a NUL character, which an id cannot hold: remove it`);
  checkWellFormed(value, name);
  // At most three bytes a UTF-16 unit: most ids need no count.
  const bytes = value.length * 3 <= ID_BYTES_MAX ? 0 : Buffer.byteLength(value);
  if (bytes > ID_BYTES_MAX)
    throw new ValueError(`${name} has ${bytes} bytes of UTF-8; the limit is ${ID_BYTES_MAX}`, "limit");
  return value;
}

/** The same for a list. @throws what `readId` throws; TypeError for what is not a list */
export function readIds(value: unknown, name = "ids", bounds?: ListBounds): readonly string[] {
  const list = readList(value, name, 'an array of strings, as in ["a", "b"]', bounds);
  // By index: map passes over the holes of a sparse array.
  return Array.from(list, (id, i) => readId(id, `${name}[${i}]`));
}

/** Refuses ids that stand twice in one call, with the runtime's own sentence. @throws KeyError */
export function checkDistinct(ids: readonly string[]): void {
  if (new Set(ids).size === ids.length) return;
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const id of ids) (seen.has(id) ? twice : seen).add(id);
  const named = [...twice].slice(0, 3).map(shown).join(", ") + (twice.size > 3 ? ", ..." : "");
  const what = twice.size === 1 ? "this id exists already or stands" : "these ids exist already or stand";
  throw new KeyError(`${what} twice in the call, nothing was added: ${named}`);
}
