/**
 * When a collection is compacted by itself: a function of its counters. What it bounds and what that costs, for the
 * rows of the text embedder (dim 2,048) with short texts:
 *
 * | base rows `n` | opens in | saves until due, 64 + n / 128 | until overdue | opens then in | compaction | a save |
 * |---:|---:|---:|---:|---:|---:|---:|
 * | 0 | 0.2 ms | 64 | 128 | 0.3 ms | 1 ms | 0.01 ms |
 * | 20,000 | 0.29 ms | 220 | 440 | 0.65 ms | 0.15 s | 0.35 - 0.7 ms |
 * | 100,000 | 1.0 ms | 845 | 1,690 | 2.6 ms | 0.9 s | 0.5 - 1 ms |
 *
 * A row of a delta takes 0.8 µs to open, 1 µs of larger ones, and one of a base 10 ns; a compaction takes 7 to 10 µs a
 * row of CPU time. The last column is that spread over the saves between two of them, when it is overdue and when it is
 * due. With twice as many saves an open of 20,000 rows takes 3.3 times as long as a compacted one, with half as many
 * compactions take as long as the saves.
 *
 * A compaction of more than a second is begun when it is due and the collection idle, and after a large import: each row of a
 * delta then costs each process that opens the collection and asks one question some 9 µs.
 */
import type { NativeStats } from "../../../ffi/ty_reader.ts";

/** Saves of a base without rows until it is due. */
const SAVES_LEAST = 64;
/** One more for so many rows of the base: less, and opening grows less; more, and compactions cost less. */
const ROWS_A_SAVE = 128;
/**
 * Rows that few large saves may add, beside half of the base's. Reading half as many rows again costs an open more than
 * thrice, but compacting more often would cost an import, whose rows are put in 50 to 100 µs each, half as much again.
 */
const ROWS_LEAST = 4096;
/** Dead bytes, beside a quarter of the live ones: overdue, the files have 1.5 times the live bytes and 8 MiB. */
const DEAD_BYTES_LEAST = 4 * 1024 * 1024;

/** Rows of a delta that half a second of an open is spent on, and their share of the base's rows. */
const SLOW_ROWS = 65_536;
const SLOW_SHARE = 1 / 8;

/**
 * Milliseconds that a row takes, and bytes a millisecond, on two cores of a small machine; an IVF index takes thrice.
 */
const MS_A_ROW = 0.01;
const BYTES_A_MS = 500_000;
const IVF_TIMES = 3;

/** The counters that decide. */
export type Counters = Pick<
  NativeStats,
  | "base_rows"
  | "delta_rows"
  | "saves"
  | "base_dead"
  | "delta_dead"
  | "base_bytes"
  | "delta_bytes"
  | "damages"
  | "ivf_partitions"
>;

/**
 * How much is due: from 1 on a compaction when nothing else is to be done, from 2 on a short one as soon
 * as possible, and a long one beside writers later (`compactor.ts`). 0 of a
 * collection with known damage: a rewrite would need what is damaged, or hide it.
 */
export function dueOf(c: Counters): number {
  if (c.damages > 0) return 0;
  const saves = c.saves / (SAVES_LEAST + c.base_rows / ROWS_A_SAVE);
  const rows = c.delta_rows / (ROWS_LEAST + c.base_rows / 2);
  const [base, delta] = [c.base_bytes / Math.max(1, c.base_rows), c.delta_bytes / Math.max(1, c.delta_rows)];
  const dead = c.base_dead * base + c.delta_dead * delta;
  const live = (c.base_rows - c.base_dead) * base + (c.delta_rows - c.delta_dead) * delta;
  // A base without dead rows and nothing after it is compacted already, whatever its files' sizes.
  return Math.max(saves, rows, dead / (DEAD_BYTES_LEAST + live / 4));
}

/**
 * Whether the rows since the last compaction make each open slow. Then a compaction pays when the collection is idle; during
 * an import it would be repeated too often.
 */
export function isSlowToOpen(c: Counters): boolean {
  return c.damages === 0 && c.delta_rows >= Math.max(SLOW_ROWS, c.base_rows * SLOW_SHARE);
}

/** About how long a compaction takes, in milliseconds. */
export function compactionMs(c: Counters): number {
  const ms = (c.base_rows + c.delta_rows) * MS_A_ROW + (c.base_bytes + c.delta_bytes) / BYTES_A_MS;
  return c.ivf_partitions > 0 ? ms * IVF_TIMES : ms;
}
