/**
 * Collects rows and deletions into durable transactions of a bounded size, each with the records of its files.
 *
 * What a file changes is the difference to what its record says. Where another process has saved the repository's rows
 * meanwhile, which is seen once the writer's lock is held, nothing of the transaction is saved: the records are loaded
 * again, and its files are read again.
 */

import { TimeoutError } from "../../errors.ts";
import { type Pack, type PackedRow, Packer } from "../../store/packer.ts";
import { Deadline } from "../files/deadline.ts";
import type { Fingerprint } from "../fingerprints/fingerprints.ts";
import type { Journal } from "../fingerprints/journal.ts";
import type { RowSink } from "../fingerprints/row-sink.ts";

/** What one transaction has at most. */
export interface BatchLimits {
  /** Rows and deletions. */
  rows: number;
  /** UTF-8 bytes of text. */
  text: number;
}

/**
 * A transaction costs a fixed number of syncs and one new id map. A first index of one transaction is written once:
 * with several, the rows lie beside an empty base and are merged at the end (CPU for sphinx's 14,504 rows: 1.19 s and
 * 1.45). Larger ones cost memory (32 Mi units: 40 MB more than 4 Mi), and what a kill loses.
 */
export const BATCH_LARGE: BatchLimits = { rows: 16_384, text: 32 * 1024 * 1024 };
/**
 * For a run that takes several anyway: 50 MB less than large ones at the peak of 184,000 rows (268 and 217), for 5 %
 * more CPU time, which is that of collecting twice as often. Half the size of these: 4 MB less, and 5 % more again.
 */
export const BATCH_LONG: BatchLimits = { rows: 8192, text: 16 * 1024 * 1024 };
/** Bytes of files to a row, rather more than most have: one large transaction is better than two others. */
const FILE_BYTES_PER_ROW = 1536;
/** For a run with a deadline, which is not looked at within a transaction: a third of a second. */
export const BATCH_SMALL: BatchLimits = { rows: 2048, text: 4 * 1024 * 1024 };

/** What is put at once: its rows' texts are released when they are in. */
const PACK_ROWS = 2048;
const PACK_BYTES = 2 * 1024 * 1024;

/** What a row of a transaction took of late, and takes where none was measured yet; in milliseconds. */
let msPerRow = 0.15;
/** The time of fewer rows says nothing: a transaction costs some milliseconds by itself. */
const ROWS_MEASURED_MIN = 256;

/** Transactions in a row that find that another process was first. */
const TRIES = 10;

export class Batch {
  /** As the sink counted them: rows that are new or replaced, and live rows that were deleted. */
  upserted = 0;
  deleted = 0;
  /** Transactions that found that another process was first. */
  conflicts = 0;

  private readonly packer = new Packer();
  /** Rows that are packed, and how many there are. */
  private packs: Pack[] = [];
  private packedRows = 0;
  private packedText = 0;
  private deleteIds: string[] = [];
  private records = new Map<string, Fingerprint | undefined>();
  private tries = 0;

  /**
   * @param areLike whether what rows are said to be like still holds
   * @param again adds again what files change, by records that were loaded again
   */
  constructor(
    private readonly sink: RowSink,
    private readonly journal: Journal,
    private readonly areLike: () => boolean,
    private readonly again: (paths: readonly string[]) => Promise<void>,
    private limits: BatchLimits,
    private readonly deadline = new Deadline(),
  ) {}

  /** Says how many bytes of files are to be read. */
  expect(bytes: number): void {
    if (this.limits === BATCH_LARGE && bytes > BATCH_LARGE.rows * FILE_BYTES_PER_ROW) this.limits = BATCH_LONG;
  }

  /** About how many milliseconds it takes to make durable what waits. */
  get waitingMs(): number {
    return this.rowsWaiting * msPerRow;
  }

  /** Adds a row; the batch is full where the result is true, and must be flushed before the next. */
  upsert(row: PackedRow): boolean {
    const { packer, limits } = this;
    packer.add(row);
    if (packer.rows >= PACK_ROWS || packer.textBytes >= PACK_BYTES) this.pack();
    return this.size >= limits.rows || this.packedText + packer.textBytes >= limits.text;
  }

  async delete(id: string): Promise<void> {
    this.deleteIds.push(id);
    if (this.size >= this.limits.rows) await this.flush(true);
  }

  /** The record of a file from the next transaction on, undefined for none: what that holds is all that it may say. */
  record(path: string, file: Fingerprint | undefined): void {
    this.records.set(path, file);
  }

  /**
   * Makes all so far durable.
   * @param isFull whether more is likely to follow
   * @param always also where only the note differs
   */
  async flush(isFull = false, always = false): Promise<void> {
    const { journal, sink, records, deadline } = this;
    const count = this.rowsWaiting;
    const isEmpty = this.size === 0;
    if (isEmpty && records.size === 0 && !always) return;
    if (this.packer.rows > 0) this.pack();
    const { packs: rows, deleteIds } = this;
    this.packs = [];
    this.packedRows = this.packedText = 0;
    this.deleteIds = [];
    this.records = new Map();
    // A collection without a row is not on disk, and neither are the records of its repository.
    if (isEmpty && !sink.isSaved) return journal.apply(records);
    // What reading left is freed late otherwise: 37 MB at the peak of 184,000 rows, for some 35 ms each time.
    if (isFull || this.limits === BATCH_LONG) Bun.gc(true);
    const since = performance.now();
    let done: Awaited<ReturnType<RowSink["replace"]>>;
    try {
      done = await sink.replace(journal.repoId, {
        deleteIds,
        rows,
        isCurrent: () => journal.isCurrent,
        areLike: this.areLike,
        isFull,
        deadline,
        note: (state, generation) => journal.record(records, state, generation),
      });
    } catch (error) {
      journal.forget();
      for (const path of records.keys()) journal.waiting.add(path);
      throw error;
    }
    if (done) {
      if (count >= ROWS_MEASURED_MIN) msPerRow = (msPerRow + (performance.now() - since) / count) / 2;
      journal.settle();
      this.deleted += done.deleted;
      this.upserted += done.upserted;
      this.tries = 0;
      return;
    }
    this.conflicts++;
    if (++this.tries > TRIES) {
      throw new TimeoutError("other processes keep indexing this repository: try again later", "locked");
    }
    journal.reload();
    await this.again([...records.keys()]);
    await this.flush(isFull, always);
  }

  private pack(): void {
    this.packedRows += this.packer.rows;
    this.packedText += this.packer.textBytes;
    this.packs.push(this.packer.take());
  }

  /** Rows and deletions. */
  private get size(): number {
    return this.rowsWaiting + this.deleteIds.length;
  }

  private get rowsWaiting(): number {
    return this.packedRows + this.packer.rows;
  }
}
