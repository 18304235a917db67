/** Ids and metadata, side by side with rows. */

import { readIds } from "./ids.ts";
import { optional } from "./kinds.ts";
import { checkLength } from "./lists.ts";
import { readMetadata } from "./metadata.ts";
import type { Metadata } from "./values.ts";

/** Checked ids and metadata; null counts as left out. */
export interface RowDetails {
  ids?: readonly string[] | null | undefined;
  metadata?: readonly (Metadata | null | undefined)[] | null | undefined;
}

/** @throws what `readIds`, `readMetadata` and `checkRowDetails` throw */
export function readRowDetails({ ids, metadata }: { ids?: unknown; metadata?: unknown }, rows: number): RowDetails {
  return checkRowDetails(
    { ids: optional(ids, "ids", readIds), metadata: optional(metadata, "metadata", readMetadata) },
    rows,
  );
}

/** @throws ValueError unless each list has an entry for each row */
export function checkRowDetails(details: RowDetails, rows: number): RowDetails {
  checkLength(details.ids, "ids", rows);
  checkLength(details.metadata, "metadata", rows);
  return details;
}
