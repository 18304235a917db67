import { CancelledError } from "./errors.ts";

/** How long the event loop may be blocked, so that a server answers `ping` during a walk. */
const BUSY_MS_MAX = 5;

/**
 * Yields to the event loop at intervals: promises alone let neither a signal nor a timer through. Asynchronous file calls
 * would cost more than the work itself.
 */
export class Breather {
  private since = performance.now();

  /** @param message of the CancelledError */
  constructor(
    private readonly signal: AbortSignal | undefined,
    private readonly message: string,
  ) {}

  /** Whether to `await` {@link pause} now; separate, since an await for each file would cost more than the file. */
  get due(): boolean {
    return performance.now() - this.since > BUSY_MS_MAX;
  }

  async pause(): Promise<void> {
    await new Promise((done) => setImmediate(done));
    this.check();
    this.since = performance.now();
  }

  check(): void {
    if (this.signal?.aborted) throw new CancelledError(this.message);
  }
}
