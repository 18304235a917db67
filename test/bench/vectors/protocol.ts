/** What the benchmark and a contender's process say to each other: JSON, one command at a time. */
import type { Filter } from "./contender.ts";

/** What a contender's process reads first: where the data is, and who it is. */
export interface Job {
  name: string;
  /** Its own folder. */
  dir: string;
  /** The folder with the peer's `node_modules`. */
  packages: string;
  rows: number;
  dim: number;
  /** Files of bare floats. */
  dataFile: string;
  queriesFile: string;
}

/** One way to ask. */
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
  /** The answers to the first `count` questions. */
  | { do: "answers"; way: Way; count: number }
  /** Asks for about `budget` milliseconds. */
  | { do: "time"; way: Way; budget: number }
  | { do: "close" };

/** What a contender can do. */
export interface Described {
  settings: number[];
  ways: Way["kind"][];
  builds: boolean;
  runtime: string;
}

/** Cost of one question, in microseconds, all threads of the process together. */
export interface Timing {
  cpu: number;
  wall: number;
  questions: number;
}
