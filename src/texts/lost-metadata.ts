/** Stored metadata that an upsert without metadata takes away. */
import { columnName, shown } from "../checks/kinds.ts";
import { SUPERSEDED_BY } from "../checks/names.ts";
import type { RowDetails } from "../checks/rows.ts";
import type { Metadata } from "../checks/values.ts";
import { OSError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import { DEFAULT_PARTITION } from "../store/schema.ts";

/** Rows looked at in one call: metadata may have 64 KiB. */
const ROWS_AT_ONCE = 1_000;

/**
 * How many rows an upsert is about to take metadata from, as a notice; undefined for none. The partition that the rows
 * get alone does not count. To be called in the upsert's change. It takes 2 ms for 10,000 rows, 5 ms where all have metadata.
 */
export function lostMetadata(
  collection: Collection,
  { ids, metadata }: RowDetails & { ids: readonly string[] },
  partition: string = DEFAULT_PARTITION,
): string | undefined {
  if (metadata?.every((given) => given) || collection.count() === 0) return undefined;
  const { keyName } = collection.schema;
  // The last row of an id counts.
  const last = new Map(ids.map((id, i) => [id, metadata?.[i]]));
  const bare = [...last.keys()].filter((id) => !last.get(id));
  let rows = 0;
  let moved = 0;
  for (const stored of metadataOf(collection, bare)) {
    const isMoved = Object.hasOwn(stored, keyName) && stored[keyName] !== partition;
    if (isMoved) moved++;
    // A row that gets a new text is no longer superseded.
    if (isMoved || Object.keys(stored).some((key) => key !== keyName && key !== SUPERSEDED_BY)) rows++;
  }
  if (rows === 0) return undefined;
  const had = rows === 1 ? "1 replaced row had metadata and has" : `${rows} replaced rows had metadata and have`;
  const where = moved === 0 ? "" : `, ${moved} moved to ${columnName(keyName)} ${shown(partition)}`;
  return `${had} none now${where}: svc_update keeps metadata`;
}

/** The metadata of those rows that are live and have some. */
function* metadataOf(collection: Collection, ids: readonly string[]): Generator<Metadata> {
  for (let at = 0; at < ids.length; at += ROWS_AT_ONCE) {
    try {
      const rows = collection.get(ids.slice(at, at + ROWS_AT_ONCE), { metadata: true });
      for (const { metadata } of rows) if (metadata !== undefined) yield metadata;
    } catch (error) {
      // An upsert replaces damaged metadata, and is not to fail for them.
      if (!(error instanceof OSError)) throw error;
    }
  }
}
