/** What a connection is given by its server. */
import type { LocalStore } from "../engine/local-store.ts";
import type { Connection } from "./connection.ts";
import type { Counters } from "./counters.ts";
import type { Decoder } from "./decoder.ts";
import type { Limits } from "./limits.ts";
import type { AccessToken } from "./token.ts";

export interface Session {
  readonly store: LocalStore;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly decoder: Decoder;
  /** Undefined where a connection is trusted without one. */
  readonly token: AccessToken | undefined;
  /** Whether all connections together keep more bytes than they may. */
  readonly isCrowded: boolean;
  serverStats(): Record<string, unknown>;
  /** A connection keeps so many bytes more, or less, than it said before. */
  buffered(change: number): void;
  authenticated(connection: Connection): void;
  /** A connection is closed because of what it sent. */
  refused(connection: Connection, error: string, why: string): void;
}
