/**
 * Decides by measurement whether a collection wants an IVF index: exact search as long as it keeps within a latency budget, since it is
 * never wrong; a calibrated index beyond.
 */
import type { Watch } from "../../ffi/ty_collection.ts";
import type { Collection } from "../store/collection.ts";
import { type Expected, type Plan, shortHash } from "./plan.ts";

const TUNER = "latency-budget";
/** A search that takes longer than this is worth approximating: an agent asks several questions a step. */
const LATENCY_BUDGET_MS = 10;
const RECALL_FLOOR = 0.98;
/** Partitions below this are scanned in well under a millisecond; an index would only cost. */
const IVF_MIN_ROWS = 20_000;
const K = 10;
const QUESTIONS = 48;
const SEED = 20_260_101;

/**
 * Measures, decides, and applies unless told not to.
 *
 * @param dryRun true: plan only. false: apply whatever the plan is. undefined: apply where it changes how searches run.
 */
export async function tune(collection: Collection, dryRun: boolean | undefined, watch: Watch): Promise<Plan> {
  const { live_rows: rows, generation } = collection.stats();
  const exact = await measure(collection, 1, watch);
  const { enabled, trace } = decide(collection, exact);
  const target = enabled ? RECALL_FLOOR : 1;
  const current = collection.manifest().defaultTargetRecall;
  const apply = dryRun === false || (dryRun === undefined && target !== current);
  let expected = exact;
  if (apply) {
    expected = await applyPlan(collection, enabled, target, watch, trace);
  } else {
    trace.push(dryRun ? "dry run: nothing was changed" : "the collection is set up like this: nothing was changed");
    if (enabled && current < 1) expected = await measure(collection, target, watch);
  }
  const plan = {
    collection: collection.name,
    tuner: TUNER,
    target_recall: target,
    exact_crossover_rows: crossover(rows, exact),
    ivf: {
      enabled,
      min_rows: IVF_MIN_ROWS,
      target_recall: target,
      partitions: collection.partitions().map((p) => ({ ...p, key: p.key ?? null })),
    },
    expected,
    constraints: { latency_budget_ms: LATENCY_BUDGET_MS, recall_floor: RECALL_FLOOR },
    decision_trace: trace,
    workload_hash: shortHash([collection.name, generation, rows, collection.schema.dim]),
    engine: "libty_runtime",
  };
  return { ...plan, plan_id: shortHash(plan) };
}

/** Whether an index is worth it, and each step of the reasoning as a sentence. */
function decide(collection: Collection, exact: Expected): { enabled: boolean; trace: string[] } {
  const { live_rows: rows, base_rows: base, delta_rows: delta } = collection.stats();
  const largest = Math.max(0, ...collection.partitions().map((p) => p.rows));
  const isLarge = largest >= IVF_MIN_ROWS;
  const isSlow = exact.p50_ms > LATENCY_BUDGET_MS;
  const dim = collection.schema.dim;
  const trace = [`an exact search over ${rows} rows of dimension ${dim} takes ${exact.p50_ms} ms (p50)`];
  if (delta > base)
    trace.push(`${delta} of ${delta + base} rows lie outside the base: svc_compact makes opening faster`);
  if (!isLarge) {
    trace.push(`the largest partition has ${largest} rows, below ${IVF_MIN_ROWS}: exact search stays`);
  } else if (!isSlow) {
    trace.push(`that is within the budget of ${LATENCY_BUDGET_MS} ms: exact search stays`);
  } else {
    trace.push(
      `beyond the budget of ${LATENCY_BUDGET_MS} ms, ${largest} rows in one partition: an IVF index is worth it`,
    );
  }
  return { enabled: isLarge && isSlow, trace };
}

/** Rows at which an exact search would take the budget, if its time grows with them. */
function crossover(rows: number, exact: Expected): number {
  return exact.p50_ms > 0 ? Math.round((rows * LATENCY_BUDGET_MS) / exact.p50_ms) : Number.MAX_SAFE_INTEGER;
}

async function applyPlan(
  collection: Collection,
  enabled: boolean,
  target: number,
  watch: Watch,
  trace: string[],
): Promise<Expected> {
  if (enabled) {
    const built = await collection.buildIvf(IVF_MIN_ROWS, target, watch);
    trace.push(`built an IVF index for ${built} partitions, calibrated to recall ${target}`);
  } else if (collection.partitions().some((p) => p.nlist > 0)) {
    trace.push("the IVF index that is there stays unused; svc_build_ivf would use it again");
  }
  await collection.change(async (t) => {
    t.set("default_target_recall", target);
    t.set("applied_tuner", { tuner: TUNER, target_recall: target, min_rows: IVF_MIN_ROWS });
  }, watch.signal);
  trace.push(`applied: default_target_recall is ${target}`);
  return measure(collection, target, watch);
}

/** Times searches with the collection's own vectors as questions, and compares their answers with the exact ones. */
async function measure(collection: Collection, targetRecall: number, watch: Watch): Promise<Expected> {
  const dim = collection.schema.dim;
  const vectors = collection.sample(QUESTIONS, SEED);
  const times: number[] = [];
  let found = 0;
  let wanted = 0;
  for (let at = 0; at < vectors.length; at += dim) {
    watch.signal?.throwIfAborted();
    watch.onProgress?.(at / dim, vectors.length / dim);
    const query = vectors.subarray(at, at + dim);
    const start = performance.now();
    const answer = await collection.search(query, { topK: K, targetRecall });
    times.push(performance.now() - start);
    if (targetRecall === 1) continue;
    const truth = new Set((await collection.search(query, { topK: K, targetRecall: 1 })).rows.map((row) => row.id));
    found += answer.rows.filter((row) => truth.has(row.id)).length;
    wanted += truth.size;
  }
  times.sort((a, b) => a - b);
  const quantile = (q: number) => {
    const value = times[Math.min(times.length - 1, Math.floor(times.length * q))] ?? 0;
    return Math.round(value * 1000) / 1000;
  };
  const recall = wanted === 0 ? 1 : Math.round((found / wanted) * 1000) / 1000;
  return { p50_ms: quantile(0.5), p95_ms: quantile(0.95), recall_at_k: recall };
}
