/** The result of `svc_stats` and of the remote `stats`. */
import type { Damage } from "../../ffi/records.ts";
import type { NativeStats } from "../../ffi/ty_reader.ts";
import type { Collection } from "../store/collection.ts";
import type { SentenceEncoder } from "./meaning/encoder.ts";
import { canHaveMeaning, isMeaningOn } from "./meaning/setting.ts";

/** A collection's settings and runtime counters; field names are the protocol's. */
export interface CollectionCounters {
  name: string;
  key_name: string;
  /** Live rows. */
  external_ids: number;
  [counter: string]: unknown;
}

/** Damaged places that are named. */
const NAMED_MAX = 3;

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
  const first = collection.damages().slice(0, NAMED_MAX);
  return { damaged: { count, first: first.map(({ file, offset, what }) => ({ file, offset, what })) } };
}

/** How many texts have vectors of meaning; nothing of collections that cannot have them. */
async function meaningOf(collection: Collection, encoder: SentenceEncoder | undefined, counted: NativeStats) {
  if (!canHaveMeaning(collection.schema)) return {};
  // Vectors count where they are of this process's model.
  const isRead = counted.meaning_bytes > 0 && encoder?.isReady === false && (await encoder.load());
  const { text_rows, meaning_rows, meaning_bytes, meaning_lost } = isRead ? collection.stats() : counted;
  const state = isMeaningOn(collection) ? "on" : "off";
  return { meaning: state, text_rows, meaning_rows, meaning_bytes, ...(meaning_lost && { meaning_lost: true }) };
}

/**
 * The collection's settings and runtime counters.
 * @param encoder of this process
 */
export async function collectionStats(
  collection: Collection,
  encoder: SentenceEncoder | undefined,
): Promise<CollectionCounters> {
  const all = collection.stats();
  const { lexical_k1, lexical_b, lexical_built, damages, ...others } = all;
  const { text_rows, meaning_rows, meaning_bytes, meaning_lost, ...counters } = others;
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
    ...(await meaningOf(collection, encoder, all)),
    ...damagedOf(collection, damages),
  };
}
