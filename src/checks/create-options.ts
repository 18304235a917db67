/** Options of a new collection, except its embedder. */
import { readPartitionKey } from "./names.ts";
import { DIM, readNumber } from "./numbers.ts";
import { readString, readStrings } from "./strings.ts";

/**
 * Checks types only; null counts as left out. Names, words and dimensions are checked where the collection is created.
 * @throws TypeError
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
