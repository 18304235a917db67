import { CancelledError } from "../errors.ts";

/** How long the event loop may be blocked, so that a server answers `ping` during a walk. */
const BUSY_MS_MAX = 5;

/** Yields to the event loop at intervals; asynchronous file calls would cost more than the work itself. */
export class Breather {
  private since = performance.now();
  constructor(private readonly signal?: AbortSignal) {}

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
    if (this.signal?.aborted) throw new CancelledError("indexing was cancelled; what was saved so far stands");
  }
}
