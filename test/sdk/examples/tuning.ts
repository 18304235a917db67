/** Tuning: a tuner measures and plans, the plan is looked at, and applied or not. */
import { strict as assert } from "node:assert";
import {
  type Decision,
  type Expected,
  type IvfPlan,
  type LatencyBudgetOptions,
  LatencyBudgetTuner,
  type Plan,
  Store,
  type TuneOptions,
  type Tuner,
  type TuningContext,
} from "svc";

await using store = await Store.open();
const c = await store.createCollection("tuned", { dim: 8 });
await c.add(Float32Array.from({ length: 2000 * 8 }, (_, i) => Math.sin(i * i)));

// The tuner that is built in: exact as long as that takes at most so many milliseconds.
const budget: LatencyBudgetOptions = { budgetMs: 1000, recallFloor: 0.95 };
const options: TuneOptions = { tuner: new LatencyBudgetTuner(budget), dryRun: true };
const plan: Plan = await c.tune(options);
const ivf: IvfPlan = plan.ivf;
assert.deepEqual([plan.tuner, plan.target_recall, ivf.enabled], ["latency-budget", 1, false]);

// One of your own.
class AlwaysIndexed implements Tuner {
  readonly name = "always-indexed";

  async plan(context: TuningContext): Promise<Plan> {
    const expected: Expected = await context.measure(1);
    const decision: Decision = {
      targetRecall: 0.9,
      ivf: { enabled: true, minRows: 100 },
      expected,
      trace: [`${context.rows} rows: an index, because I say so`],
    };
    return context.complete(decision);
  }
}

const mine = await c.tune({ tuner: new AlwaysIndexed(), dryRun: true });
const applied: Plan = await c.applyTuning(mine);
assert.ok(applied.expected.recall_at_k > 0);
assert.deepEqual((await c.stats()).applied_tuner, { tuner: "always-indexed", target_recall: 0.9, min_rows: 100 });
