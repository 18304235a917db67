/** Messages between the benchmark and a contender's process: JSON, one command at a time. */
import type { Filter } from "./contender.ts";

/** What a contender's process reads first: its name, and where the data is. */
export interface Job {
  name: string;
  /** Folder of this contender. */
  dir: string;
  /** The folder with the peer's `node_modules`. */
  packages: string;
  rows: number;
  dim: number;
  /** Files of bare floats. */
  dataFile: string;
  queriesFile: string;
}

/** One kind of query. */
export interface Way {
  kind: "exact" | "exactBatch" | "approximate" | "filtered";
  /** Of `approximate`. */
  setting?: number;
  /** Of `filtered`. */
  filter?: Filter;
  /** Of `exactBatch`. */
  threads?: number;
}

/** A command and its arguments. */
export type Command =
  | { do: "describe" }
  | { do: "ingest" }
  | { do: "buildIndex" }
  /** The answers to the first `count` queries. */
  | { do: "answers"; way: Way; count: number }
  /** Runs queries for about `budget` milliseconds. */
  | { do: "time"; way: Way; budget: number }
  | { do: "close" };

/** What a contender can do. */
export interface Described {
  settings: number[];
  ways: Way["kind"][];
  builds: boolean;
  runtime: string;
}

/** Cost of one query, in microseconds, all threads of the process together. */
export interface Timing {
  cpu: number;
  wall: number;
  queries: number;
}
