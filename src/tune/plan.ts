/** What a tuner found out about a collection and would do with it. Field names are the tool's, so they are snake_case. */

/** An IVF index per partition, or none. */
export interface IvfPlan {
  enabled: boolean;
  min_rows: number;
  target_recall: number;
  partitions: { key: string | number | boolean | null; rows: number; nlist: number; nprobe: number }[];
}

/** Figures measured on the collection with the plan's index as it stands now. */
export interface Expected {
  p50_ms: number;
  p95_ms: number;
  /** Mean share of the exact ten best rows that the planned search finds. */
  recall_at_k: number;
}

/** A tuning plan. */
export interface Plan {
  collection: string;
  tuner: string;
  target_recall: number;
  /** Rows at which an exact search would take the latency budget on this machine. */
  exact_crossover_rows: number;
  ivf: IvfPlan;
  expected: Expected;
  constraints: { latency_budget_ms: number; recall_floor: number };
  /** Each step of the decision as a sentence. */
  decision_trace: string[];
  /** Identifies what was measured: collection, generation, rows. */
  workload_hash: string;
  engine: string;
  plan_id: string;
}

/** Sixteen hex digits that stand for a value. */
export function shortHash(value: unknown): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}
