/** The only filter: a column equals a value. */
import { ValueError } from "../errors.ts";
import { describe, isObject, member, shown, wrongType } from "./kinds.ts";
import { checkKept } from "./numbers.ts";
import { checkWellFormed } from "./strings.ts";
import type { FilterValue } from "./values.ts";

/** The condition of a filter. */
export interface Condition {
  column: string;
  value: FilterValue;
}

/** Columns that a message names. */
const COLUMNS_SHOWN = 8;

/**
 * The condition in a filter; undefined where it is left out, null or without a key.
 * @throws TypeError for what is not an object; ValueError for several keys or an invalid value
 */
export function readWhere(where: unknown, name = "where"): Condition | undefined {
  if (where === undefined || where === null) return undefined;
  if (!isObject(where)) throw wrongType(name, 'an object with one key, as in {"scope": "work"}', where);
  const columns = Object.keys(where);
  if (columns.length === 0 && isPlain(where)) return undefined;
  if (columns.length !== 1) {
    const named =
      columns.slice(0, COLUMNS_SHOWN).map(shown).join(", ") + (columns.length > COLUMNS_SHOWN ? ", ..." : "");
    throw new ValueError(
      `${name} has ${columns.length} keys (${named}): give one; ` +
        "to combine conditions, store a composite value in one column",
    );
  }
  const column = columns[0]!;
  checkWellFormed(column, `a key of ${name}`);
  return { column, value: readFilterValue(where[column], member(name, column)) };
}

/** A value to compare with; undefined becomes null, which matches rows without a value. @throws ValueError */
export function readFilterValue(value: unknown, name: string): FilterValue {
  if (typeof value === "string") checkWellFormed(value, name);
  else if (typeof value === "number") checkKept(value, name);
  else if (value !== undefined && value !== null && typeof value !== "boolean") {
    throw new ValueError(`${name} must be a string, a number, true, false or null, got ${describe(value)}`);
  }
  return value ?? null;
}

/** A value as a person writes it: `1`, `true`, `null` and `"1"` are JSON; everything else is the text as it stands. */
export function readWrittenValue(written: string): unknown {
  if (!/^(?:-?\d|true$|false$|null$|".*"$)/s.test(written)) return written;
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

/** Whether an object without keys filters nothing. A Map or a class instance is a mistake: a filter was meant. */
function isPlain(where: object): boolean {
  const prototype = Object.getPrototypeOf(where);
  return prototype === null || prototype === Object.prototype;
}
