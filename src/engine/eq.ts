/** Filters and composite keys, as small values. */
import { ArgumentTypeError, ValueError } from "../errors.ts";
import type { FilterValue, Where } from "./api.ts";

/**
 * The one filter there is: rows whose metadata `column` equals `value`. Equality is typed: `1` equals `1.0`, not `"1"`, not `true`; null
 * matches rows that have no value there.
 * @throws ValueError for a value that is an array or an object, which equals nothing
 */
export function Eq(column: string, value: FilterValue): Where {
  if (typeof column !== "string") throw new ArgumentTypeError(`the column of Eq is ${typeof column}, not a string`);
  if (value === undefined || (typeof value === "object" && value !== null)) {
    throw new ValueError(`the value of Eq('${column}') must be a string, a number, true, false or null`);
  }
  // Without a prototype a column may be called anything, `__proto__` included.
  const where = Object.create(null) as Record<string, FilterValue>;
  where[column] = value;
  return Object.freeze(where);
}

/**
 * One value out of several, for a column that stands for their combination: `scopeKey("acme", "note")` is `"acme:note"`. Different parts
 * never give the same key: `:` and `%` inside a part are written `%3A` and `%25`.
 */
export function scopeKey(...parts: readonly (string | number | boolean)[]): string {
  return parts.map((part) => String(part).replaceAll("%", "%25").replaceAll(":", "%3A")).join(":");
}
