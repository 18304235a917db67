/** What the benchmark of TLS and its clients share. */

export const NOTES = "notes";

export const QUERIES = ["tion ment", "base disi", "vuwa zeal ter", "nomo pu", "ingos kelihe"];

/** What the clients report. */
export interface TeamFigures {
  errors: string[];
  /** Milliseconds of each search. */
  times: number[];
  /** Milliseconds until all connections were open and authenticated. */
  connectMs: number;
}
