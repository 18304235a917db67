/** Figures of imports. */
import type { Usage } from "../cost.ts";

/** What one process did: it put texts in commits, then compacted. */
export interface Imported {
  used: Usage;
  compaction: Usage;
  /** Bytes of its files after that. */
  disk: number;
}

/** One way to store texts. */
export interface Contender extends Imported {
  name: string;
  /** Syncs of a commit; absent where strace is not installed. */
  syncs?: number;
}

/** Texts of one kind. */
export interface Kind {
  name: "notes" | "passages";
  rows: number;
  /** Of the texts. */
  bytes: number;
  own: Contender;
  fts5: Contender;
}
