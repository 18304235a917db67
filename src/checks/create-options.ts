/** Options of a new collection, except its embedder. */
import { optional } from "./kinds.ts";
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
