/**
 * The order of one connection's requests: reads run concurrently, a write waits for everything before it, and
 * everything after it waits for the write. This orders their effects; `replies/replies.ts` orders the replies.
 */
export class Lanes {
  /** Reads under way since the last write. */
  private readonly reads = new Set<Promise<unknown>>();
  private write: Promise<unknown> | undefined;

  /** Runs a read now, or after the write in progress. */
  read<T>(work: () => T | Promise<T>): T | Promise<T> {
    const result = this.write ? this.write.then(work) : work();
    if (result instanceof Promise) {
      const settled: Promise<unknown> = quiet(result).then(() => this.reads.delete(settled));
      this.reads.add(settled);
    }
    return result;
  }

  /** Runs a write after everything before it. */
  change<T>(work: () => Promise<T> | T): Promise<T> {
    const before = this.write ? [this.write, ...this.reads] : [...this.reads];
    const result = before.length > 0 ? Promise.all(before).then(work) : Promise.resolve().then(work);
    const settled: Promise<unknown> = quiet(result).then(() => {
      if (this.write === settled) this.write = undefined;
    });
    this.write = settled;
    return result;
  }
}

function quiet(work: Promise<unknown>): Promise<unknown> {
  return work.catch(() => {});
}
