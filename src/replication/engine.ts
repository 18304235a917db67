/**
 * Stores the logs of collections outside of this machine. A log is the collection's sealed files, the blocks of its
 * deltas and, as its head, its newest manifest. Each node has a copy of it on its disk and searches that copy.
 */

/** The newest saved state of a collection. */
export interface Head {
  /** From 1; each commit adds at least 1. */
  generation: number;
  /** The bytes of `collection.json`. */
  manifest: Uint8Array;
  /**
   * The name under which the engine has each file that the manifest names. Stored names end with a random id, because
   * two nodes may make files of one name and only one of them commits.
   */
  files: Record<string, string>;
  /** A UUID of the commit that made this state. */
  commit: string;
  /** A UUID of the log, from its first commit on. A collection that is dropped and made again has another one. */
  log: string;
}

/** Consecutive bytes of a stored file. */
export interface Chunk {
  /** The stored name, at most 200 bytes. */
  file: string;
  /** Where the bytes begin in the file. */
  at: number;
  /** At most `CHUNK_BYTES`. */
  bytes: Uint8Array;
}

/** The most bytes of a chunk. */
export const CHUNK_BYTES = 4 << 20;

/** The right to commit to one collection, which one node at a time has. */
export interface Lease {
  /** The state when the lease was granted; undefined: the engine does not have the collection. */
  readonly head: Head | undefined;
  /**
   * Commits: stores `chunks`, in place of any at the same offsets, and makes `next` the head, all or nothing, and ends the
   * lease. It resolves only when the engine has made the commit durable.
   * @throws EngineError: `lost` and `again` where nothing was committed, `unknown` where there was no answer
   */
  swap(next: Head, chunks: Iterable<Chunk>): Promise<void>;
  /** Ends the lease without a commit; nothing after `swap`. It never throws. */
  release(): Promise<void>;
}

/** Every call has a deadline of its own and throws an EngineError when it passes: a peer may be silent for ever. */
export interface Engine {
  /** The id of the memory that the engine has: another database has another one, whatever its address. */
  memory(): Promise<string>;
  /** The head of a collection; undefined: the engine does not have it. */
  head(collection: string): Promise<Head | undefined>;
  /** The generation of each collection, and its log. */
  generations(): Promise<Map<string, Pick<Head, "generation" | "log">>>;
  /** Whether a log of a collection was dropped. False also for one that the engine has never had. */
  isDropped(collection: string, log: string): Promise<boolean>;
  /**
   * The chunks of a stored file that end after `from` and begin before `to`, in order, from the newest committed or
   * uploaded ones.
   */
  get(collection: string, file: string, from: number, to: number): AsyncIterable<Chunk>;
  /** Stores a chunk of a sealed file before a commit names it. Storing it again with the same bytes changes nothing. */
  put(collection: string, chunk: Chunk): Promise<void>;
  /** Waits for the lease of a collection, for `waitMs` at most. */
  lease(collection: string, waitMs: number): Promise<Lease>;
  /** Removes the stored files of a collection that its head has not named for longer than the grace period. */
  sweep(collection: string): Promise<void>;
  /** Removes a collection, and notes that its log was dropped. @returns false: the engine does not have it */
  drop(collection: string): Promise<boolean>;
  /** The ids of the nodes that are connected now, this one included. */
  nodes(): Promise<string[]>;
  /** Calls `onHint` when another node may have committed. A hint may be missing or wrong; `generations` is the truth. */
  listen(onHint: (collection: string) => void): Promise<void>;
  close(): Promise<void>;
}

/**
 * - `again`: nothing was changed, and the same call may succeed: a deadlock, a serialisation failure, a cut connection
 * - `lost`: nothing was changed, and another node has committed since the lease was granted
 * - `unknown`: the commit was sent and no answer came; it may have been made
 * - `away`: the engine cannot be reached, or does not answer
 * - `refused`: the engine refuses: credentials, rights, certificate, version, space
 */
export type EngineFault = "again" | "lost" | "unknown" | "away" | "refused";

/** A call of an engine failed. Its message says what happened and what to do; it never has a password in it. */
export class EngineError extends Error {
  constructor(
    readonly fault: EngineFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "EngineError";
  }
}
