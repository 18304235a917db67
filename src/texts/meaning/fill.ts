/** Makes the missing vectors of meaning of a collection, in batches. If it is stopped, the saved batches stay. */
import type { MeaningBatch, Watch } from "../../../ffi/ty_collection.ts";
import { shown } from "../../checks/kinds.ts";
import { CancelledError, RuntimeError } from "../../errors.ts";
import type { Collection, Transaction } from "../../store/collection.ts";
import type { SentenceEncoder } from "./encoder.ts";
import { isMeaningOn, requireCanHaveMeaning } from "./setting.ts";

/** Rows that are encoded and saved together at most: 0.3 to 1.5 s of one core for short texts. */
export const BATCH_ROWS = 256;
/** A batch is saved after this time, even if it is not full: long texts take longer. */
export const BATCH_MS_MAX = 2_000;

/** Counts of a collection after `fill`. */
export interface Filled {
  /** Live rows with texts. */
  texts: number;
  /** Of these, rows with a vector of meaning. */
  filled: number;
  /** Vectors that this call made. */
  added: number;
}

/**
 * Makes all missing vectors. Other processes can write between two batches.
 * @throws RuntimeError where this process has no encoder, or the collection is off; CancelledError that says how far it came
 */
export async function fill(
  collection: Collection,
  encoder: SentenceEncoder,
  watch: Watch = {},
  batchRows = BATCH_ROWS,
): Promise<Filled> {
  requireCanHaveMeaning(collection);
  requireOn(collection);
  if (!(await encoder.load())) throw new RuntimeError(encoder.fault!);
  const { signal, onProgress } = watch;
  const stop = new Uint32Array(1);
  const halt = () => stop.fill(1);
  signal?.addEventListener("abort", halt, { once: true });
  let added = 0;
  try {
    for (;;) {
      const { text_rows, meaning_rows } = collection.stats();
      onProgress?.(meaning_rows, text_rows);
      if (signal?.aborted) throw stoppedError(meaning_rows, text_rows);
      const batch = await encodeBatch(collection, batchRows, stop);
      // Without the signal: what is encoded is saved.
      if (batch.count > 0) added += await collection.change((t) => putIfOn(collection, t, batch));
      else if (!signal?.aborted) return { texts: text_rows, filled: meaning_rows, added };
    }
  } finally {
    signal?.removeEventListener("abort", halt);
  }
}

/** What `stop[0]` is where the time of a batch is over. The caller's own values stay when it ends. */
const LATE = 2;

/**
 * Encodes rows until `stop[0]` is not 0, `most` rows are encoded, or `BATCH_MS_MAX` have passed, but at least one, however
 * long it takes: on a busy machine, or one that slept, a batch may end before its first row. So no row was encoded only
 * where the caller stopped it, or where none is left.
 */
export async function encodeBatch(collection: Collection, most: number, stop: Uint32Array, isBackground = false) {
  const timer = setTimeout(() => {
    if (stop[0] === 0) stop[0] = LATE;
  }, BATCH_MS_MAX);
  try {
    const batch = await collection.encodeMeaning(most, stop, isBackground);
    if (batch.count > 0 || stop[0] !== LATE) return batch;
    stop[0] = 0;
    return await collection.encodeMeaning(1, stop, isBackground);
  } finally {
    clearTimeout(timer);
    if (stop[0] === LATE) stop[0] = 0;
  }
}

/** Within the change: another process may have turned meaning off since the batch was encoded. */
async function putIfOn(collection: Collection, t: Transaction, batch: MeaningBatch): Promise<number> {
  requireOn(collection);
  return t.putMeaning(batch);
}

function requireOn(collection: Collection): void {
  if (isMeaningOn(collection)) return;
  const { name } = collection;
  const remedy = `'svc mem alter ${name} --meaning on' turns it on`;
  throw new RuntimeError(`meaning is off for collection ${shown(name)}: ${remedy}`);
}

function stoppedError(filled: number, texts: number): CancelledError {
  return new CancelledError(`interrupted; ${filled} of ${texts} texts have their vectors of meaning, which are saved`);
}
