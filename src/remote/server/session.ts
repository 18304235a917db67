/** What a connection uses of its server. */
import type { LocalStore } from "../../api/local-store.ts";
import type { Budget } from "./budget.ts";
import type { Callers, Refusal } from "./callers.ts";
import type { Counters } from "./counters.ts";
import type { Limits } from "./limits.ts";
import type { Audit } from "./operations.ts";
import type { Decoder } from "./requests/decoder.ts";
import type { RepeatedRequest } from "./requests/parse.ts";
import type { Unsaved } from "./unsaved.ts";

/** What a connection reports of itself. */
interface ConnectionReports<C> {
  /** A connection has shown its token. */
  authenticated(connection: C): void;
  /** A connection is closed because of what it sent. @returns milliseconds until it gets the reason */
  refused(connection: C, refusal: Refusal): number;
  /** A connection failed by an error of the server. */
  broken(connection: C, error: unknown): void;
}

export interface Session<C> {
  readonly store: LocalStore;
  readonly callers: Callers;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly decoder: Decoder;
  readonly repeated: RepeatedRequest;
  readonly budget: Budget;
  /** Where writes are listed. */
  readonly audit: Audit | undefined;
  /** Which clients made the unsaved changes. */
  readonly unsaved: Unsaved;
  readonly clients: ConnectionReports<C>;
}
