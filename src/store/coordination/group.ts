/** Calls that wait for one another in the queue of a collection: the first of them runs all, and one commit has them. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Batch } from "./batch.ts";

/** @typeParam B the batch that it changes */
export class GroupCall<B, T> {
  /** The origin of its change, and all else that belongs to a call: another call may run it. */
  private readonly inContext = AsyncLocalStorage.snapshot();
  private outcome: { value: T } | { error: unknown } | undefined;

  constructor(
    private readonly work: (batch: B) => Promise<T>,
    private readonly signal: AbortSignal | undefined,
  ) {}

  get hasRun(): boolean {
    return this.outcome !== undefined;
  }

  get hasFailed(): boolean {
    return this.outcome !== undefined && "error" in this.outcome;
  }

  /** Runs it, or runs it again. It never throws. Once the work has begun, `signal` reaches it only there. */
  async run(batch: B): Promise<void> {
    try {
      this.signal?.throwIfAborted();
      this.outcome = { value: await this.inContext(this.work, batch) };
    } catch (error) {
      this.outcome = { error };
    }
  }

  /** What it has changed is not saved. A failure of its own stays what it is. */
  fail(error: unknown): void {
    if (!this.hasFailed) this.outcome = { error };
  }

  /** What the work has returned. @throws what it has thrown, or why it is not saved */
  result(): T {
    const { outcome } = this;
    if (outcome === undefined) throw new Error("the call was not run");
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  }
}

/** Calls of one kind in the order of the queue, none of which has run yet. No other call stands between them. */
export class Group<B> {
  private calls: GroupCall<B, unknown>[] = [];

  constructor(readonly kind: "stages" | "changes") {}

  add(call: GroupCall<B, unknown>): void {
    this.calls.push(call);
  }

  /** Takes out the first call: its turn has come. */
  removeFirst(): void {
    this.calls.shift();
  }

  /** Takes out all calls that wait now: the caller runs them. */
  takeAll(): GroupCall<B, unknown>[] {
    return this.calls.splice(0);
  }
}

/**
 * Runs calls as one batch. A call that fails after it has changed something is not part of it: all changes are dropped
 * then, and the other calls are run again.
 * @param drop drops all changes
 * @throws what the first call has thrown, where all have failed
 */
export async function runTogether<T>(
  calls: readonly GroupCall<Batch<T>, unknown>[],
  batchOf: () => Batch<T>,
  drop: () => void,
): Promise<void> {
  const batch = batchOf();
  const whole: GroupCall<Batch<T>, unknown>[] = [];
  for (const call of calls) {
    const { changes } = batch;
    await call.run(batch);
    if (!call.hasFailed || batch.changes === changes) whole.push(call);
  }
  if (whole.length < calls.length) {
    drop();
    await runTogether(whole, batchOf, drop);
  }
  if (calls.every(({ hasFailed }) => hasFailed)) calls[0]?.result();
}
