/** The calls of one collection: each runs after those that were made before it. */
import type { Ahead } from "../../../ffi/ty_ahead.ts";
import { Group, type GroupCall } from "./group.ts";

/** @typeParam B the batch that calls of a group change */
export class Queue<B> {
  private tail: Promise<unknown> = Promise.resolve();
  private unfinished = 0;
  /** For each call that waits, what can be made of its texts before its turn. */
  private readonly aheads: (Ahead | undefined)[] = [];
  private isSaving = false;
  /** The calls at the end that may be made together. */
  private last: Group<B> | undefined;
  /** Called when a call is added. */
  onAdded: (() => void) | undefined;

  /** Number of running and waiting calls. */
  get length(): number {
    return this.unfinished;
  }

  /**
   * Runs `work` after all calls so far.
   * @param ahead what may be made before its turn; closed at its end
   * @param group which calls that follow it may be added to
   */
  add<T>(work: () => Promise<T>, ahead?: Ahead, group?: Group<B>): Promise<T> {
    this.last = group;
    this.unfinished++;
    this.aheads.push(ahead);
    if (this.isSaving && this.aheads.length === 1) ahead?.begin();
    this.onAdded?.();
    const turn = this.tail
      .then(() => {
        this.aheads.shift();
        return work();
      })
      .finally(() => {
        this.unfinished--;
        return ahead?.end();
      });
    this.tail = turn.catch(() => {});
    return turn;
  }

  /** The group at the end of the queue, if its calls are of this kind. */
  groupAtEnd(kind: Group<B>["kind"]): Group<B> | undefined {
    return this.last?.kind === kind ? this.last : undefined;
  }

  /** Adds a call to the group at the end, or to a new one. The caller adds it to the queue with that group. */
  grouped(call: GroupCall<B, unknown>, kind: Group<B>["kind"]): Group<B> {
    const group = this.groupAtEnd(kind) ?? new Group<B>(kind);
    group.add(call);
    return group;
  }

  /** Runs a save, which mostly waits for the disk, and encodes the texts of the next call meanwhile. */
  async whileSaving(save: () => Promise<void>): Promise<void> {
    this.isSaving = true;
    try {
      const saved = save();
      this.aheads[0]?.begin();
      await saved;
    } finally {
      this.isSaving = false;
    }
  }

  /** Resolves when every call so far has ended. */
  async settled(): Promise<void> {
    for (let seen: unknown; seen !== this.tail; ) {
      seen = this.tail;
      await seen;
    }
  }
}
