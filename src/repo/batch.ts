/**
 * Collects rows and deletions into durable transactions of a bounded size, and reports when a file's rows are durable.
 */
import type { Row, RowSink } from "./sink.ts";

/** What one transaction has at most. */
export interface BatchLimits {
  /** Rows and deletions. */
  rows: number;
  /** UTF-16 units of text. */
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

export class Batch {
  /** As the sink counted them: rows that are new or replaced, and live rows that were deleted. */
  upserted = 0;
  deleted = 0;

  private rows: Row[] = [];
  private deleteIds: string[] = [];
  private textLength = 0;
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
  ) {}

  async upsert(row: Row): Promise<void> {
    if (this.textLength + row.text.length > this.limits.text) await this.flush(true);
    this.rows.push(row);
    this.textLength += row.text.length;
    await this.flushIfFull();
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
    const change = { deleteIds: this.deleteIds, rows: this.rows, areLike: this.areLike, isFull };
    const settlements = this.settlements;
    this.rows = [];
    this.deleteIds = [];
    this.settlements = [];
    this.textLength = 0;
    const { deleted, upserted } = await this.sink.replace(change);
    this.deleted += deleted;
    this.upserted += upserted;
    for (const done of settlements) done();
    await this.after();
  }

  private async flushIfFull(): Promise<void> {
    if (this.rows.length + this.deleteIds.length >= this.limits.rows) await this.flush(true);
  }

  private get isEmpty(): boolean {
    return this.rows.length === 0 && this.deleteIds.length === 0;
  }
}
