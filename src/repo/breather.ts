import { CancelledError } from "../errors.ts";

/** How long the event loop may be kept waiting, so that a server goes on answering `ping` during a walk. */
const BUSY_MS_MAX = 5;

/** Lets the event loop turn if it has waited long enough; the asynchronous file calls cost more than the work itself. */
export class Breather {
  private since = performance.now();
  constructor(private readonly signal?: AbortSignal) {}

  /** True when it is time to `await` {@link pause}; kept apart because an await per file would cost more than the file. */
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
