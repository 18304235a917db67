/** A tuner's findings and plan for a collection. Field names are the tool's, so they are snake_case. */

import { shown } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";

/** An IVF index per partition, or none. */
export interface IvfPlan {
  enabled: boolean;
  /** Partitions with fewer rows stay exact; a whole number from 0. */
  min_rows: number;
  /** Recall that the index is calibrated to, above 0 and at most 1. */
  target_recall: number;
  partitions: { key: string | number | boolean | null; rows: number; nlist: number; nprobe: number }[];
}

/** Figures measured on the collection with its present index. */
export interface Expected {
  p50_ms: number;
  p95_ms: number;
  /** Mean share of the exact ten best rows that the planned search finds. */
  recall_at_k: number;
}

/** A tuning plan. Applying it needs `collection`, `tuner`, `target_recall` and `ivf`; the rest is for information. */
export interface Plan {
  /** Name of its collection. */
  collection: string;
  /** Name of the tuner that made it. */
  tuner: string;
  /** The collection's default from then on, above 0 and at most 1; 1 is exact. */
  target_recall: number;
  /** Rows at which an exact search would take the latency budget on this machine. */
  exact_crossover_rows: number;
  ivf: IvfPlan;
  expected: Expected;
  /** The tuner's constraints: `latency_budget_ms` and `recall_floor` of the built-in one. */
  constraints: Record<string, number>;
  /** Each step of the decision as a sentence. */
  decision_trace: string[];
  /** Identifies the measured state: collection, generation, rows, dimension. */
  workload_hash: string;
  engine: string;
  /** Hash of all fields above. */
  plan_id: string;
}

/** The plan with the id of its present content. */
export function sealed({ plan_id: _, ...plan }: Omit<Plan, "plan_id"> & { plan_id?: string }): Plan {
  return { ...plan, plan_id: shortHash(plan) };
}

/**
 * Refuses a plan that cannot be applied to a collection: it may come from a caller's own tuner, or from a file.
 * @throws ValueError that names the field
 */
export function checkPlan(plan: Plan, collection: string): Plan {
  const refuse = (why: string) => new ValueError(`the plan cannot be applied: ${why}`);
  if (!isObject(plan)) throw refuse(`it is ${JSON.stringify(plan) ?? "undefined"}, not an object`);
  if (plan.collection !== collection) {
    throw refuse(`it is for collection ${shown(String(plan.collection))}, this is ${shown(collection)}`);
  }
  if (typeof plan.tuner !== "string" || plan.tuner === "") throw refuse("tuner must be the name of who made it");
  if (!isShare(plan.target_recall)) throw refuse(`target_recall is ${plan.target_recall}; ${A_SHARE}`);
  const { ivf } = plan;
  if (!isObject(ivf)) throw refuse("ivf must say whether an index is wanted");
  if (typeof ivf.enabled !== "boolean") throw refuse(`ivf.enabled is ${ivf.enabled}; it is true or false`);
  if (!Number.isSafeInteger(ivf.min_rows) || ivf.min_rows < 0) {
    throw refuse(`ivf.min_rows is ${ivf.min_rows}; it is a whole number from 0`);
  }
  if (!isShare(ivf.target_recall)) throw refuse(`ivf.target_recall is ${ivf.target_recall}; ${A_SHARE}`);
  if (ivf.enabled && plan.target_recall < 1 && plan.target_recall > ivf.target_recall) {
    throw refuse(
      `target_recall ${plan.target_recall} is above ivf.target_recall ${ivf.target_recall}, ` +
        "so no search would use the index",
    );
  }
  const trace: unknown = plan.decision_trace;
  if (!Array.isArray(trace) || trace.some((step) => typeof step !== "string")) {
    throw refuse("decision_trace must be a list of sentences, an empty one if need be");
  }
  return plan;
}

/** Sixteen hex digits of a value's hash. */
export function shortHash(value: unknown): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

const A_SHARE = "it is above 0 and at most 1";

function isShare(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value <= 1;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
