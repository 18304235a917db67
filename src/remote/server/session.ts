/** What a connection uses of its server. */
import type { LocalStore } from "../../engine/local-store.ts";
import type { Budget } from "./budget.ts";
import type { ToolRunner } from "./call-tool.ts";
import type { Counters } from "./counters.ts";
import type { Limits } from "./limits.ts";
import type { Decoder } from "./requests/decoder.ts";
import type { RepeatedRequest } from "./requests/parse.ts";
import type { AccessToken } from "./token.ts";
import type { Unsaved } from "./unsaved.ts";

/** What a connection reports of itself. */
interface ConnectionReports<C> {
  /** A connection has shown its token. */
  authenticated(connection: C): void;
  /** A connection is closed because of what it sent. */
  refused(connection: C, error: string, why: string): void;
  /** A connection failed by an error of the server. */
  broken(connection: C, error: unknown): void;
}

export interface Session<C> {
  readonly store: LocalStore;
  readonly tools: ToolRunner;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly decoder: Decoder;
  readonly repeated: RepeatedRequest;
  /** Undefined where connections need no token. */
  readonly token: AccessToken | undefined;
  readonly budget: Budget;
  /** Which clients made the unsaved changes. */
  readonly unsaved: Unsaved;
  serverStats(): Record<string, unknown>;
  readonly clients: ConnectionReports<C>;
}
