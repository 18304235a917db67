/** Makes a tuner's plan and applies it to a collection. */
import type { Watch } from "../../ffi/ty_collection.ts";
import type { Collection } from "../store/collection.ts";
import { type Tuner, TuningContext } from "./context.ts";
import { buildIvf } from "./ivf.ts";
import { LatencyBudgetTuner } from "./latency-budget.ts";
import { checkPlan, type Plan, sealed } from "./plan.ts";

/**
 * Calls a tuner and applies its plan, except in a dry run.
 *
 * @param dryRun true: plan only. false: always apply. undefined: apply where it changes how searches run.
 * @returns the plan; after applying with the figures measured afterwards
 * @throws ValueError where the tuner's plan cannot be carried out
 */
export async function tune(
  collection: Collection,
  dryRun: boolean | undefined,
  watch: Watch,
  tuner: Tuner = new LatencyBudgetTuner(),
): Promise<Plan> {
  const context = new TuningContext(collection, tuner.name, watch);
  const plan = checkPlan(await tuner.plan(context), collection.name);
  const apply = dryRun === false || (dryRun === undefined && plan.target_recall !== context.defaultTargetRecall);
  if (apply) return applyPlan(collection, plan, watch);
  const why = dryRun ? "dry run: nothing was changed" : "the collection is set up like this: nothing was changed";
  return sealed({ ...plan, decision_trace: [...plan.decision_trace, why] });
}

/**
 * Builds a plan's index, makes its recall the collection's default and records the tuner in the manifest. Saves.
 *
 * @returns the plan with its applied steps, and with partitions and figures as they are afterwards
 * @throws ValueError for an invalid plan; nothing was changed then
 */
export async function applyPlan(collection: Collection, plan: Plan, watch: Watch): Promise<Plan> {
  const { tuner, target_recall, ivf } = checkPlan(plan, collection.name);
  const trace = [...plan.decision_trace];
  if (ivf.enabled) {
    const { built, partitions, largest } = await buildIvf(collection, ivf.min_rows, ivf.target_recall, watch);
    trace.push(
      built
        ? `built an IVF index for ${partitions} partitions, calibrated to recall ${ivf.target_recall}`
        : `no partition has ${ivf.min_rows} rows, the largest has ${largest}: no IVF index was built`,
    );
  } else if (collection.partitions().some((p) => p.nlist > 0)) {
    trace.push("the IVF index that is there stays unused; svc_build_ivf would use it again");
  }
  await collection.change(async (t) => {
    t.set("default_target_recall", target_recall);
    t.set("applied_tuner", { tuner, target_recall, min_rows: ivf.min_rows });
  }, watch.signal);
  trace.push(`applied: default_target_recall is ${target_recall}`);
  const after = new TuningContext(collection, tuner, watch);
  return sealed({
    ...plan,
    ivf: { ...ivf, partitions: after.partitions },
    expected: await after.measure(target_recall),
    decision_trace: trace,
  });
}
