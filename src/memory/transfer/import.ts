/** The rows of a file into a collection, in batches; a batch is written whole or not at all. */
import { CancelledError, type SvcError } from "../../errors.ts";
import { ContentIds } from "../../formats/input/content-ids.ts";
import type { ForeignRow, RowSource } from "../../formats/input/row.ts";
import type { Memory } from "../memory.ts";
import type { ImportRow } from "../transfer.ts";
import type { WantedSchema } from "../transfer-schema.ts";

/** Rows of a batch, which is one save. A smaller one spends a part of the time on syncs. */
const BATCH_ROWS = 5000;
/** A batch of long texts, in UTF-16 units, is written earlier, to bound what is held: the next one is read meanwhile. */
const BATCH_UNITS = 16 * 1024 * 1024;
/** Units that a member of the metadata counts for, its name and a number or a short word. */
const UNITS_A_MEMBER = 32;
/** Units that a number of a vector counts for: it is held as it was read, compared with the stored one, and packed. */
const UNITS_A_NUMBER = 16;
/**
 * Every process that opens the collection codes the rows since the last compaction again, 7 us each. After so many, or
 * half as many as there were where that is more, the import compacts: one that is killed is not slow to open.
 */
const FOLD_ROWS = 250_000;
/** The same at the end: fewer are compacted by the process as it ends, or in the background. */
const FOLD_ROWS_AT_END = 50_000;

/** Where rows go, and what becomes of them. */
export interface ImportOptions {
  readonly collection: string;
  readonly schema: WantedSchema;
  /** Whether rows keep the times of the file. */
  readonly times: boolean;
  readonly skipDuplicates?: boolean | undefined;
  /** Gets what is wrong with a row, which is then left out; absent: the import stops there. */
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

/** One import. Its total counts what was written also when it failed. */
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
  #folded = 0;

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
    await eachAhead(readBatches(source, options.signal), async (rows) => {
      batches += 1;
      await this.#write(rows);
    });
    // What an export of no rows says of its collection is imported as well.
    if (batches === 0 && source.schema !== undefined) await this.#write([]);
    if (this.written - this.#folded >= FOLD_ROWS_AT_END) await this.#fold();
  }

  async #write(rows: readonly ImportRow[]): Promise<void> {
    const { total, source } = this;
    const { signal, onBatch, onCompacting: _, ...given } = this.options;
    if (signal.aborted) throw new CancelledError("interrupted");
    const terminal = await this.memory.terminal();
    const done = await terminal.import_rows({ ...given, rows, source: source.schema }, { signal });
    total.inserted += done.inserted;
    total.replaced += done.replaced;
    total.unchanged += done.unchanged;
    total.skipped += done.skipped ?? 0;
    total.masked += done.masked ?? 0;
    total.embeddedAgain += done.embedded_again;
    total.imported += rows.length - done.bad - (done.skipped ?? 0);
    onBatch?.();
    if (this.written - this.#folded >= Math.max(FOLD_ROWS, this.#folded / 2)) await this.#fold();
  }

  async #fold(): Promise<void> {
    const { collection, signal, onCompacting } = this.options;
    await this.memory.compact({ collection, max_bytes: 0 }, { signal, progress: onCompacting });
    this.#folded = this.written;
  }
}

/**
 * Calls `use` with each item, one call after the other, while the next item is made. Where both fail, the call's error
 * is thrown: its item came first.
 */
async function eachAhead<T>(items: AsyncIterable<T>, use: (item: T) => Promise<void>): Promise<void> {
  let pending = Promise.resolve();
  try {
    for await (const item of items) {
      await pending;
      pending = use(item);
      pending.catch(() => {}); // not unhandled: it is awaited below
    }
  } finally {
    await pending;
  }
}

/** The rows in batches, which are small enough to be held twice; each with an id. */
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
