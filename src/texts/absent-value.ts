/** The notice for a filter whose value no row has: it suggests similar values. */
import { columnName, listed, shown } from "../checks/kinds.ts";
import { REPO_KEY } from "../checks/names.ts";
import { nearestOf } from "../checks/nearest.ts";
import type { FilterValue } from "../checks/values.ts";
import type { Condition } from "../checks/where.ts";
import type { Collection } from "../store/collection.ts";
import { Collections } from "./collections.ts";
import type { Searched } from "./searched.ts";

/** Values that are named. */
const NAMED_MAX = 5;
/** Values that are compared with the one asked for: 5 us each. Those of the most rows are. */
const COMPARED_MAX = 2_000;
/** UTF-16 units of a value that is compared. */
const COMPARED_UNITS = 64;

/**
 * The nearest values with their counts, or those of the most rows where none is near; undefined where rows have the
 * value. Values of repositories are made by svc and are not guessed.
 */
export function absentValue(target: Searched, where: Condition | undefined): string | undefined {
  const parts = (target instanceof Collections ? target.all : [target]).filter(
    (one) => one.schema.keyName !== REPO_KEY,
  );
  if (where === undefined || parts.length === 0 || parts.some((one) => one.count(where) > 0)) return undefined;
  const column = columnName(where.column);
  const of = target instanceof Collections ? "" : ` of ${shown(target.name)}`;
  const values = valuesOf(parts, where.column);
  if (values.length === 0) return `no row${of} has a ${column}`;
  const compared = values.slice(0, COMPARED_MAX).map(({ value }) => String(value));
  const near = nearestOf(
    cut(String(where.value)),
    compared.filter(({ length }) => length <= COMPARED_UNITS),
  );
  const some = (near.length > 0 ? near : compared).slice(0, NAMED_MAX);
  const all = some.map((text) => {
    const { value, rows } = values.find((one) => String(one.value) === text)!;
    return `${asInFilter(value)} (${rows} ${rows === 1 ? "row" : "rows"})`;
  });
  if (near.length === 0 && values.length > all.length) all.push(`${values.length - all.length} more`);
  const which = near.length > 0 ? "nearest:" : all.length === 1 ? "there is" : "there are";
  return `no row${of} has ${column} ${asInFilter(where.value)}; ${which} ${listed(all, "and")}`;
}

/** The values of a column with their rows in all collections, most rows first. */
function valuesOf(parts: readonly Collection[], column: string): { value: FilterValue; rows: number }[] {
  if (parts.length === 1) return parts[0]!.values(column);
  const rowsOf = new Map<FilterValue, number>();
  for (const one of parts) {
    for (const { value, rows } of one.values(column)) rowsOf.set(value, (rowsOf.get(value) ?? 0) + rows);
  }
  return [...rowsOf].map(([value, rows]) => ({ value, rows })).sort((a, b) => b.rows - a.rows);
}

/** As a filter is written: a text in quotes. */
function asInFilter(value: FilterValue): string {
  return typeof value === "string" ? shown(value) : String(value);
}

const cut = (text: string) => text.slice(0, COMPARED_UNITS);
