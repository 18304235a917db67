/**
 * What is accepted in place of what is asked for, at every door: clients of other makes and language models send it, and what they mean is
 * beyond doubt. Where it is not, the value is refused.
 */
import { ArgumentTypeError, ValueError } from "../errors.ts";
import { kindOf } from "./kinds.ts";

/** An external id as a caller may give it. An integer stands for its decimal string: 7 and "7" are one id. It is stored and returned as a string. */
export type Id = string | number;

/**
 * The id that a value is, or stands for.
 * @param name how messages call the value
 * @throws TypeError for what is neither a string nor an integer; ValueError for an integer beyond ±(2^53 - 1)
 */
export function toId(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  // -0 is written "0".
  if (Number.isSafeInteger(value)) return String(value);
  if (typeof value === "number" && (Number.isInteger(value) || Math.abs(value) === Number.POSITIVE_INFINITY)) {
    // What was written may have been its neighbour: JSON.parse has rounded it.
    throw new ValueError(`${name} is an integer beyond 2^53 - 1, which arrived as ${value}: send it as a string`);
  }
  const came = typeof value === "number" || typeof value === "boolean" ? value : kindOf(value);
  throw new ArgumentTypeError(`${name} must be a string, or an integer that stands for one, got ${came}`);
}

/**
 * The same for a list. One of strings, as nearly all are, is returned as it is and costs a `typeof` an id.
 * @param nameAt how messages call an entry
 */
export function toIds(list: readonly unknown[], nameAt: (at: number) => string): readonly string[] {
  // By index: every and map pass over the holes of a sparse array.
  for (let i = 0; i < list.length; i++) {
    if (typeof list[i] !== "string") return Array.from(list, (value, at) => toId(value, nameAt(at)));
  }
  return list as readonly string[];
}

/**
 * The partition key: a list of one name stands for the name. What is no list is returned as it came.
 * @throws ValueError for a list of another length; TypeError for a list of something else
 */
export function toPartitionKey(value: unknown, name: string): unknown {
  if (!Array.isArray(value)) return value;
  if (value.length !== 1) {
    throw new ValueError(`${name} is a list of ${value.length}; rows are grouped by one column: give one name`);
  }
  const [column] = value;
  if (typeof column === "string") return column;
  throw new ArgumentTypeError(`${name} must be a string or a list of one, got a list with ${kindOf(column)}`);
}

/**
 * Whether a filter is an object without a key, which filters nothing. A Map or an instance of a class is no such thing: whoever gave it
 * meant to filter.
 */
export function filtersNothing(where: object): boolean {
  if (Object.keys(where).length > 0) return false;
  const prototype = Object.getPrototypeOf(where);
  return prototype === null || prototype === Object.prototype;
}

/** Whether a vector, where one is asked for, came as a matrix of one row: `[[0.1, 0.2]]`. Then the row is meant. */
export function isOneRow(value: unknown): value is readonly [object] {
  return Array.isArray(value) && value.length === 1 && typeof value[0] === "object" && value[0] !== null;
}
