/** Builds indexes of a collection, with checked arguments. Each build saves: staged changes first, then the index. */
import type { Watch } from "../../ffi/ty_collection.ts";
import { shown } from "../checks/kinds.ts";
import { B, COUNT, K1, readNumber, recallOf } from "../checks/numbers.ts";
import { CancelledError } from "../errors.ts";
import type { Collection } from "../store/collection.ts";
import type { Tuner } from "../tune/context.ts";
import { buildIvf as buildPartitions } from "../tune/ivf.ts";
import type { Plan } from "../tune/plan.ts";
import { applyPlan, tune } from "../tune/tuner.ts";
import { BM25 } from "./ranking.ts";
import { requireLexical } from "./search.ts";

/** Options of an approximate index. */
export interface IvfOptions extends Watch {
  /** Partitions with fewer rows stay exact; a whole number from 0 (20,000). */
  minRows?: number | undefined;
  /**
   * Recall floor that the index is calibrated to, on held-out rows, above 0 and at most 1 (0.98). It holds for queries
   * that are like the rows. It becomes the collection's default.
   */
  targetRecall?: number | undefined;
}

/** Options of the lexical index, which has the defaults until it is built. */
export interface LexicalOptions extends Watch {
  /** Term saturation of BM25, from 0 (1.2). */
  k1?: number | undefined;
  /** Length normalisation of BM25, 0 to 1 (0.6). */
  b?: number | undefined;
}

/** Options of tuning. */
export interface TuneOptions extends Watch {
  /** The tuner (`LatencyBudgetTuner`). */
  tuner?: Tuner | undefined;
  /** true: plan only; false: always apply; omitted: apply where it changes how searches run. */
  dryRun?: boolean | undefined;
}

const IVF_MIN_ROWS = 20_000;
const IVF_TARGET_RECALL = 0.98;

/** Resolves to how many partitions have an index now. */
export async function buildIvf(collection: Collection, options: IvfOptions): Promise<number> {
  const minRows = readNumber(options.minRows ?? IVF_MIN_ROWS, "minRows", COUNT);
  const targetRecall = recallOf(options) ?? IVF_TARGET_RECALL;
  return (await buildPartitions(collection, minRows, targetRecall, options)).partitions;
}

/** Builds the lexical index. */
export async function buildLexical(collection: Collection, options: LexicalOptions): Promise<void> {
  requireLexical(collection);
  const k1 = readNumber(options.k1 ?? BM25.k1, "k1", K1);
  const b = readNumber(options.b ?? BM25.b, "b", B);
  await collection.buildLexical(k1, b, options);
}

/** Plans, and applies unless `dryRun`. Staged changes are measured too, and saved where the plan is applied. */
export function tuneCollection(collection: Collection, options: TuneOptions): Promise<Plan> {
  return cancellable(collection.name, options.signal, () => tune(collection, options.dryRun, options, options.tuner));
}

/** Applies a plan. */
export function applyTuning(collection: Collection, plan: Plan, watch: Watch): Promise<Plan> {
  return cancellable(collection.name, watch.signal, () => applyPlan(collection, plan, watch));
}

/**
 * Runs an embedder or a tuner, which watches the signal itself: any failure after an abort becomes a CancelledError.
 */
export async function cancellable<T>(
  name: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const cancelled = () => new CancelledError(`the call was cancelled; collection ${shown(name)} stands as it was`);
  if (signal?.aborted) throw cancelled();
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted ? cancelled() : error;
  }
}
