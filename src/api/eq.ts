/** Filters and composite keys, as small values. */
import { member } from "../checks/kinds.ts";
import { readString } from "../checks/strings.ts";
import { readFilterValue } from "../checks/where.ts";
import { ValueError } from "../errors.ts";
import type { FilterValue, Where } from "./api.ts";

/**
 * The only filter: rows whose metadata `column` equals `value`. Equality is typed: `1` equals `1.0`, not `"1"`, not
 * `true`; null matches rows without a value there.
 * @throws ValueError for an array or an object, which equals nothing
 */
export function Eq(column: string, value: FilterValue): Where {
  readString(column, "the column of Eq");
  if (value === undefined)
    throw new ValueError(`${member("where", column)} is left out: give null for rows without a value`);
  // Without a prototype a column may be called anything, `__proto__` included.
  const where = Object.create(null) as Record<string, FilterValue>;
  where[column] = readFilterValue(value, member("where", column));
  return Object.freeze(where);
}

/**
 * A key for a combination of values in one column: `scopeKey("acme", "note")` is `"acme:note"`. Different parts never
 * give the same key: `:` and `%` inside a part are written `%3A` and `%25`.
 */
export function scopeKey(...parts: readonly (string | number | boolean)[]): string {
  return parts.map((part) => String(part).replaceAll("%", "%25").replaceAll(":", "%3A")).join(":");
}
