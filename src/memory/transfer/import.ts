/**
 * Imports the rows of a file into a collection in batches. Each batch is written completely or not at all, and only if the
 * batch before it was. While one is saved, which mostly waits for the disk, the next one's texts are embedded.
 */
import { CancelledError, type SvcError } from "../../errors.ts";
import { ContentIds } from "../../formats/input/content-ids.ts";
import type { ForeignRow, RowSource } from "../../formats/input/row.ts";
import type { Memory } from "../memory.ts";
import type { ImportRow } from "../transfer.ts";
import type { WantedSchema } from "../transfer-schema.ts";

/** Rows of a batch, which is one save. With smaller batches, syncs take a noticeable part of the time. */
const BATCH_ROWS = 5000;
/** A batch ends earlier with so many UTF-16 units, to limit memory: while it is written, the next one is read. */
const BATCH_UNITS = 16 * 1024 * 1024;
/** Units that are counted for a member of the metadata: its name, and a number or a short word. */
const UNITS_A_MEMBER = 32;
/** Units that are counted for a number of a vector. It is in memory as it was read, as it is stored, and packed. */
const UNITS_A_NUMBER = 16;
/**
 * The import compacts after it has written so many rows since the last compaction, or half as many as it had written by
 * then, if that is more. Every process that opens the collection codes these rows again, in 7 us each, also if the import
 * was killed.
 */
const COMPACT_ROWS = 250_000;
/** At its end it compacts from so many rows on. Fewer are compacted when the process ends, or in the background. */
const COMPACT_ROWS_AT_END = 50_000;

/** The collection that gets the rows, and how they are written. */
export interface ImportOptions {
  readonly collection: string;
  readonly schema: WantedSchema;
  /** Whether rows keep the times of the file. */
  readonly times: boolean;
  readonly skipDuplicates?: boolean | undefined;
  /** Gets the error of a row that is wrong, and the row is left out. Absent: the import stops at such a row. */
  readonly onBad?: ((error: SvcError) => void) | undefined;
  readonly signal: AbortSignal;
  /** Called after each batch. */
  readonly onBatch?: (() => void) | undefined;
  readonly onCompacting?: ((done: number, total: number) => void) | undefined;
}

/** What an import has done so far. */
export interface ImportTotal {
  /** Rows that were written, or were there already. */
  imported: number;
  inserted: number;
  replaced: number;
  unchanged: number;
  /** Texts of other rows that were skipped. */
  skipped: number;
  /** Credentials that were masked. */
  masked: number;
  /** Rows whose vectors are of another embedder. */
  embeddedAgain: number;
}

/** One import. If it fails, its total still counts what was written. */
export class FileImport {
  readonly total: ImportTotal = {
    imported: 0,
    inserted: 0,
    replaced: 0,
    unchanged: 0,
    skipped: 0,
    masked: 0,
    embeddedAgain: 0,
  };
  #compactedAt = 0;
  /** The batch before; it is saved when this resolves. */
  #saved: Promise<unknown> | undefined;

  constructor(
    private readonly memory: Pick<Memory, "terminal" | "compact">,
    private readonly source: RowSource,
    private readonly options: ImportOptions,
  ) {}

  /** Rows that were added or replaced. */
  get written(): number {
    return this.total.inserted + this.total.replaced;
  }

  /** @throws ValueError naming the row that is wrong, unless those are left out; OSError; CancelledError */
  async run(): Promise<void> {
    const { source, options } = this;
    let batches = 0;
    await eachAhead(readBatches(source, options.signal), async (rows, next) => {
      batches += 1;
      await this.#write(rows, next);
    });
    // A file without rows may still describe a collection: it is created.
    if (batches === 0 && source.schema !== undefined) await this.#write([]);
    if (this.written - this.#compactedAt >= COMPACT_ROWS_AT_END) await this.#compact();
  }

  /** @param whileSaving the next batch may be begun */
  async #write(rows: readonly ImportRow[], whileSaving?: () => void): Promise<void> {
    const { total, source } = this;
    const { signal, onBatch, onCompacting: _, ...given } = this.options;
    if (signal.aborted) throw new CancelledError("interrupted");
    const terminal = await this.memory.terminal();
    const a = { ...given, rows, source: source.schema, after: this.#saved, whileSaving };
    const saved = terminal.import_rows(a, { signal });
    this.#saved = saved;
    const done = await saved;
    total.inserted += done.inserted;
    total.replaced += done.replaced;
    total.unchanged += done.unchanged;
    total.skipped += done.skipped ?? 0;
    total.masked += done.masked ?? 0;
    total.embeddedAgain += done.embedded_again;
    total.imported += rows.length - done.bad - (done.skipped ?? 0);
    onBatch?.();
    if (this.written - this.#compactedAt >= Math.max(COMPACT_ROWS, this.#compactedAt / 2)) await this.#compact();
  }

  async #compact(): Promise<void> {
    const { collection, signal, onCompacting } = this.options;
    await this.memory.compact({ collection, max_bytes: 0 }, { signal, progress: onCompacting });
    this.#compactedAt = this.written;
  }
}

/**
 * Calls `use` with each item, and makes the next item meanwhile. A call begins when the one before has called `next`, or has
 * ended; the item after it is made once the one before has ended. If several fail, the error of the earliest item is thrown.
 */
async function eachAhead<T>(items: AsyncIterable<T>, use: (item: T, next: () => void) => Promise<void>): Promise<void> {
  let earlier = Promise.resolve();
  let last = { goesOn: earlier, ended: earlier };
  try {
    for await (const item of items) {
      await last.goesOn;
      earlier = last.ended;
      const { promise: goesOn, resolve: next } = Promise.withResolvers<void>();
      const ended = use(item, next).finally(next);
      ended.catch(() => {}); // it is awaited later, and must not count as unhandled until then
      last = { goesOn, ended };
      await earlier;
    }
  } finally {
    await last.ended.catch(() => {});
    await earlier;
    await last.ended;
  }
}

/** The rows in batches, of which two fit into memory at a time. A row without an id gets one. */
async function* readBatches(source: RowSource, signal: AbortSignal): AsyncGenerator<ImportRow[]> {
  const ids = new ContentIds();
  let batch: ImportRow[] = [];
  let units = 0;
  for await (const some of source.rows(signal)) {
    for (const row of Array.isArray(some) ? (some as readonly ForeignRow[]) : [some as ForeignRow]) {
      batch.push(row.id === undefined ? { ...row, id: ids.of(row) } : (row as ImportRow));
      units += (row.text?.length ?? 0) + UNITS_A_NUMBER * (row.vector?.length ?? 0);
      if (row.metadata) units += UNITS_A_MEMBER * Object.keys(row.metadata).length;
      if (batch.length < BATCH_ROWS && units < BATCH_UNITS) continue;
      yield batch;
      batch = [];
      units = 0;
    }
  }
  if (batch.length > 0) yield batch;
}
