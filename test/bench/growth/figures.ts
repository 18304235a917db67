/** Figures of collections of several sizes. */
import type { Usage } from "../cost.ts";
import type { Kind } from "./options.ts";

/** Milliseconds of CPU time of the operations of a compacted collection; those of several are medians. */
export interface Life {
  later: number;
  add: number;
  undo: number;
  delete: number;
  check: number;
}

/** A process that opens a collection and asks once: milliseconds. */
export interface Opened {
  /** CPU time. */
  open: number;
  first: number;
  /** Both by the clock. */
  wall: number;
}

/** One collection. */
export interface Size {
  rows: number;
  import: Usage;
  /** Bytes of memory that no file backs, most of it during the import, less what there was before. */
  anonymous: number;
  compaction: Usage;
  /** Bytes of its files, compacted. */
  disk: number;
  warm: Opened;
  /** With no page of its files in memory. */
  cold: Opened;
  life: Life;
}

/** Collections of one kind, from the smallest. */
export interface Grown {
  kind: Kind;
  sizes: Size[];
}
