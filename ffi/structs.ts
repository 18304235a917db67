/**
 * The argument structs of ty_runtime.h. Every field is 8 bytes wide, so a struct is an array of 64-bit words, here filled
 * and read by the names of its fields. A test compares the names and their order with the header.
 */
import { address, type Bytes, type PackedStrings } from "./packing.ts";

/** Counters of a collection: the enum `TY_STAT_...`. */
export const STAT_NAMES = [
  "generation",
  "live_rows",
  "total_rows",
  "base_rows",
  "delta_rows",
  "disk_bytes",
  "unsaved_rows",
  "partitions",
  "ivf_partitions",
  "lexical_built",
  "lexical_terms",
  "searches",
  "lexical_lost",
  "damages",
  "base_bytes",
  "delta_bytes",
  "saves",
  "base_dead",
  "delta_dead",
  "history_bytes",
  "text_rows",
  "meaning_rows",
  "meaning_bytes",
  "meaning_lost",
] as const;

// biome-ignore format: several fields to a line
/** The fields of each struct, in the order of the header. */
export const FIELDS = {
  ty_terms_args: ["n", "texts", "text_ends", "out", "out_capacity", "out_ends", "out_count"],
  ty_occurrences_args: [
    "n", "texts", "text_ends", "m", "strings", "string_ends", "out", "out_capacity", "out_count",
  ],
  ty_holder_args: ["text", "text_bytes", "pid", "state", "foreign"],
  ty_put_args: [
    "n", "mode", "flags", "vectors", "model", "embed_most", "ids", "id_ends", "metas", "meta_ends", "texts",
    "text_ends", "keys", "key_ends", "labels", "label_ends", "likes", "like_ends", "changes", "inserted",
    "replaced", "following", "updated", "created", "ahead",
  ],
  ty_delete_args: ["n", "ids", "id_ends", "removed"],
  ty_meaning_encode_args: ["most", "stop", "background", "out", "out_count", "base", "left"],
  ty_meaning_put_args: ["records", "n", "base", "put", "base_changed"],
  ty_meaning_copy_args: ["n", "ids", "id_ends", "vectors", "copied"],
  ty_compact_args: ["reclaimed_rows", "live_rows", "keep", "ids", "id_ends", "n"],
  ty_ivf_args: ["min_rows", "target_recall", "built"],
  ty_lexical_args: ["k1", "b"],
  ty_ask_args: [
    "by", "vector", "model", "embed_most", "text", "text_bytes", "top_k", "column", "key", "key_bytes",
    "under_column", "under", "under_bytes", "target_recall", "dense_weight", "weighted", "meaning", "what", "most_bytes",
    "labels", "label_bytes", "label_share", "out", "out_capacity", "out_bytes", "out_count", "fused",
    "screened_rows", "scored_rows", "probed_lists", "trouble", "words", "known", "replaced", "weights",
    "by_meaning", "meaning_weight",
  ],
  ty_many_args: ["n", "collections", "columns", "trouble", "failed"],
  ty_passages_args: [
    "text", "text_bytes", "column", "key", "key_bytes", "n", "texts", "text_ends", "places",
  ],
  ty_fuse_args: ["n", "vector", "words", "priors", "dense_weight", "out"],
  ty_search_many_args: [
    "queries", "n", "top_k", "column", "key", "key_bytes", "target_recall", "what", "threads", "weighted", "counts",
    "out", "out_capacity", "out_bytes", "screened_rows", "scored_rows", "probed_lists", "trouble",
  ],
  ty_get_args: ["n", "ids", "id_ends", "text_most", "what", "out", "out_capacity", "out_bytes"],
  ty_neighbours_args: ["n", "ids", "id_ends", "what", "text_most", "out", "out_capacity", "out_bytes"],
  ty_same_args: ["n", "texts", "text_ends", "most", "out", "out_capacity", "out_bytes", "out_count"],
  ty_ids_args: [
    "column", "key", "key_bytes", "after", "after_bytes", "limit", "since", "until", "newest", "having", "having_ends",
    "n", "what", "text_most", "out", "out_capacity", "out_bytes", "out_count",
  ],
  ty_saves_args: ["before", "undos", "limit", "out", "out_capacity", "out_bytes", "out_count"],
  ty_changes_args: [
    "from", "to", "limit", "text_most", "id", "id_bytes", "origins", "what", "out", "out_capacity", "out_bytes",
    "out_count",
  ],
  ty_count_args: ["column", "key", "key_bytes", "digests", "count", "digest"],
  ty_days_args: ["n", "out"],
  ty_sample_args: ["n", "seed", "out", "out_count"],
  ty_manifest_args: ["out", "out_capacity", "out_bytes"],
  ty_stats_args: [...STAT_NAMES, "lexical_k1", "lexical_b"],
  ty_partitions_args: ["column", "out", "out_capacity", "out_bytes", "out_count"],
  ty_damages_args: ["out", "out_capacity", "out_bytes", "out_count"],
  ty_check_args: ["out", "out_capacity", "out_bytes", "found", "bytes", "generation"],
  ty_salvage_open_args: ["dir", "n", "names", "sizes", "dim", "dtype", "columns", "written"],
  ty_salvage_row_args: [
    "kind", "file", "at", "bytes", "row", "replaced", "created", "updated", "restored", "out", "out_capacity", "out_bytes",
  ],
  ty_copy_args: ["dir", "link", "linked", "copied", "map_differs"],
  ty_tree_tell_args: ["n", "verdicts", "paths", "path_ends", "marks"],
  ty_tree_walk_args: [
    "begin", "below", "below_bytes", "after", "after_bytes", "most_ns", "out", "out_capacity", "reached",
    "reached_bytes", "event_bytes", "events", "done", "late", "undecodable", "visited",
  ],
  ty_tree_read_args: [
    "path", "path_bytes", "most", "out", "out_capacity", "outcome", "bytes", "size", "mark", "changed_ms", "hash",
    "sys_errno",
  ],
} as const;

type Name = keyof typeof FIELDS;
/** The fields of a struct. */
export type FieldOf<N extends Name> = (typeof FIELDS)[N][number];

/** The index of each field, by struct. They are made at the first use of a struct: a short process uses few. */
const INDEXES = new Map<Name, Record<string, number>>();

/** A struct of this name, all zero. */
export function struct<N extends Name>(name: N): Struct<FieldOf<N>> {
  const indexes = INDEXES.get(name) ?? indexesOf(name);
  return new Struct<FieldOf<N>>(indexes as Record<FieldOf<N>, number>, FIELDS[name].length);
}

function indexesOf(name: Name): Record<string, number> {
  const indexes: Record<string, number> = {};
  FIELDS[name].forEach((field, i) => {
    indexes[field] = i;
  });
  INDEXES.set(name, indexes);
  return indexes;
}

/** One argument struct. It keeps the memory of its pointers alive until it is released. */
export class Struct<Field extends string> {
  /** The struct as 32-bit words, the lower half of each field first. A BigUint64Array would make twenty bigints a query. */
  readonly u32: Uint32Array<ArrayBuffer>;
  private readonly f64: Float64Array<ArrayBuffer>;
  private readonly referenced: (Bytes | undefined)[] = [];

  constructor(
    private readonly indexes: Readonly<Record<Field, number>>,
    length: number,
  ) {
    const memory = new ArrayBuffer(length * 8);
    this.u32 = new Uint32Array(memory);
    this.f64 = new Float64Array(memory);
  }

  /** Sets a field to an integer from 0 to 2^53 - 1; the caller has checked its range. */
  integer(field: Field, value: number): this {
    const index = this.indexes[field];
    this.u32[index * 2] = value;
    this.u32[index * 2 + 1] = value / 2 ** 32;
    return this;
  }

  /** Sets a field to 2^64 - 1, which stands for none. */
  none(field: Field): this {
    const index = this.indexes[field];
    this.u32.fill(0xffff_ffff, index * 2, index * 2 + 2);
    return this;
  }

  /** Sets a field to a double. */
  double(field: Field, value: number): this {
    this.f64[this.indexes[field]] = value;
    return this;
  }

  /** Points a field at a view, which is kept alive until `release`; at nothing (NULL) where the view is absent or empty. */
  pointer(field: Field, view: Bytes | undefined): this {
    this.referenced[this.indexes[field]] = view;
    return this.integer(field, address(view));
  }

  /** Points a field at bytes, and sets another one to their number. */
  bytes(field: Field, lengthField: Field, bytes: Uint8Array): this {
    return this.pointer(field, bytes).integer(lengthField, bytes.byteLength);
  }

  /** Points two fields at packed strings: at their bytes and their ends. Absent strings leave both NULL. */
  strings(field: Field, endsField: Field, strings: PackedStrings | undefined): this {
    return strings ? this.pointer(field, strings.bytes).pointer(endsField, strings.ends) : this;
  }

  /** Reads a field back as a number. The value must be below 2^53: all counts are. */
  number(field: Field): number {
    const index = this.indexes[field];
    return this.u32[index * 2]! + this.u32[index * 2 + 1]! * 2 ** 32;
  }

  /** Reads a field back as all of its 64 bits. */
  bits(field: Field): bigint {
    const index = this.indexes[field];
    return (BigInt(this.u32[index * 2 + 1]!) << 32n) | BigInt(this.u32[index * 2]!);
  }

  /** Reads a field back as a double. */
  float(field: Field): number {
    return this.f64[this.indexes[field]]!;
  }

  /** Drops the references to the pointers' views. Call it after the native call: none may be collected during the call. */
  release(): void {
    this.referenced.length = 0;
  }
}
