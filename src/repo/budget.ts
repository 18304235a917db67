/** Files found before they are read, where there is a deadline: a second's work. */
const ROUND_FILES_MAX = 1000;

/** Paths visited past the deadline in search of a first file to read: a large tree without any must end, too. */
const LATE_PATHS_MAX = 1000;

/** A call's limits on files and time, from its construction, and its progress. */
export class Budget {
  /** Files to read that the walk found. */
  found = 0;
  /** Files that were tried. */
  tried = 0;
  /** Tried files, except those that could not be read this time. */
  settled = 0;
  /** Files that were chunked. */
  chunked = 0;

  private readonly deadline: number;
  private latePaths = 0;

  /**
   * @param maxFiles files to chunk; 0: no limit
   * @param maxSeconds from now; 0: no limit
   */
  constructor(
    private readonly maxFiles = 0,
    maxSeconds = 0,
  ) {
    this.deadline = maxSeconds > 0 ? performance.now() + maxSeconds * 1000 : Number.POSITIVE_INFINITY;
  }

  get isLimited(): boolean {
    return this.maxFiles > 0 || this.hasDeadline;
  }

  /** Milliseconds until the deadline; `Infinity` where there is none. */
  get msLeft(): number {
    return this.hasDeadline ? this.deadline - performance.now() : Number.POSITIVE_INFINITY;
  }

  /** Files to find before they are read. Without a limit all: then fingerprints are voided on disk only once. */
  get roundFilesMax(): number {
    const files = this.maxFiles > 0 ? this.maxFiles - this.chunked : Number.POSITIVE_INFINITY;
    return this.hasDeadline ? Math.min(files, ROUND_FILES_MAX) : files;
  }

  /**
   * Whether no further path may be visited. Each call reads at least one file: otherwise indexing would never finish
   * with a deadline shorter than the walk.
   * @param waiting files found and not yet read
   */
  isSpent(waiting: number): boolean {
    if (this.maxFiles > 0 && this.chunked >= this.maxFiles) return true;
    if (this.msLeft > 0) return false;
    return this.settled > 0 || waiting > 0 || ++this.latePaths > LATE_PATHS_MAX;
  }

  /** Whether no further file may be read. */
  get isReadingOver(): boolean {
    return this.settled > 0 && this.msLeft <= 0;
  }

  private get hasDeadline(): boolean {
    return this.deadline !== Number.POSITIVE_INFINITY;
  }
}
