/**
 * Collects rows and deletions into durable transactions of a bounded size, and reports when a file's rows are durable.
 */
import { type Pack, type PackedRow, Packer } from "../store/packer.ts";
import { Deadline } from "./deadline.ts";
import type { RowSink } from "./sink.ts";

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
/** For a run with a deadline, which is not looked at within a transaction: a third of a second. */
export const BATCH_SMALL: BatchLimits = { rows: 2048, text: 4 * 1024 * 1024 };

/** What is put at once: its rows' texts are released when they are in. */
const PACK_ROWS = 2048;
const PACK_BYTES = 2 * 1024 * 1024;

/** What a row of a transaction took of late, and takes where none was measured yet; in milliseconds. */
let msPerRow = 0.15;
/** Of fewer rows the time says nothing: a transaction costs some milliseconds by itself. */
const ROWS_MEASURED_MIN = 256;

export class Batch {
  /** As the sink counted them: rows that are new or replaced, and live rows that were deleted. */
  upserted = 0;
  deleted = 0;

  private readonly packer = new Packer();
  /** Rows that are packed, and how many there are. */
  private packs: Pack[] = [];
  private packedRows = 0;
  private packedText = 0;
  private deleteIds: string[] = [];
  private settlements: (() => void)[] = [];

  /**
   * @param before called before each transaction
   * @param after called after each
   * @param areLike whether what rows are said to be like still holds
   */
  constructor(
    private readonly sink: RowSink,
    private readonly before: () => Promise<void>,
    private readonly after: () => Promise<void>,
    private readonly areLike: () => boolean,
    private readonly limits: BatchLimits,
    private readonly deadline = new Deadline(),
  ) {}

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
    await this.flushIfFull();
  }

  /** Calls `done` once every row and deletion added so far is durable. */
  settle(done: () => void): void {
    if (this.isEmpty) done();
    else this.settlements.push(done);
  }

  async flush(isFull = false): Promise<void> {
    if (this.isEmpty) return;
    await this.before();
    if (this.packer.rows > 0) this.pack();
    const { deleteIds, packs: rows, areLike, deadline } = this;
    const count = this.rowsWaiting;
    const change = { deleteIds, rows, areLike, isFull, deadline };
    const settlements = this.settlements;
    this.packs = [];
    this.packedRows = this.packedText = 0;
    this.deleteIds = [];
    this.settlements = [];
    const since = performance.now();
    const { deleted, upserted } = await this.sink.replace(change);
    if (count >= ROWS_MEASURED_MIN) msPerRow = (msPerRow + (performance.now() - since) / count) / 2;
    this.deleted += deleted;
    this.upserted += upserted;
    for (const done of settlements) done();
    await this.after();
  }

  private async flushIfFull(): Promise<void> {
    if (this.size >= this.limits.rows) await this.flush(true);
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

  private get isEmpty(): boolean {
    return this.size === 0;
  }
}
