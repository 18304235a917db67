/**
 * Queues the changes of one collection. A change is saved before its call returns, or staged: visible in this process
 * at once, durable with the next `save`. From the first staged change to that save the writer's lock is held, so that
 * another process's write waits and fails with the holder's name instead of being lost.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { NativeError, Status } from "../../ffi/status.ts";
import type { Ahead } from "../../ffi/ty_ahead.ts";
import type { MeaningBatch, NativeCollection } from "../../ffi/ty_collection.ts";
import { errorMessage, OSError, SvcError, TimeoutError } from "../errors.ts";
import { LOCK_WAIT_MS, TEXT_EMBED_BYTES_MAX } from "../limits.ts";
import { originJson } from "../origin.ts";
import { Batch } from "./coordination/batch.ts";
import { Coordinated, type Coordinator } from "./coordination/coordinator.ts";
import { Group, GroupCall, makeTogether } from "./coordination/group.ts";
import { fromNative, isStillStaged } from "./failure.ts";
import { LOCK } from "./folder-lock.ts";
import { isGone } from "./folder-state.ts";
import { removeUnsaved } from "./folders.ts";
import { LEFT, UNSAVED } from "./holder.ts";
import { beginWithin, HolderWatch } from "./lock.ts";
import type { PackedRows } from "./pack.ts";
import { Reader } from "./reader.ts";
import type { Schema } from "./schema.ts";
import { Transaction } from "./transaction.ts";
import { keepingAnnouncement, watchWaiting } from "./waiting.ts";

export { Put, type PutMode, type Watch } from "../../ffi/ty_collection.ts";

/** How long a call that waited in the queue for other work than the lock tries for it at least. */
const LEAST_WAIT_MS = 1000;

/** Texts of fewer bytes are embedded in a third of a millisecond, which another call on a worker is not worth. */
const AHEAD_BYTES_MIN = 32 * 1024;

/** How a collection that was never saved is saved: with its BM25 index built. */
export interface FirstSave {
  readonly k1: number;
  readonly b: number;
  /** How long another process's change is waited for at most. */
  readonly waitMs?: number | undefined;
}

/** A collection's options, from its store. */
export interface CollectionOptions {
  /** Makes the memory directory where it is missing. */
  ensureHome(): void;
  /** Throws where a change is refused. */
  refuseChanges(): void;
  /** Called when a save failed and dropped the staged changes, or may have. */
  onLost(name: string): void;
  /** Called after each save but those of `change` with `first`. */
  onSaved(collection: Writer): void;
  /** Called before a change that a caller waits for. */
  onUsed(collection: Writer): void;
  /** Its folder. */
  dir: string;
  /** Commits its saves elsewhere as well; undefined: they count once they are durable here. */
  coordinator: Coordinator | undefined;
  /** Opens another handle of the collection, which has read nothing yet. */
  another(): NativeCollection;
  /** Queries that will read more bytes of codes than this run on a worker. */
  inlineScanBytes: number;
}

/**
 * Takes the lock for a call of the queue.
 * @param isExclusive a coordinator keeps other machines from committing until the change has ended
 */
type Begin = (signal: AbortSignal | undefined, waitMs?: number, isExclusive?: boolean) => Promise<void>;

type Changes = Batch<Transaction>;
type Work<T> = (t: Transaction) => Promise<T>;

/** The writing half of a collection. */
export class Writer extends Reader {
  private saved: boolean;
  /** Rows, ids and keys that this object has changed. */
  private changed = 0;
  private tail: Promise<unknown> = Promise.resolve();
  /** Number of running and queued calls. */
  private turns = 0;
  /** Of each queued call, what can be made of its texts before its turn. */
  private readonly queued: (Ahead | undefined)[] = [];
  private isSaving = false;
  /** Undefined while nothing is staged and the lock is not held. */
  private staged: Changes | undefined;
  /** Calls of `stage` so far, and the first of them that `staged` may have. */
  private stages = 0;
  private stagedFrom = 0;
  /** With a coordinator: the calls at the end of the queue that may be made together. */
  private group: Group<Changes> | undefined;
  /** Who has kept the calls of this queue waiting. */
  private readonly watch = new HolderWatch();
  private readonly lockFile: string;
  private readonly coordinated: Coordinated | undefined;
  /** Makes a compaction that no caller waits for yield. */
  private onQueued: (() => void) | undefined;

  /** Made by `Store` only. */
  constructor(
    name: string,
    schema: Schema,
    native: NativeCollection,
    private readonly options: CollectionOptions,
  ) {
    super(name, schema, native, options.inlineScanBytes);
    this.lockFile = join(options.dir, LOCK);
    this.coordinated = options.coordinator && new Coordinated(name, native, options.coordinator);
    this.saved = native.stats().generation > 0;
  }

  /** Whether this process knows of a save. Until then the collection exists in its memory only. */
  get isSaved(): boolean {
    return this.saved;
  }

  /** Whether changes are staged, running or queued: then another object must not replace this one. */
  get isBusy(): boolean {
    return this.turns > 0 || this.hasStaged;
  }

  /** How many rows this object has put or deleted, at least. */
  get changedRows(): number {
    return this.changed;
  }

  /** Whether staged changes wait for a save; the writer's lock is held until then. */
  get hasStaged(): boolean {
    return this.staged !== undefined;
  }

  /** The staged changes, another object after each save of them; undefined while nothing is staged. */
  get batch(): object | undefined {
    return this.staged;
  }

  /** The clients that staged this batch are gone: other processes that wait for the lock get an error that says so. */
  left(batch: object): Promise<void> {
    return this.inTurn(async () => {
      if (this.staged === batch) this.staged.says(LEFT);
    });
  }

  /**
   * Runs `work` with the writer's lock and saves its changes; when it throws they are rolled back. Staged changes are
   * saved first. Changes are queued; queries meanwhile see the state before or after a put, never half of one.
   * @param first how a collection that was never saved is saved: `buildLexical` afterwards would write all rows twice
   * @param texts rows that `work` will put: their texts are encoded while the change before is saved, if that takes longer
   *   than to hand them to a worker
   */
  change<T>(
    work: (t: Transaction) => Promise<T>,
    signal?: AbortSignal,
    first?: FirstSave,
    texts?: PackedRows,
  ): Promise<T> {
    const ahead = this.aheadOf(texts, signal);
    const save = async () => {
      const count = (changed: number) => (this.changed += changed);
      const result = await work(new Transaction(this.native, this.schema, count, ahead));
      signal?.throwIfAborted();
      if (first && !this.saved) await this.native.buildLexical(first.k1, first.b, { signal });
      else await this.whileSaving(() => this.native.save());
      return result;
    };
    const turn = async (begin: Begin) => {
      await this.flush();
      await begin(signal, first?.waitMs, true);
      const result = await this.committed(save);
      // After the commit, or a failure here would be one of the save. A caller with `first` compacts by itself.
      if (first === undefined) this.options.onSaved(this);
      return result;
    };
    return this.inTurn(turn, undefined, ahead);
  }

  /**
   * As `change`. Where a coordinator commits, calls that wait in the queue one after the other are made together, in one
   * save: each gets what its own work returns or throws, and all get the error of the save. A call that is cancelled once
   * its work has been done is saved nevertheless.
   * @param work may be run again, where another call has failed half-way
   */
  changeTogether<T>(work: Work<T>, signal?: AbortSignal, texts?: PackedRows): Promise<T> {
    if (this.coordinated === undefined) return this.change(work, signal, undefined, texts);
    const ahead = this.aheadOf(texts, signal);
    const call = new GroupCall((batch: Changes) => batch.make(work, this.counted(ahead)), signal);
    const group = Group.with(call, "changes", this.group);
    const turn = async (begin: Begin) => {
      if (!call.isMade) {
        group.begin();
        await this.flush();
        await begin(signal, undefined, true);
        await this.saveTogether([call, ...group.take()]);
      }
      return call.result();
    };
    return this.inTurn(turn, undefined, ahead, group);
  }

  /** With the lock: makes calls and saves them. Those that are not saved get the error. */
  private async saveTogether(calls: GroupCall<Changes, unknown>[]): Promise<void> {
    try {
      await this.committed(async () => {
        await makeTogether(
          calls,
          () => new Batch(this.native),
          () => this.native.followBegun(),
        );
        await this.whileSaving(() => this.native.save());
      });
    } catch (error) {
      for (const call of calls) call.fail(error);
      return;
    }
    // After the commit, or a failure here would be one of the save.
    this.options.onSaved(this);
  }

  /** What is made of long texts before their turn. */
  private aheadOf(texts: PackedRows | undefined, signal: AbortSignal | undefined): Ahead | undefined {
    const isLong = texts?.texts !== undefined && texts.texts.bytes.length >= AHEAD_BYTES_MIN;
    return isLong ? this.native.ahead(texts, TEXT_EMBED_BYTES_MAX, { signal }) : undefined;
  }

  /** Runs a save, which mostly waits for the disk, and encodes the texts of the next call meanwhile. */
  private async whileSaving(save: () => Promise<void>): Promise<void> {
    this.isSaving = true;
    try {
      const saved = save();
      this.queued[0]?.begin();
      await saved;
    } finally {
      this.isSaving = false;
    }
  }

  /**
   * Runs `work`, which makes one put or delete, without saving: this process sees it at once, others after the next
   * save, be it `save`, a change or a rewrite. The lock is kept until then. If it throws, earlier staged changes stay.
   * Where a coordinator commits, a `save` that stands before it in the queue may make it, and save it too.
   */
  stage<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    const stands = `; collection '${this.name}' stands as it was before the call`;
    const number = ++this.stages;
    const call = new GroupCall((batch: Changes) => batch.make(work, this.counted()), signal);
    const group = this.coordinated && Group.with(call, "stages", this.group);
    const turn = async (begin: Begin) => {
      if (!call.isMade) {
        group?.begin();
        signal?.throwIfAborted();
        const isFirst = this.staged === undefined;
        if (isFirst) await begin(signal);
        const batch = this.staged ?? new Batch(this.native, this.coordinated !== undefined);
        const { changes } = batch;
        await call.make(batch);
        if (batch.changes > changes) {
          if (isFirst) this.stagedFrom = number;
          this.staged = batch;
          batch.says(UNSAVED);
        } else if (isFirst) {
          this.native.rollback();
        }
      }
      return call.result();
    };
    return this.inTurn(turn, stands, undefined, group);
  }

  /**
   * Makes staged changes durable; a collection that was never saved is saved as it is, and listed then.
   * @returns the generation, as the collection may be closed once this resolves
   */
  save(): Promise<number> {
    const { stages } = this;
    const group = this.group?.kind === "stages" ? this.group : undefined;
    return this.inTurn(
      async (begin) => {
        // What was staged after this call has a save of its own.
        if (this.staged !== undefined && this.stagedFrom <= stages) await this.flush(group);
        if (!this.saved) {
          await begin(undefined, undefined, true);
          await this.committed(() => this.native.save());
        }
        return this.generation;
      },
      undefined,
      undefined,
      group,
    );
  }

  /**
   * A compaction that no caller waits for, and that holds the lock. It is begun if the lock is free, nothing is staged and,
   * with 0 `patientMs`, no call is queued. It is cancelled if `signal` aborts, or if after `patientMs` a call is queued here
   * or another process waits for the lock. It keeps the history.
   * @param isStillDue called when the lock is held and the saves of other processes are known; false: do not compact
   * @returns false if it could not be begun
   * @throws CancelledError if it was cancelled
   */
  async compactAside(signal: AbortSignal, patientMs: number, isStillDue = () => true): Promise<boolean> {
    // Other machines could not save for as long as it takes, or it would lose to each of their saves.
    if (this.coordinated) return this.compactBeside(signal, isStillDue);
    if (patientMs === 0 && this.turns > 0) return false;
    const compacted = await this.aside(async () => {
      if (isStillDue()) await this.yielding(signal, patientMs);
      return true;
    });
    return compacted ?? false;
  }

  /**
   * A compaction that no caller waits for, and that runs while others save. It holds the lock for about as long as two saves
   * take. It costs more than `compactAside`, because it reads the collection with a handle of its own. It keeps the history.
   * @param isStillDue called before it begins; false: do not compact
   * @returns false if something is staged, another process compacts the collection, or it was dropped
   * @throws CancelledError if `signal` aborted
   */
  async compactBeside(signal: AbortSignal, isStillDue = () => true): Promise<boolean> {
    if (this.hasStaged || !this.saved) return false;
    this.options.refuseChanges();
    if (!isStillDue()) return true;
    const own = this.options.another();
    const { coordinator } = this.options;
    const coordinated = coordinator && new Coordinated(this.name, own, coordinator, signal);
    try {
      await own.compactBeside({ signal });
      return true;
    } catch (thrown) {
      const error = coordinated?.cause(thrown) ?? thrown;
      const isNative = error instanceof NativeError;
      if (isNative && (error.status === Status.BUSY || error.status === Status.NOT_FOUND)) return false;
      // An IO error without a failed system call: the folder was removed or replaced.
      const isOther = isNative && error.status === Status.IO && error.errno === 0;
      if (isOther || !existsSync(this.lockFile)) return false;
      // Other machines committed all the time.
      if (error instanceof TimeoutError) return false;
      throw fromNative(error, this.name);
    } finally {
      await coordinated?.ended();
      own.close();
    }
  }

  /**
   * Adds vectors of meaning and saves, as a change that no caller waits for: where the lock is free, nothing is staged,
   * and no call is queued.
   * @param isWanted asked within the change: another process may have turned meaning off since the batch was encoded
   * @returns how many were added; undefined where it could not be begun
   */
  async putMeaningAside(batch: MeaningBatch, isWanted: () => boolean): Promise<number | undefined> {
    if (this.turns > 0) return undefined;
    return this.aside(async () => {
      const put = isWanted() ? this.native.putMeaning(batch) : 0;
      await this.native.save();
      return put;
    });
  }

  /** Runs `work`, which saves, where nothing is staged and the lock is free. @returns undefined where it was not run */
  private async aside<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.hasStaged || !this.saved) return undefined;
    return this.inTurn(async () => {
      if (this.hasStaged) return undefined;
      this.options.refuseChanges();
      try {
        this.native.begin();
        await this.follow(true, LEAST_WAIT_MS);
      } catch (error) {
        const isBusy = error instanceof NativeError && error.status === Status.BUSY;
        if (isBusy || error instanceof TimeoutError) return undefined;
        throw error;
      }
      return this.committed(work);
    });
  }

  /**
   * Runs `work`, which saves, with the lock, which is free afterwards. Staged changes are saved first. Where another
   * machine saves meanwhile, it is run once more while none can.
   */
  protected rewrite<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return this.inTurn(async (begin) => {
      await this.flush();
      await begin(signal);
      try {
        return await this.committed(work);
      } catch (error) {
        if (this.coordinated === undefined || !this.saved || !(error instanceof TimeoutError)) throw error;
        await begin(signal, undefined, true);
        return this.committed(work);
      }
    });
  }

  /**
   * Runs `work` after everything queued before it.
   * @param stands the collection's state after a failure, as the end of a sentence
   * @param ahead what may be made before its turn; closed at its end
   * @param group which calls that follow it may be added to
   */
  protected inTurn<T>(
    work: (begin: Begin) => Promise<T>,
    stands?: string,
    ahead?: Ahead,
    group?: Group<Changes>,
  ): Promise<T> {
    this.group = group;
    const calledAt = performance.now();
    const origin = originJson();
    const begin: Begin = async (signal, waitMs = LOCK_WAIT_MS, isExclusive = false) => {
      this.options.refuseChanges();
      this.options.onUsed(this);
      // Once the collection is saved, the memory directory exists and is durable.
      if (!this.saved) this.options.ensureHome();
      // Counted from the call: queued calls that wait for another process's lock all time out together.
      const least = this.watch.isFresh ? 0 : LEAST_WAIT_MS;
      const left = Math.max(least, LOCK_WAIT_MS - (performance.now() - calledAt));
      const { name, native, lockFile, watch } = this;
      await beginWithin(name, native, signal, Math.min(left, waitMs), lockFile, { calledAt, watch });
      await this.follow(isExclusive, Math.min(left, waitMs));
      if (origin !== undefined) native.origin(origin);
    };
    this.turns++;
    this.queued.push(ahead);
    if (this.isSaving && this.queued.length === 1) ahead?.begin();
    this.onQueued?.();
    const turn = this.tail
      .then(() => {
        this.queued.shift();
        return work(begin);
      })
      .finally(() => {
        this.turns--;
        return ahead?.end();
      })
      .catch((error) => {
        const isUnsure =
          (error instanceof NativeError && error.status === Status.UNSURE) ||
          (error instanceof OSError && error.reason === "outcome_unknown");
        if (!this.saved && !this.hasStaged && !isUnsure) removeUnsaved(dirname(this.options.dir), this.name);
        const asSaved = this.saved ? `; collection '${this.name}' stands as last saved` : "";
        throw fromNative(error, this.name, stands ?? asSaved);
      });
    this.tail = turn.catch(() => {});
    return turn;
  }

  /** Resolves when every call so far has ended. */
  protected async settled(): Promise<void> {
    for (let seen: unknown; seen !== this.tail; ) {
      seen = this.tail;
      await seen;
    }
  }

  /** With the lock: reads what the coordinator has of other machines. On a failure the lock is free. */
  private async follow(isExclusive: boolean, waitMs: number): Promise<void> {
    try {
      await this.coordinated?.begun(isExclusive, waitMs);
    } catch (error) {
      await this.ended();
      throw error;
    }
  }

  /** Makes transactions whose changes count. */
  private counted(ahead?: Ahead): (count: (changed: number) => void) => Transaction {
    return (count) => {
      const both = (changed: number) => {
        this.changed += changed;
        count(changed);
      };
      return new Transaction(this.native, this.schema, both, ahead);
    };
  }

  /** For changes that are made again. */
  private uncounted(): Transaction {
    return new Transaction(this.native, this.schema, () => {});
  }

  /** Ends a change: drops what is not saved, and frees the lock. */
  private async ended(): Promise<void> {
    this.native.rollback(); // nothing, after a save
    await this.coordinated?.ended();
  }

  /** Compacts, and yields as `compactAside` says. */
  private async yielding(signal: AbortSignal, patientMs: number): Promise<void> {
    const stop = new AbortController();
    const began = performance.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const yieldSoon = () => {
      timer ??= setTimeout(() => stop.abort(), Math.max(0, began + patientMs - performance.now()));
    };
    const unwatch = watchWaiting(this.lockFile, yieldSoon);
    this.onQueued = yieldSoon;
    if (this.turns > 1) yieldSoon();
    try {
      await this.native.compact({ signal: AbortSignal.any([signal, stop.signal]) }, true);
    } finally {
      this.onQueued = undefined;
      unwatch();
      clearTimeout(timer);
    }
  }

  /**
   * Saves what is staged; its error tells how many changes. On a full disk they stay staged. After any other failure the
   * changes are dropped, or may be.
   * @param group of which the calls that wait are staged first, so that one commit has them too
   */
  private async flush(group?: Group<Changes>): Promise<void> {
    const { staged, name } = this;
    if (staged === undefined) return;
    let calls: GroupCall<Changes, unknown>[] = [];
    try {
      // Otherwise others end their waits in the middle of a long save.
      keepingAnnouncement(this.lockFile, () => this.native.says("saving"));
      if (await this.coordinated?.begun(true, LOCK_WAIT_MS)) await staged.rebase(() => this.uncounted());
      calls = group?.take() ?? [];
      for (const call of calls) await call.make(staged);
      await this.native.saveStaged();
      this.saved = true;
    } catch (thrown) {
      const error = this.coordinated?.cause(thrown) ?? thrown;
      const isDropped = isGone(error) || (error instanceof OSError && error.reason === "changes_lost");
      // Nothing is saved yet where the coordinator did not even begin.
      if (!isDropped && (isStillStaged(thrown) || !(thrown instanceof NativeError))) {
        staged.saysAgain();
        const stay = `; ${staged.counted} of collection '${name}' stay in memory until a save succeeds`;
        if (error instanceof SvcError) error.message += stay;
        throw fromNative(error, name, stay);
      }
      this.native.rollback(); // nothing, where the save has begun
      this.staged = undefined;
      this.options.onLost(name);
      const are = staged.changes === 1 ? "is" : "are";
      if (isDropped) {
        const dropped = new OSError(`${errorMessage(error)}; ${staged.counted} ${are} lost`, "changes_lost");
        for (const call of calls) call.fail(dropped);
        throw dropped;
      }
      const lost = fromNative(
        error,
        name,
        `; ${staged.counted} ${are} lost, collection '${name}' stands as last saved`,
      );
      for (const call of calls) call.fail(lost);
      throw lost;
    } finally {
      await this.coordinated?.ended();
    }
    this.staged = undefined;
    this.options.onSaved(this);
    const { works, failures } = staged;
    if (failures.length === 0) return;
    this.options.onLost(name);
    throw new OSError(
      `${failures.length} of ${works.length + failures.length} unsaved changes of collection '${name}' are lost, because another ` +
        `machine has saved others meanwhile: ${errorMessage(failures[0])}; the others are saved. If this was reported by a change, repeat the change`,
      "changes_lost",
    );
  }

  /** Runs `work`, which saves. Where it throws, its changes are rolled back; the lock is free in any case. */
  private async committed<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.saved = true;
      return result;
    } catch (error) {
      throw this.coordinated?.cause(error) ?? error;
    } finally {
      await this.ended();
    }
  }
}
