/** The message where a caller ends it before. */
export const CANCELLED = "indexing was cancelled; the files indexed so far stay indexed";

/** The time that a call may take, from when it began. */
export class Deadline {
  /** Milliseconds in all; `Infinity`: no limit. */
  readonly ms: number;
  private readonly end: number;

  /** @param seconds 0: no limit */
  constructor(seconds = 0) {
    this.ms = seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY;
    this.end = performance.now() + this.ms;
  }

  /** Whether there is a limit. */
  get isSet(): boolean {
    return this.ms !== Number.POSITIVE_INFINITY;
  }

  /** Milliseconds left, below 0 where it has passed; `Infinity` without a limit. */
  get msLeft(): number {
    return this.end - performance.now();
  }

  /**
   * Resolves when the work does, or at the deadline, to undefined; the work goes on then, and its failure is not
   * reported.
   */
  async within<T>(work: Promise<T>): Promise<T | undefined> {
    if (!this.isSet) return work;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((done) => {
      timer = setTimeout(() => done(undefined), Math.max(0, this.msLeft));
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      work.catch(() => {});
    }
  }
}
