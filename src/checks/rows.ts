/** Ids and metadata, side by side with rows. */

import { readIds } from "./ids.ts";
import { optional } from "./kinds.ts";
import { checkLength } from "./lists.ts";
import { readMetadata } from "./metadata.ts";
import type { Metadata } from "./values.ts";

/** Checked ids and metadata; null counts as left out. */
export interface Besides {
  ids?: readonly string[] | null | undefined;
  metadata?: readonly (Metadata | null | undefined)[] | null | undefined;
}

/** @throws what `readIds`, `readMetadata` and `checkBesides` throw */
export function readBesides({ ids, metadata }: { ids?: unknown; metadata?: unknown }, rows: number): Besides {
  return checkBesides(
    { ids: optional(ids, "ids", readIds), metadata: optional(metadata, "metadata", readMetadata) },
    rows,
  );
}

/** @throws ValueError unless each list has an entry for each row */
export function checkBesides(besides: Besides, rows: number): Besides {
  checkLength(besides.ids, "ids", rows);
  checkLength(besides.metadata, "metadata", rows);
  return besides;
}
