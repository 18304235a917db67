/** What a program says of a new collection, but for its embedder. */
import { readPartitionKey } from "./names.ts";
import { DIM, readNumber } from "./numbers.ts";
import { readString, readStrings } from "./strings.ts";

/**
 * Types only; null counts as left out. Which names, words and dimensions there may be is judged where the collection is
 * made. @throws TypeError
 */
export function readCreateOptions(options: {
  dim?: unknown;
  dtype?: unknown;
  metric?: unknown;
  partitionBy?: unknown;
  filterColumns?: unknown;
}) {
  const { dim, dtype, metric, partitionBy, filterColumns } = options;
  return {
    // Beside an embedder it may be any number.
    dim: optional(dim, "dim", (value, name) =>
      Number.isFinite(value) ? (value as number) : readNumber(value, name, DIM),
    ),
    dtype: optional(dtype, "dtype", readString),
    metric: optional(metric, "metric", readString),
    partitionBy: optional(partitionBy, "partitionBy", readPartitionKey),
    filterColumns: optional(filterColumns, "filterColumns", readStrings),
  };
}

/** What `read` makes of a value; undefined where it is left out. */
export function optional<T>(value: unknown, name: string, read: (value: unknown, name: string) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value, name);
}
