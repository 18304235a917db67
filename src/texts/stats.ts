/** The result of `svc_stats` and of the remote `stats`. */
import type { Damage } from "../../ffi/records.ts";
import type { Collection } from "../store/collection.ts";

/** A collection's settings and runtime counters; field names are the protocol's. */
export interface CollectionCounters {
  name: string;
  key_name: string;
  /** Live rows. */
  external_ids: number;
  [counter: string]: unknown;
}

/** Damaged places that are named. */
const NAMED_MOST = 3;

/** What of the collection's files is known to be damaged, where anything is. */
interface Damaged {
  damaged?: {
    /** Places that were found so far: what no call has read yet is not known. */
    count: number;
    first: Pick<Damage, "file" | "offset" | "what">[];
  };
}

function damagedOf(collection: Collection, count: number): Damaged {
  if (count === 0) return {};
  const first = collection.damages().slice(0, NAMED_MOST);
  return { damaged: { count, first: first.map(({ file, offset, what }) => ({ file, offset, what })) } };
}

/** The collection's settings and runtime counters. */
export function collectionStats(collection: Collection): CollectionCounters {
  const { lexical_k1, lexical_b, lexical_built, damages, ...counters } = collection.stats();
  const manifest = collection.manifest();
  const lexical = lexical_built ? { k1: lexical_k1, b: lexical_b, terms: counters.lexical_terms } : null;
  return {
    name: collection.name,
    key_name: manifest.keyName,
    external_ids: counters.live_rows,
    dim: manifest.dim,
    dtype: manifest.dtype,
    metric: manifest.metric,
    filter_columns: manifest.filterColumns,
    lexical: manifest.lexical,
    lexical_index: lexical,
    default_target_recall: manifest.defaultTargetRecall,
    applied_tuner: manifest.appliedTuner,
    embedder_profile: manifest.embedderProfile,
    ...counters,
    ...damagedOf(collection, damages),
  };
}
