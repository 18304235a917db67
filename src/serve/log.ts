/** What the server says about itself: events with fields. Where they go and how they look is the caller's business. */

export type Level = "info" | "warn" | "error";

/** Something that happened. Fields never hold a token, a text or a vector. */
export interface LogEvent {
  level: Level;
  /** What happened, in snake_case, for programs. */
  event: string;
  /** The same as a sentence, for people. */
  message: string;
  fields?: Record<string, string | number | boolean | null>;
}

export type Log = (event: LogEvent) => void;
