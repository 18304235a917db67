/**
 * Queues the changes of one collection. A change is saved before its call returns, or staged: visible in this process
 * at once, durable with the next `save`. From the first staged change to that save the writer's lock is held, so that
 * another process's write waits and fails with the holder's name instead of being lost.
 */
import { dirname, join } from "node:path";
import type { Ahead } from "../../ffi/ty_ahead.ts";
import type { NativeCollection } from "../../ffi/ty_collection.ts";
import { TimeoutError } from "../errors.ts";
import { originJson } from "../origin.ts";
import { Batch } from "./coordination/batch.ts";
import { Committer } from "./coordination/committer.ts";
import type { Coordinator } from "./coordination/coordinator.ts";
import { type Group, GroupCall, runTogether } from "./coordination/group.ts";
import { Queue } from "./coordination/queue.ts";
import { fromNative, isUnsure } from "./failure.ts";
import { LOCK } from "./folder-lock.ts";
import { removeUnsaved } from "./folders.ts";
import { LEFT } from "./lock/holder.ts";
import type { PackedRows } from "./pack.ts";
import { Reader } from "./reader.ts";
import type { Schema } from "./schema.ts";
import { type Changes, StagedChanges } from "./staged.ts";
import { aheadOf, Transaction } from "./transaction.ts";

export { Put, type PutMode, type Watch } from "../../ffi/ty_collection.ts";

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
  openAnother(): NativeCollection;
  /** Queries that will read more bytes of codes than this run on a worker. */
  inlineScanBytes: number;
}

/** Takes the lock for a call of the queue: `Committer.begin`. */
type Begin = (signal?: AbortSignal, waitMs?: number, isExclusive?: boolean) => Promise<void>;

type Work<T> = (t: Transaction) => Promise<T>;

/** What is known of a call of the queue. */
interface CallOptions {
  /** The collection's state after a failure, as the end of a sentence. */
  stands?: string;
  /** As of `Queue.add`. */
  ahead?: Ahead | undefined;
  group?: Group<Changes> | undefined;
}

/** The writing half of a collection. */
export class Writer extends Reader {
  /** Rows, ids and keys that this object has changed. */
  private changed = 0;
  protected readonly queue = new Queue<Changes>();
  protected readonly committer: Committer;
  private readonly staged: StagedChanges;

  /** Made by `Store` only. */
  constructor(
    name: string,
    schema: Schema,
    native: NativeCollection,
    protected readonly options: CollectionOptions,
  ) {
    super(name, schema, native, options.inlineScanBytes);
    const committer = new Committer(name, native, join(options.dir, LOCK), options.coordinator);
    const [onSaved, onLost] = [() => options.onSaved(this), () => options.onLost(name)];
    this.committer = committer;
    this.staged = new StagedChanges(native, schema, committer, onSaved, onLost);
  }

  /** Whether this process knows of a save. Until then the collection exists in its memory only. */
  get isSaved(): boolean {
    return this.committer.isSaved;
  }

  /** Whether changes are staged, running or queued: then another object must not replace this one. */
  get isBusy(): boolean {
    return this.queue.length > 0 || this.hasStaged;
  }

  /** How many rows this object has put or deleted, at least. */
  get changedRows(): number {
    return this.changed;
  }

  /** Whether staged changes wait for a save; the writer's lock is held until then. */
  get hasStaged(): boolean {
    return this.batch !== undefined;
  }

  /** The staged changes, another object after each save of them; undefined while nothing is staged. */
  get batch(): object | undefined {
    return this.staged.batch;
  }

  /** The clients that staged this batch are gone: other processes that wait for the lock get an error that says so. */
  left(batch: object): Promise<void> {
    return this.inTurn(async () => {
      if (this.staged.batch === batch) this.staged.batch.setStatus(LEFT);
    });
  }

  /**
   * Runs `work` with the writer's lock and saves its changes; when it throws they are rolled back. Staged changes are
   * saved first. Changes are queued; queries meanwhile see the state before or after a put, never half of one.
   * @param first how a collection that was never saved is saved: `buildLexical` afterwards would write all rows twice
   * @param texts rows that `work` will put: their texts are encoded while the change before is saved, if that takes longer
   *   than to hand them to a worker
   */
  change<T>(work: Work<T>, signal?: AbortSignal, first?: FirstSave, texts?: PackedRows): Promise<T> {
    const ahead = aheadOf(this.native, texts, signal);
    const save = async () => {
      const result = await work(this.transaction(ahead));
      signal?.throwIfAborted();
      if (first && !this.isSaved) await this.native.buildLexical(first.k1, first.b, { signal });
      else await this.queue.whileSaving(() => this.native.save());
      return result;
    };
    const turn = async (begin: Begin) => {
      const result = await this.commit(() => begin(signal, first?.waitMs, true), save);
      // After the commit, or a failure here would be one of the save. A caller with `first` compacts by itself.
      if (first === undefined) this.options.onSaved(this);
      return result;
    };
    return this.inTurn(turn, { ahead });
  }

  /**
   * As `change`. Where a coordinator commits, calls that wait in the queue one after the other are made together, in one
   * save: each gets what its own work returns or throws, and all get the error of the save. A call that is cancelled once
   * its work has been done is saved nevertheless.
   * @param work may be run again, where another call has failed half-way
   */
  changeTogether<T>(work: Work<T>, signal?: AbortSignal, texts?: PackedRows): Promise<T> {
    if (this.committer.participant === undefined) return this.change(work, signal, undefined, texts);
    const ahead = aheadOf(this.native, texts, signal);
    const call = this.callOf(work, signal, ahead);
    const group = this.queue.grouped(call, "changes");
    const turn = async (begin: Begin) => {
      if (call.hasRun) return call.result();
      group.removeFirst();
      let calls: GroupCall<Changes, unknown>[] = [call];
      const save = async () => {
        calls = [call, ...group.takeAll()];
        await runTogether(
          calls,
          () => new Batch(this.native),
          () => this.native.followBegun(),
        );
        await this.queue.whileSaving(() => this.native.save());
      };
      try {
        await this.commit(() => begin(signal, undefined, true), save);
      } catch (error) {
        for (const one of calls) one.fail(error);
        return call.result();
      }
      this.options.onSaved(this);
      return call.result();
    };
    return this.inTurn(turn, { ahead, group });
  }

  /**
   * Runs `work`, which makes one put or delete, without saving: this process sees it at once, others after the next
   * save, be it `save`, a change or a rewrite. The lock is kept until then. If it throws, earlier staged changes stay.
   * Where a coordinator commits, a `save` that stands before it in the queue may make it, and save it too.
   */
  stage<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
    const stands = `; collection '${this.name}' stands as it was before the call`;
    const number = ++this.staged.calls;
    const call = this.callOf(work, signal);
    const group = this.committer.participant && this.queue.grouped(call, "stages");
    const turn = async (begin: Begin) => {
      if (call.hasRun) return call.result();
      group?.removeFirst();
      signal?.throwIfAborted();
      await this.staged.add(call, number, () => begin(signal));
      return call.result();
    };
    return this.inTurn(turn, { stands, group });
  }

  /** Makes staged changes durable; a collection that was never saved is saved as it is, and listed then. */
  save(): Promise<void> {
    return this.saveAnd(() => {});
  }

  /**
   * As `save`.
   * @returns the generation, as the collection may be closed once this resolves
   * @throws ValueError also where the collection was dropped right after the save
   */
  saveGeneration(): Promise<number> {
    return this.saveAnd(() => this.generation);
  }

  private saveAnd<T>(read: () => T): Promise<T> {
    const { calls } = this.staged;
    const group = this.queue.groupAtEnd("stages");
    const turn = async (begin: Begin) => {
      // What was staged after this call has a save of its own.
      if (this.staged.firstCall <= calls) await this.staged.save(group);
      if (!this.isSaved) {
        await begin(undefined, undefined, true);
        await this.committer.commit(() => this.native.save());
      }
      return read();
    };
    return this.inTurn(turn, { group });
  }

  /**
   * Runs `work`, which saves, with the lock, which is free afterwards. Staged changes are saved first. Where another
   * machine saves meanwhile, it is run once more while none can.
   */
  protected rewrite<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return this.inTurn(async (begin) => {
      await this.staged.save();
      await begin(signal);
      try {
        return await this.committer.commit(work);
      } catch (error) {
        const isOthers = error instanceof TimeoutError && this.isSaved && this.committer.participant !== undefined;
        if (!isOthers) throw error;
        await begin(signal, undefined, true);
        return this.committer.commit(work);
      }
    });
  }

  /** Runs `work` after everything queued before it. */
  protected inTurn<T>(work: (begin: Begin) => Promise<T>, { stands, ahead, group }: CallOptions = {}): Promise<T> {
    const calledAt = performance.now();
    const origin = originJson();
    const begin: Begin = async (...how) => {
      this.options.refuseChanges();
      this.options.onUsed(this);
      // Once the collection is saved, the memory directory exists and is durable.
      if (!this.isSaved) this.options.ensureHome();
      await this.committer.begin(calledAt, ...how);
      if (origin !== undefined) this.native.origin(origin);
    };
    const turn = async () => {
      try {
        return await work(begin);
      } catch (error) {
        if (!this.isSaved && !this.hasStaged && !isUnsure(error)) removeUnsaved(dirname(this.options.dir), this.name);
        const asSaved = this.isSaved ? `; collection '${this.name}' stands as last saved` : "";
        throw fromNative(error, this.name, stands ?? asSaved);
      }
    };
    return this.queue.add(turn, ahead, group);
  }

  /** Saves staged changes, takes the lock, and runs `work`, which saves. */
  private async commit<T>(begin: () => Promise<void>, work: () => Promise<T>): Promise<T> {
    await this.staged.save();
    await begin();
    return this.committer.commit(work);
  }

  /** A call whose changes are those of a batch. */
  private callOf<T>(work: Work<T>, signal: AbortSignal | undefined, ahead?: Ahead): GroupCall<Changes, T> {
    return new GroupCall((batch) => batch.run(work, (count) => this.transaction(ahead, count)), signal);
  }

  /** A transaction whose changes count. */
  private transaction(ahead: Ahead | undefined, count?: (changed: number) => void): Transaction {
    const both = (changed: number) => {
      this.changed += changed;
      count?.(changed);
    };
    return new Transaction(this.native, this.schema, both, ahead);
  }
}
