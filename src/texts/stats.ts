/** The result of `svc_stats` and of the remote `stats`. */
import type { Collection } from "../store/collection.ts";

/** A collection's settings and runtime counters; field names are the protocol's. */
export interface CollectionCounters {
  name: string;
  key_name: string;
  /** Live rows. */
  external_ids: number;
  [counter: string]: unknown;
}

/** The collection's settings and runtime counters. */
export function collectionStats(collection: Collection): CollectionCounters {
  const { lexical_k1, lexical_b, lexical_built, ...counters } = collection.stats();
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
  };
}
