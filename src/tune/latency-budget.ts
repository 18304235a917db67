/**
 * The built-in tuner. Decides by measurement whether a collection needs an IVF index: exact search within a latency
 * budget, since its recall is 1; a calibrated index beyond.
 */
import { IVF_MIN_ROWS_DEFAULT, RECALL, RECALL_DEFAULT, readNumber } from "../checks/numbers.ts";
import type { Tuner, TuningContext } from "./context.ts";
import type { Expected, Plan } from "./plan.ts";

/** A slower search is worth approximating: an agent sends several queries a step. */
const LATENCY_BUDGET_MS = 10;

/** A search's latency budget and recall floor. */
export interface LatencyBudgetOptions {
  /** Milliseconds that an exact search may take at the median, above 0 (10). */
  budgetMs?: number | undefined;
  /** Mean share of the true hits that an index must find, above 0 and at most 1 (0.98). */
  recallFloor?: number | undefined;
}

/** `latency-budget`: an IVF index where exact search is too slow and a partition has 20,000 rows. */
export class LatencyBudgetTuner implements Tuner {
  readonly name = "latency-budget";
  private readonly budgetMs: number;
  private readonly recallFloor: number;

  /** @throws ValueError for a budget or a floor outside its range; TypeError for what is not a number */
  constructor({ budgetMs = LATENCY_BUDGET_MS, recallFloor = RECALL_DEFAULT }: LatencyBudgetOptions = {}) {
    this.budgetMs = readNumber(budgetMs, "budgetMs", { above: 0 });
    this.recallFloor = readNumber(recallFloor, "recallFloor", RECALL);
  }

  async plan(context: TuningContext): Promise<Plan> {
    const exact = await context.measure(1);
    const { enabled, trace } = this.decide(context, exact);
    const target = enabled ? this.recallFloor : 1;
    const isIndexed = enabled && context.defaultTargetRecall < 1;
    return context.complete({
      targetRecall: target,
      ivf: { enabled, minRows: IVF_MIN_ROWS_DEFAULT },
      expected: isIndexed ? await context.measure(target) : exact,
      trace,
      constraints: { latency_budget_ms: this.budgetMs, recall_floor: this.recallFloor },
      exactCrossoverRows: this.crossover(context.rows, exact),
    });
  }

  /** Whether an index is worth it, and each step of the reasoning as a sentence. */
  private decide(context: TuningContext, exact: Expected): { enabled: boolean; trace: string[] } {
    const { rows, baseRows: base, deltaRows: delta, dim } = context;
    const largest = context.partitions.reduce((most, p) => Math.max(most, p.rows), 0);
    const isLarge = largest >= IVF_MIN_ROWS_DEFAULT;
    const isSlow = exact.p50_ms > this.budgetMs;
    const trace = [`an exact search over ${rows} rows of dimension ${dim} takes ${exact.p50_ms} ms (p50)`];
    if (delta > base)
      trace.push(`${delta} of ${delta + base} rows lie outside the base: svc_compact makes opening faster`);
    if (!isLarge) {
      trace.push(`the largest partition has ${largest} rows, below ${IVF_MIN_ROWS_DEFAULT}: exact search stays`);
    } else if (!isSlow) {
      trace.push(`that is within the budget of ${this.budgetMs} ms: exact search stays`);
    } else {
      trace.push(
        `beyond the budget of ${this.budgetMs} ms, ${largest} rows in one partition: an IVF index is worth it`,
      );
    }
    const drift = driftOf(context);
    if (drift !== undefined) trace.push(drift);
    return { enabled: isLarge && isSlow, trace };
  }

  /** Rows at which an exact search would take the budget, if its time grows with them. */
  private crossover(rows: number, exact: Expected): number {
    return exact.p50_ms > 0 ? Math.round((rows * this.budgetMs) / exact.p50_ms) : Number.MAX_SAFE_INTEGER;
  }
}

/** Every query scans the whole delta, with any index: beyond this share of the base it costs more than the lists. */
const DELTA_SHARE = 0.1;
/**
 * Drift (see `TuningContext.drift`) beyond which lists hold too many rows that are read in vain. An estimate: with half
 * of the rows in new clusters it is 7.9.
 */
const DRIFT_MAX = 1.25;

/** Advice on an IVF index that rows have drifted from; undefined where there is no index, or all is well. */
function driftOf({ drift, baseRows, deltaRows }: TuningContext): string | undefined {
  if (drift === 0) return undefined;
  if (drift >= DRIFT_MAX) {
    const times = Math.round(drift * 100) / 100;
    const drifted = `rows lie ${times} times as far from their IVF lists as when those were made (mean squares)`;
    return `${drifted}: svc_build_ivf makes them again`;
  }
  if (deltaRows <= baseRows * DELTA_SHARE) return undefined;
  const beside = `${deltaRows} rows beside the ${baseRows} of the IVF index`;
  return `${beside} are read by every query: svc_compact gives them to its lists`;
}
