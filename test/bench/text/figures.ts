/** Figures, as the JSON has them. */
import type { Cost } from "../cost.ts";
import type { QueryTimes } from "./ask.ts";
import type { Adds } from "./ours.ts";
import type { Embedding } from "./ours-embed.ts";
import type { RowBytes } from "./ours-rows.ts";
import type { Kind } from "./queries.ts";

/** One engine. */
export interface Engine {
  name: string;
  /** With the index where the engine makes it while rows come in. */
  ingest: Cost;
  /** Left out where `ingest` does it. */
  build?: Cost;
  /** Bytes of all its files, and of those for search by words only. */
  disk: number;
  index: number;
  asked: Record<Kind, QueryTimes>;
}

/** What is measured of ours alone. */
export interface Own extends Engine {
  build: Cost;
  /** A rewrite of the rows without an index, which a build does too. */
  compact: Cost;
  adds: Adds;
  embedding: Embedding;
  rows: RowBytes;
}

export interface Figures {
  passages: number;
  bytes: number;
  own: Own;
  peers: Engine[];
}
