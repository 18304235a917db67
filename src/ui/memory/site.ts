/** What the pages of `svc ui` are about: a memory, and what its owner may do with it here. */
import type { LocalStore } from "../../api/local-store.ts";
import type { CollectionOverview, ReposPayload, Verbs } from "../../memory/requests.ts";
import type { Terminal } from "../../memory/terminal.ts";

/** A finding of `svc doctor`. */
export interface HealthFinding {
  readonly area: string;
  readonly level: "ok" | "warning" | "problem";
  readonly message: string;
  /** What to do; null for nothing. */
  readonly remedy: string | null;
}

/** What only a memory on this machine has. A memory of `svc serve` has the 19 verbs alone. */
export interface LocalParts {
  /** What the folders of collections say: see `Memory.overview`. */
  readonly overview: () => Promise<readonly CollectionOverview[]>;
  /** History, undo, edits, imports: the verbs that are not tools. */
  readonly terminal: () => Promise<Terminal>;
  /** Opens the memory's files for work on whole collections. */
  readonly withStore: <T>(work: (store: LocalStore) => Promise<T>) => Promise<T>;
  /** Which repositories are indexed. */
  readonly repositories: () => Promise<ReposPayload>;
  /** What `svc doctor` finds. */
  readonly health: (signal: AbortSignal) => Promise<readonly HealthFinding[]>;
}

export interface Site {
  readonly verbs: Verbs;
  /** Absent for a memory elsewhere. */
  readonly local?: LocalParts | undefined;
  /** The memory, as a person calls it: its directory, or the address of its server. */
  readonly memory: string;
  /** Whether every change is refused (`--read-only`). */
  readonly readOnly: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}
