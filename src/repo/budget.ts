/** Files that are found before they are read, where there is a deadline: a second's work. */
const ROUND_FILES_MAX = 1000;

/** Paths that are looked at past the deadline for a first file to read: a large tree with nothing to read in it must end, too. */
const LATE_PATHS_MAX = 1000;

/** What a call may take, counted from when this is made, and what it has taken. */
export class Budget {
  /** Files that the walk found to be read. */
  found = 0;
  /** Files that were tried. */
  tried = 0;
  /** Files about which something is known by that: all but those that cannot be read for now. */
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

  /** Files to find before they are read. Without a limit it is all of them: then fingerprints are voided on disk once only. */
  get roundFilesMax(): number {
    const files = this.maxFiles > 0 ? this.maxFiles - this.chunked : Number.POSITIVE_INFINITY;
    return this.hasDeadline ? Math.min(files, ROUND_FILES_MAX) : files;
  }

  /**
   * Whether no further path may be looked at. One file at least is read in each call, or a deadline shorter than the walk
   * would never let it end.
   * @param waiting files that were found and not yet read
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
