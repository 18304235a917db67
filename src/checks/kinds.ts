/** What a value is, and how a message names and shows it. */
import { ArgumentTypeError } from "../errors.ts";

/** A JSON object, not an array and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** UTF-16 units of a string that a message shows. */
const SHOWN_MAX = 80;

/** A string in quotes, shortened and on one line. */
export function shown(text: string): string {
  const short = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 3)}...` : text;
  return `'${JSON.stringify(short).slice(1, -1)}'`;
}

/** A value in words: "the string 'x'", "7", "null", "an array", "nothing" for undefined. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `the string ${shown(value)}`;
    case "undefined":
      return "nothing";
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "an array" : "an object";
    case "function":
    case "symbol":
      return `a ${typeof value}`;
    case "bigint":
      return `a bigint`;
    default:
      return String(value);
  }
}

/** Keys that a message needs no quotes for. */
const PLAIN_KEY = /^[\p{L}_][\p{L}\p{N}_-]{0,60}$/u;

/** The name of a member of what is called `name`: `where.kind`, `metadata[0]['a b']`. */
export function member(name: string, key: string): string {
  return PLAIN_KEY.test(key) ? `${name}.${key}` : `${name}[${shown(key)}]`;
}

/** A column's name in a sentence. */
export function columnName(column: string): string {
  return PLAIN_KEY.test(column) ? column : shown(column);
}

/** `a`, `a or b`, `a, b or c`. @param items at least one */
export function listed(items: readonly string[], word: "and" | "or"): string {
  return items.length === 1 ? items[0]! : `${items.slice(0, -1).join(", ")} ${word} ${items.at(-1)}`;
}

/** The first items as a message names them, and how many others there are: `["'a'", "'b'", "3 more"]`. */
export function firstAndMore<T>(items: readonly T[], max: number, name: (item: T) => string): string[] {
  const more = items.length - max;
  return [...items.slice(0, max).map(name), ...(more > 0 ? [`${more} more`] : [])];
}

/** The error for a value of another kind than `wanted`, which has its article: "a string". */
export function wrongType(name: string, wanted: string, value: unknown): ArgumentTypeError {
  return new ArgumentTypeError(`${name} must be ${wanted}, got ${describe(value)}`);
}

/** @throws TypeError for what is neither true nor false */
export function readFlag(value: unknown, name: string): boolean {
  if (typeof value === "boolean") return value;
  throw wrongType(name, "true or false", value);
}

/** What `read` makes of a value; undefined where it is left out. */
export function optional<T>(value: unknown, name: string, read: (value: unknown, name: string) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value, name);
}
