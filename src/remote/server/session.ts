/** What a connection uses of its server. */
import type { LocalStore } from "../../engine/local-store.ts";
import type { Budget } from "./budget.ts";
import type { Clients } from "./clients.ts";
import type { Counters } from "./counters.ts";
import type { Limits } from "./limits.ts";
import type { Decoder } from "./requests/decoder.ts";
import type { RepeatedRequest } from "./requests/parse.ts";
import type { AccessToken } from "./token.ts";
import type { Unsaved } from "./unsaved.ts";

export interface Session {
  readonly store: LocalStore;
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
  readonly clients: Clients;
}
