/** A request under way, and what its operation permits. */
import type { SvcError } from "../../errors.ts";
import type { Peer } from "./peer.ts";

/** Called with each reply before a later one is read: its connection, and its error if it is one. */
export type OnReply = (peer: Peer, failure: SvcError | undefined) => void;

/** Operations that change nothing and may be repeated. */
const REPEATABLE: ReadonlySet<string> = new Set([
  "ping",
  "collections",
  "open_collection",
  "search",
  "search_text",
  "search_hits",
  "get",
  "ids",
  "stats",
]);

/** Operations whose changes are unsaved until a save. */
const CHANGES: ReadonlySet<string> = new Set(["add", "upsert", "add_texts", "upsert_texts", "delete"]);

/** A request under way. */
export class Call {
  readonly isChange: boolean;
  /** Bytes of the frame that the system took on the present connection. */
  sentBytes = 0;
  /** The system took all of it on the present connection. */
  isSent = false;
  /** Connections that it was sent on. */
  sends = 0;

  constructor(
    readonly op: string,
    readonly frame: Buffer,
    readonly resolve: (result: unknown) => void,
    readonly reject: (error: Error) => void,
    readonly onReply?: OnReply,
    readonly isRepeatable = REPEATABLE.has(op),
  ) {
    this.isChange = CHANGES.has(op);
  }

  /** Whether it may have changed something without a reply that says so. */
  get mayBeApplied(): boolean {
    return this.isSent && !this.isRepeatable;
  }
}
