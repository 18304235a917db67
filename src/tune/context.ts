/** A tuner's context: a collection's figures, measured search times, and complete plans. Read-only. */
import type { Watch } from "../../ffi/ty_collection.ts";
import type { Collection } from "../store/collection.ts";
import { type Expected, type IvfPlan, type Plan, sealed, shortHash } from "./plan.ts";

/** Plans how a collection is searched. */
export interface Tuner {
  /** Written into the manifest (`applied_tuner`) and into every plan. */
  readonly name: string;
  /** Measures and decides. Must not change the collection: the caller applies the plan. */
  plan(context: TuningContext): Promise<Plan> | Plan;
}

/** The part of a plan that a tuner decides. */
export interface Decision {
  /** The collection's default recall from then on, above 0 and at most 1; 1 is exact. */
  targetRecall: number;
  /** Whether an IVF index is wanted, and from how many rows in a partition. */
  ivf: { enabled: boolean; minRows: number };
  /** The result of `measure`. */
  expected: Expected;
  /** Each step of the decision as a sentence. */
  trace: readonly string[];
  /** The tuner's constraints, by name. */
  constraints?: Record<string, number>;
  /** Rows at which an exact search would become too slow; omitted where unknown. */
  exactCrossoverRows?: number;
}

const K = 10;
const QUERIES = 48;
const SEED = 20_260_101;

/** A tuner's view of a collection. */
export class TuningContext {
  /** Name of the collection. */
  readonly collection: string;
  /** Numbers in a vector. */
  readonly dim: number;
  /** Live rows. */
  readonly rows: number;
  /** Rows in the base, dead ones too. */
  readonly baseRows: number;
  /** Rows added since the base was written, dead ones too. */
  readonly deltaRows: number;
  private readonly generation: number;

  constructor(
    private readonly inner: Collection,
    private readonly tuner: string,
    private readonly watch: Watch = {},
  ) {
    this.collection = inner.name;
    this.dim = inner.schema.dim;
    const { live_rows, base_rows, delta_rows, generation } = inner.stats();
    [this.rows, this.baseRows, this.deltaRows, this.generation] = [live_rows, base_rows, delta_rows, generation];
  }

  /** Values of the partition key with their live rows; `nlist` and `nprobe` are above 0 where an IVF index is built. */
  get partitions(): IvfPlan["partitions"] {
    return this.inner.partitions().map(({ key, rows, nlist, nprobe }) => ({ key: key ?? null, rows, nlist, nprobe }));
  }

  /**
   * The largest drift of a partition from its IVF index, as a ratio of mean squared distances of rows to their
   * centroids: 1 for a fresh index, more as compactions assign rows to lists trained without them. 0 without an index.
   */
  get drift(): number {
    return this.inner.partitions().reduce((most, { drift }) => Math.max(most, drift), 0);
  }

  /** The collection's default recall as it is now. */
  get defaultTargetRecall(): number {
    return this.inner.manifest().defaultTargetRecall;
  }

  /** Aborted when the caller cancels. */
  get signal(): AbortSignal | undefined {
    return this.watch.signal;
  }

  /**
   * Times 48 searches with top-k 10, the collection's own vectors as queries, and compares the hits with exact ones.
   * @param targetRecall 1 is exact; below 1 an IVF index that is built is used
   */
  async measure(targetRecall: number): Promise<Expected> {
    const { inner, watch, dim } = this;
    const vectors = inner.sample(QUERIES, SEED);
    const times: number[] = [];
    let found = 0;
    let wanted = 0;
    for (let at = 0; at < vectors.length; at += dim) {
      watch.signal?.throwIfAborted();
      watch.onProgress?.(at / dim, vectors.length / dim);
      const query = vectors.subarray(at, at + dim);
      const start = performance.now();
      const answer = await inner.search(query, { topK: K, targetRecall });
      times.push(performance.now() - start);
      if (targetRecall === 1) continue;
      const truth = new Set((await inner.search(query, { topK: K, targetRecall: 1 })).rows.map((row) => row.id));
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

  /** A complete plan from a decision, with names, partitions and hashes filled in. */
  complete({ targetRecall, ivf, expected, trace, constraints, exactCrossoverRows }: Decision): Plan {
    return sealed({
      collection: this.collection,
      tuner: this.tuner,
      target_recall: targetRecall,
      exact_crossover_rows: exactCrossoverRows ?? Number.MAX_SAFE_INTEGER,
      ivf: {
        enabled: ivf.enabled,
        min_rows: ivf.minRows,
        target_recall: targetRecall,
        partitions: this.partitions,
      },
      expected,
      constraints: constraints ?? {},
      decision_trace: [...trace],
      workload_hash: shortHash([this.collection, this.generation, this.rows, this.dim]),
      engine: "libty_runtime",
    });
  }
}
