/**
 * Collects rows and deletions into durable transactions of a bounded size, and reports when a file's rows are durable.
 */
import type { Row, RowSink } from "./sink.ts";

/**
 * A transaction costs a fixed number of syncs and one new id map, so a repository of 80 MB needs tens of them, not
 * hundreds; larger ones cost memory and delay a cancel.
 */
const BATCH_ROWS_MAX = 2048;
const BATCH_TEXT_MAX = 4 * 1024 * 1024;

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
  ) {}

  async upsert(row: Row): Promise<void> {
    if (this.textLength + row.text.length > BATCH_TEXT_MAX) await this.flush(true);
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
    if (this.rows.length + this.deleteIds.length >= BATCH_ROWS_MAX) await this.flush(true);
  }

  private get isEmpty(): boolean {
    return this.rows.length === 0 && this.deleteIds.length === 0;
  }
}
