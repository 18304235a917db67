/** Tuners and their plans. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { LocalCollection } from "../../src/api/local-collection.ts";
import type { LocalStore } from "../../src/api/local-store.ts";
import { CancelledError, ValueError } from "../../src/errors.ts";
import type { Tuner, TuningContext } from "../../src/tune/context.ts";
import { LatencyBudgetTuner } from "../../src/tune/latency-budget.ts";
import { type Plan, sealed } from "../../src/tune/plan.ts";
import { random, unitVectors } from "../random.ts";
import { localStore } from "./fixture.ts";

const DIM = 16;
let store: LocalStore;
let c: LocalCollection;

beforeEach(async () => {
  store = await localStore();
  c = await store.createCollection("c", { dim: DIM });
  await c.add(unitVectors(2000, DIM, random(5)));
});

/** Wants an index from 1,000 rows on, whatever it costs. */
class Eager implements Tuner {
  readonly name = "eager";
  async plan(context: TuningContext): Promise<Plan> {
    const expected = await context.measure(1);
    const trace = [`${context.rows} rows in ${context.partitions.length} partition`];
    return context.complete({ targetRecall: 0.9, ivf: { enabled: true, minRows: 1000 }, expected, trace });
  }
}

describe("the tuner that is built in", () => {
  test("keeps a small collection exact, and changes nothing where it already is", async () => {
    const plan = await c.tune();
    expect(plan).toMatchObject({
      collection: "c",
      tuner: "latency-budget",
      target_recall: 1,
      ivf: { enabled: false, min_rows: 20_000, target_recall: 1, partitions: [{ key: "default", rows: 2000 }] },
      constraints: { latency_budget_ms: 10, recall_floor: 0.98 },
      engine: "libty_runtime",
    });
    expect(plan.decision_trace.at(-1)).toBe("the collection is set up like this: nothing was changed");
    expect(plan.expected.recall_at_k).toBe(1);
    expect((await c.stats()).applied_tuner).toBeNull();
    expect((await c.stats()).generation).toBe(0);
  });

  test("advises what to do when rows have moved on from an index", async () => {
    const advice = async () => (await c.tune({ dryRun: true })).decision_trace.filter((step) => step.includes("lists"));
    await c.buildIvf({ minRows: 100 });
    expect(await advice()).toEqual([]);
    const far = unitVectors(1000, DIM, random(7)).map((x) => 4 * x);
    await c.add(far);
    expect(await advice()).toEqual([
      "1000 rows beside the 2000 of the IVF index are read by every query: svc_compact gives them to its lists",
    ]);
    await c.compact();
    const [step] = await advice();
    expect(step).toMatch(/^rows lie \d+(\.\d+)? times as far from their IVF lists .* svc_build_ivf makes them again$/);
    await c.buildIvf({ minRows: 100 });
    expect(await advice()).toEqual([]);
  });

  test("takes another budget and another floor", async () => {
    const big = await store.createCollection("big", { dim: DIM });
    await big.add(unitVectors(20_000, DIM, random(6)));
    const tuner = new LatencyBudgetTuner({ budgetMs: 1e-6, recallFloor: 0.9 });
    const dry = await big.tune({ tuner, dryRun: true });
    expect(dry).toMatchObject({ target_recall: 0.9, ivf: { enabled: true, target_recall: 0.9 } });
    expect((await big.stats()).ivf_partitions).toBe(0);
    const applied = await big.tune({ tuner });
    expect(applied.ivf.partitions[0]!.nlist).toBeGreaterThan(1);
    expect(applied.plan_id).not.toBe(dry.plan_id);
    expect(await big.stats()).toMatchObject({ ivf_partitions: 1, default_target_recall: 0.9 });
    expect(() => new LatencyBudgetTuner({ budgetMs: 0 })).toThrow(/^budgetMs must be a number above 0, got 0$/);
    expect(() => new LatencyBudgetTuner({ recallFloor: 1.1 })).toThrow(
      /^recallFloor must be a number above 0 and at most 1, got 1.1$/,
    );
  });
});

describe("a custom tuner", () => {
  test("plans without changing anything, and its plan can be applied later", async () => {
    const plan = await c.tune({ tuner: new Eager(), dryRun: true });
    expect(plan).toMatchObject({ tuner: "eager", constraints: {}, target_recall: 0.9 });
    expect(await c.stats()).toMatchObject({ applied_tuner: null, ivf_partitions: 0 });

    const applied = await c.applyTuning(JSON.parse(JSON.stringify(plan)));
    expect(applied.decision_trace).toContain("applied: default_target_recall is 0.9");
    expect(applied.ivf.partitions[0]!.nprobe).toBeGreaterThan(0);
    expect(await c.stats()).toMatchObject({
      applied_tuner: { tuner: "eager", target_recall: 0.9, min_rows: 1000 },
      default_target_recall: 0.9,
      ivf_partitions: 1,
      unsaved_changes: false,
    });
    expect((await c.search(unitVectors(1, DIM, random(9)), { explain: true })).explain!.mode).toBe("ivf");
  });

  test("an index that no partition is large enough for is not built, and the plan says so", async () => {
    const plan = await c.tune({ tuner: new Eager(), dryRun: true });
    const applied = await c.applyTuning({ ...plan, ivf: { ...plan.ivf, min_rows: 5000 } });
    expect(applied.decision_trace).toContain(
      "no partition has 5000 rows, the largest has 2000: no IVF index was built",
    );
    expect((await c.stats()).ivf_partitions).toBe(0);
  });

  test("is applied where it changes how searches run, and always with dryRun false", async () => {
    await c.tune({ tuner: new Eager() });
    const { generation } = await c.stats();
    await c.tune({ tuner: new Eager() });
    expect((await c.stats()).generation).toBe(generation);
    await c.tune({ tuner: new Eager(), dryRun: false });
    expect((await c.stats()).generation).toBeGreaterThan(generation);
  });

  test("a plan's id depends on its contents", async () => {
    const plan = await c.tune({ dryRun: true });
    expect(sealed(plan)).toEqual(plan);
    expect(sealed({ ...plan, target_recall: 0.5 }).plan_id).not.toBe(plan.plan_id);
  });

  test("a plan that cannot be carried out is a ValueError that names what is wrong, and nothing changes", async () => {
    const good = await c.tune({ tuner: new Eager(), dryRun: true });
    const wrong: [unknown, RegExp][] = [
      [undefined, /undefined, not an object/],
      [{ ...good, collection: "other" }, /for collection 'other', this is 'c'/],
      [{ ...good, tuner: "" }, /tuner/],
      [{ ...good, target_recall: 0 }, /target_recall is 0/],
      [{ ...good, target_recall: "1" }, /target_recall/],
      [{ ...good, ivf: null }, /ivf/],
      [{ ...good, ivf: { ...good.ivf, enabled: "yes" } }, /ivf.enabled is yes/],
      [{ ...good, ivf: { ...good.ivf, min_rows: -1 } }, /ivf.min_rows is -1/],
      [{ ...good, ivf: { ...good.ivf, target_recall: 1.5 } }, /ivf.target_recall is 1.5/],
      [{ ...good, target_recall: 0.95 }, /no search would use the index/],
      [{ ...good, decision_trace: "because" }, /decision_trace/],
    ];
    for (const [plan, sentence] of wrong) {
      const error = await c.applyTuning(plan as Plan).catch((failure) => failure);
      expect(error).toBeInstanceOf(ValueError);
      expect(error.message).toMatch(sentence);
      const tuner: Tuner = { name: "wrong", plan: () => plan as Plan };
      await expect(c.tune({ tuner, dryRun: true })).rejects.toThrow(sentence);
    }
    expect((await c.stats()).generation).toBe(0);
  });

  test("measuring stops when the caller cancels", async () => {
    const stop = new AbortController();
    const tune = c.tune({ signal: stop.signal, onProgress: () => stop.abort() });
    await expect(tune).rejects.toBeInstanceOf(CancelledError);
  });
});
