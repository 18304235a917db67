/**
 * Staged changes of a collection: this process sees them at once, and the next save makes all of them durable. The lock is
 * held meanwhile.
 */
import { NativeError } from "../../ffi/status.ts";
import type { NativeCollection } from "../../ffi/ty_collection.ts";
import { errorMessage, OSError, SvcError } from "../errors.ts";
import { LOCK_WAIT_MS } from "../limits.ts";
import { Batch } from "./coordination/batch.ts";
import type { Committer } from "./coordination/committer.ts";
import type { Group, GroupCall } from "./coordination/group.ts";
import { fromNative, isStillStaged } from "./failure.ts";
import { isGone } from "./folder-state.ts";
import { UNSAVED } from "./lock/holder.ts";
import { keepingAnnouncement } from "./lock/waiting.ts";
import type { Schema } from "./schema.ts";
import { Transaction } from "./transaction.ts";

/** Changes that one save makes durable. */
export type Changes = Batch<Transaction>;

export class StagedChanges {
  /** Another object after each save; undefined while nothing is staged. */
  batch: Changes | undefined;
  /** Calls of `stage` so far, and the first of them that `batch` may have. */
  calls = 0;
  firstCall = 0;

  /**
   * @param onSaved called after each save of them
   * @param onLost called when they were dropped, or may have been
   */
  constructor(
    private readonly native: NativeCollection,
    private readonly schema: Schema,
    private readonly committer: Committer,
    private readonly onSaved: () => void,
    private readonly onLost: () => void,
  ) {}

  /**
   * Stages what a call changes.
   * @param number of the call of `stage`
   * @param begin takes the lock, if nothing is staged yet
   */
  async add(call: GroupCall<Changes, unknown>, number: number, begin: () => Promise<void>): Promise<void> {
    const isFirst = this.batch === undefined;
    if (isFirst) await begin();
    const batch = this.batch ?? new Batch(this.native, this.committer.participant !== undefined);
    const { changes } = batch;
    await call.run(batch);
    if (batch.changes > changes) {
      if (isFirst) this.firstCall = number;
      this.batch = batch;
      batch.setStatus(UNSAVED);
    } else if (isFirst) {
      this.native.rollback();
    }
  }

  /**
   * Saves them; its error tells how many changes. On a full disk they stay staged. After any other failure they are
   * dropped, or may be.
   * @param group of which the calls that wait are staged first, so that one commit has them too
   */
  async save(group?: Group<Changes>): Promise<void> {
    const { batch, native, committer } = this;
    if (batch === undefined) return;
    const { name, participant } = committer;
    let calls: GroupCall<Changes, unknown>[] = [];
    try {
      // Otherwise others end their waits in the middle of a long save.
      keepingAnnouncement(committer.lockFile, () => native.setStatus("saving"));
      if (await participant?.begin(true, LOCK_WAIT_MS)) {
        await batch.rebase(() => new Transaction(native, this.schema, () => {}));
      }
      calls = group?.takeAll() ?? [];
      for (const call of calls) await call.run(batch);
      await native.saveStaged();
      committer.isSaved = true;
    } catch (thrown) {
      const error = participant?.cause(thrown) ?? thrown;
      const isDropped = isGone(error) || (error instanceof OSError && error.reason === "changes_lost");
      // Nothing is saved yet where the coordinator did not even begin.
      if (!isDropped && (isStillStaged(thrown) || !(thrown instanceof NativeError))) {
        batch.restoreStatus();
        const stay = `; ${batch.summary} of collection '${name}' stay in memory until a save succeeds`;
        if (error instanceof SvcError) error.message += stay;
        throw fromNative(error, name, stay);
      }
      native.rollback(); // nothing, where the save has begun
      this.batch = undefined;
      this.onLost();
      const lost = `; ${batch.summary} ${batch.changes === 1 ? "is" : "are"} lost`;
      const failure = isDropped
        ? new OSError(`${errorMessage(error)}${lost}`, "changes_lost")
        : fromNative(error, name, `${lost}, collection '${name}' stands as last saved`);
      for (const call of calls) call.fail(failure);
      throw failure;
    } finally {
      await participant?.release();
    }
    this.batch = undefined;
    this.onSaved();
    const { operations, failures } = batch;
    if (failures.length === 0) return;
    this.onLost();
    throw new OSError(
      `${failures.length} of ${operations.length + failures.length} unsaved changes of collection '${name}' are lost, because another ` +
        `machine has saved others meanwhile: ${errorMessage(failures[0])}; the others are saved. If this was reported by a change, repeat the change`,
      "changes_lost",
    );
  }
}
