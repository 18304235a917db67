import { Deadline } from "./deadline.ts";

/** Files found before they are read, where there is a deadline: a second's work. */
const ROUND_FILES_MAX = 1000;

/** Paths visited past the deadline in search of a first file to read: a large tree without any must end, too. */
const LATE_PATHS_MAX = 1000;

/** A call's limits on files and time, and its progress. */
export class Budget {
  /** Files to read that the walk found. */
  found = 0;
  /** Files that were tried. */
  tried = 0;
  /** Tried files, except those that could not be read this time. */
  settled = 0;
  /** Files that were chunked. */
  chunked = 0;

  /** Milliseconds before the deadline that are kept for what follows the reading. */
  reservedMs = 0;

  private latePaths = 0;

  /** @param maxFiles files to chunk; 0: no limit */
  constructor(
    private readonly maxFiles = 0,
    readonly deadline = new Deadline(),
  ) {}

  get isLimited(): boolean {
    return this.maxFiles > 0 || this.deadline.isSet;
  }

  /** Milliseconds until the deadline; `Infinity` where there is none. */
  get msLeft(): number {
    return this.deadline.msLeft;
  }

  /** Files to find before they are read. Without a limit all. */
  get roundFilesMax(): number {
    const files = this.maxFiles > 0 ? this.maxFiles - this.chunked : Number.POSITIVE_INFINITY;
    return this.deadline.isSet ? Math.min(files, ROUND_FILES_MAX) : files;
  }

  /**
   * Whether no further path may be visited. Each call reads at least one file: otherwise indexing would never finish
   * with a deadline shorter than the walk.
   * @param waiting files found and not yet read
   */
  isSpent(waiting: number): boolean {
    if (this.maxFiles > 0 && this.chunked >= this.maxFiles) return true;
    if (this.msLeft > this.reservedMs) return false;
    return this.settled > 0 || waiting > 0 || ++this.latePaths > LATE_PATHS_MAX;
  }

  /**
   * Whether no further file may be read.
   * @param waitingMs how long it will take to save what was read
   */
  isReadingOver(waitingMs: number): boolean {
    return this.settled > 0 && this.msLeft <= this.reservedMs + waitingMs;
  }
}
