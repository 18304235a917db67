/**
 * One open collection: queries of its live rows, and changes, each saved before it is answered. Changes of one
 * collection are ordered here; the native side excludes other processes' writers and follows their saves.
 */
import { dirname, join } from "node:path";
import { type Copied, type NativeCollection, Put, type Watch } from "../../ffi/ty_collection.ts";
import { removeUnsaved } from "./folders.ts";
import type { Rows } from "./pack.ts";
import { Reader } from "./reader.ts";
import type { Schema } from "./schema.ts";
import { type Transaction, Writer } from "./writer.ts";

export type { Detail, Partition, Row, SearchAnswer } from "./answer.ts";
export type { Question, SearchOptions } from "./reader.ts";
export type { Transaction } from "./writer.ts";

/** A collection's options, from its store. */
export interface CollectionOptions {
  /** Makes the memory directory where it is missing. */
  ensureHome(): void;
  /** Called after a save that failed and dropped what was staged. */
  onLost(name: string): void;
  /** Called after each save but those of `changeBuilt`. */
  onSaved(collection: Collection): void;
  /** Throws where a change is refused. */
  refuseChanges(): void;
  /** Its folder. */
  dir: string;
  /** Queries that will read more bytes of codes than this run on a worker. */
  inlineScanBytes: number;
}

/** A collection; see the class comment of `Store` for how to get one. */
export class Collection extends Reader {
  private readonly writer: Writer;

  /** Made by `Store` only. */
  constructor(name: string, schema: Schema, native: NativeCollection, options: CollectionOptions) {
    super(name, schema, native, options.inlineScanBytes);
    const { ensureHome, refuseChanges } = options;
    const lockFile = join(options.dir, ".lock");
    const [onLost, onSaved] = [() => options.onLost(name), () => options.onSaved(this)];
    const onUnsaved = () => removeUnsaved(dirname(options.dir), name);
    const isSaved = native.stats().generation > 0;
    this.writer = new Writer(
      name,
      schema,
      native,
      { ensureHome, refuseChanges, onLost, onSaved, onUnsaved, lockFile },
      isSaved,
    );
  }

  /** Whether this process knows of a save. Until then the collection exists in its memory only. */
  get isSaved(): boolean {
    return this.writer.isSaved;
  }

  /** Whether it is still on disk; cheap. */
  get isThere(): boolean {
    return this.native.isThere();
  }

  /** Whether staged changes wait for a save; the writer's lock is held until then. */
  get hasStaged(): boolean {
    return this.writer.hasStaged;
  }

  /** The staged changes, another object after each save of them; undefined while nothing is staged. */
  get batch(): object | undefined {
    return this.writer.batch;
  }

  /** The clients that staged this batch are gone: other processes that wait for the lock get an error that says so. */
  left(batch: object): Promise<void> {
    return this.writer.left(batch);
  }

  /** Whether changes are staged, running or queued. */
  get isBusy(): boolean {
    return this.writer.isBusy;
  }

  /** Adds rows under new ids; an id that is live or repeated is a KeyError and nothing is written. */
  add(rows: Rows, watch?: Watch): Promise<number> {
    return this.change((t) => t.put(Put.ADD, rows, watch).then((n) => n.inserted), watch?.signal);
  }

  /** Adds or replaces rows by id; of a repeated id the last wins. */
  upsert(rows: Rows, watch?: Watch): Promise<{ inserted: number; replaced: number }> {
    return this.change((t) => t.put(Put.UPSERT, rows, watch), watch?.signal);
  }

  /** Deletes rows by id; resolves to how many were live. Unknown ids are skipped. */
  delete(ids: readonly string[], watch?: Watch): Promise<number> {
    return this.change((t) => t.delete(ids), watch?.signal);
  }

  /**
   * Runs `work` with the writer's lock and saves its changes; when it throws they are rolled back. Changes are queued;
   * queries meanwhile see the state before or after a put, never half of one.
   */
  change<T>(work: (t: Transaction) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.writer.change(work, signal);
  }

  /**
   * As `change`. A collection that was never saved is saved with its BM25 index built: `buildLexical` afterwards would
   * write all rows twice.
   * @param waitMs how long another process's change is waited for at most
   */
  changeBuilt<T>(
    work: (t: Transaction) => Promise<T>,
    { k1, b, signal, waitMs }: { k1: number; b: number; signal?: AbortSignal | undefined; waitMs?: number | undefined },
  ): Promise<T> {
    return this.writer.change(work, signal, () => this.native.buildLexical(k1, b, { signal }), waitMs);
  }

  /**
   * Runs `work`, which makes one put or delete, without saving: this process sees it at once, others after the next
   * save, be it `save`, a change or a rewrite.
   */
  stage<T>(work: (t: Transaction) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.writer.stage(work, signal);
  }

  /**
   * Makes staged changes durable, and a collection that was never saved with them, so that an empty one is listed too.
   */
  save(): Promise<void> {
    return this.writer.save();
  }

  /** Drops deleted and superseded rows and merges the delta into a new base. */
  compact(watch?: Watch): Promise<{ reclaimedRows: number; liveRows: number }> {
    return this.writer.rebuild(watch, () => this.native.compact(watch));
  }

  /**
   * Compacts where no call waits for it, and keeps what the last destructive save superseded: see `Writer.compactAside`.
   * @returns false where it could not be begun
   * @throws CancelledError where it had to yield
   */
  compactAside(signal: AbortSignal, patientMs: number, isStillDue: () => boolean = () => true): Promise<boolean> {
    return this.writer.compactAside(signal, patientMs, isStillDue);
  }

  /** Builds IVF indexes for partitions of at least `minRows`; resolves to how many partitions have one. */
  buildIvf(minRows: number, targetRecall: number, watch?: Watch): Promise<number> {
    return this.writer.rebuild(watch, () => this.native.buildIvf(minRows, targetRecall, watch));
  }

  /** Builds the BM25 index. */
  buildLexical(k1: number, b: number, watch?: Watch): Promise<void> {
    return this.writer.rebuild(watch, () => this.native.buildLexical(k1, b, watch));
  }

  /**
   * Reads every saved byte and compares checksums, and checks the invariants in memory.
   * @throws OSError that names the damage
   */
  verify(watch?: Watch): Promise<void> {
    return this.writer.inTurn(() => this.native.verify(watch));
  }

  /**
   * Saves staged changes and copies the saved state into an empty directory. Neither queries nor writers wait, of this
   * process or another. After a failure the caller removes the files, which have no manifest.
   * @param link sealed files become further names of the same files where the file system allows that
   */
  async copy(dir: string, link: boolean, watch?: Watch): Promise<Copied> {
    await this.writer.save();
    return this.watched(this.native.copy(dir, link, watch));
  }

  /** Waits for running changes and queries, then closes; staged changes are dropped. */
  async close(): Promise<void> {
    await this.writer.settled();
    await Promise.allSettled(this.running);
    this.native.close();
  }
}
