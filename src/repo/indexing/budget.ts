import { Deadline } from "../files/deadline.ts";
import type { IndexWork } from "./options.ts";

/** A call's limits on files and time, and its progress. */
export class Budget {
  /** Files to read that the walk found. */
  found = 0;
  /** Their bytes. */
  foundBytes = 0;
  /** Files that were tried. */
  tried = 0;
  triedBytes = 0;
  /** Tried files, except those that could not be read this time. */
  settled = 0;
  /** Files that were chunked. */
  chunked = 0;

  /** Milliseconds before the deadline that are kept for what follows the reading. */
  reservedMs = 0;

  /** @param maxFiles files to chunk; 0: no limit */
  constructor(
    private readonly maxFiles = 0,
    readonly deadline = new Deadline(),
  ) {}

  /** How far the run is. */
  work(phase: IndexWork["phase"]): IndexWork {
    const { tried, found, triedBytes, foundBytes } = this;
    return { phase, files: tried, filesFound: found, bytes: triedBytes, bytesFound: foundBytes };
  }

  get isLimited(): boolean {
    return this.maxFiles > 0 || this.deadline.isSet;
  }

  /** Milliseconds until the deadline; `Infinity` where there is none. */
  get msLeft(): number {
    return this.deadline.msLeft;
  }

  /**
   * Whether no further file may be read. Each call reads at least one: otherwise indexing would never end with a
   * deadline shorter than a look.
   * @param waitingMs how long it will take to save what was read
   */
  isReadingOver(waitingMs: number): boolean {
    if (this.maxFiles > 0 && this.chunked >= this.maxFiles) return true;
    return this.settled > 0 && this.msLeft <= this.reservedMs + waitingMs;
  }
}
