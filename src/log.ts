/** The log of a server: events with fields. The caller chooses destination and format. */

export type Level = "info" | "warn" | "error";

/** An event. Fields never hold a token, a text or a vector. */
export interface LogEvent {
  level: Level;
  /** Its kind, in snake_case, for programs. */
  event: string;
  /** The same as a sentence, for people. */
  message: string;
  fields?: Record<string, string | number | boolean | null>;
}

export type Log = (event: LogEvent) => void;
