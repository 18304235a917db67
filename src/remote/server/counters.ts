/** The server's counters, for `stats`: in fixed memory however long it runs. */
import { OPS } from "../wire/protocol.ts";

/** Buckets per doubling: a quantile is within 1/16 of the truth. */
const STEPS = 16;
const BUCKETS = STEPS * 32;

/** Durations by logarithm (as HdrHistogram counts them), in microseconds. */
class Histogram {
  private readonly counts = new Uint32Array(BUCKETS);
  private total = 0;

  add(ms: number, times = 1): void {
    const us = Math.max(1, ms * 1000);
    this.counts[Math.min(BUCKETS - 1, Math.floor(Math.log2(us) * STEPS))]! += times;
    this.total += times;
  }

  /** Milliseconds below which a share `q` of the durations lay; 0 without any. */
  quantile(q: number): number {
    let left = Math.ceil(this.total * q);
    for (let i = 0; i < BUCKETS && left > 0; i++) {
      left -= this.counts[i]!;
      if (left <= 0) return Math.round(2 ** ((i + 0.5) / STEPS)) / 1000;
    }
    return 0;
  }
}

interface OpCounters {
  count: number;
  errors: number;
  times: Histogram;
}

/** Counters of one server. */
export class Counters {
  accepted = 0;
  refused = 0;
  dropped = 0;
  requests = 0;
  errors = 0;
  bytesIn = 0;
  bytesOut = 0;
  private readonly started = performance.now();
  private readonly ops = new Map<string, OpCounters>();

  constructor() {
    // Known ops only: a client must not make the map grow.
    for (const op of OPS) this.ops.set(op, { count: 0, errors: 0, times: new Histogram() });
  }

  /** Requests that were answered, each `ms` after it was read. */
  answered(op: string, ms: number, isOk: boolean, times = 1): void {
    this.requests += times;
    if (!isOk) this.errors += times;
    const counters = this.ops.get(op);
    if (!counters) return;
    counters.count += times;
    if (!isOk) counters.errors += times;
    counters.times.add(ms, times);
  }

  /** The counters in the form of `stats`. */
  report() {
    const ops = [...this.ops].filter(([, { count }]) => count > 0);
    return {
      uptime_s: Math.round(performance.now() - this.started) / 1000,
      requests: this.requests,
      errors: this.errors,
      bytes_in: this.bytesIn,
      bytes_out: this.bytesOut,
      ops: Object.fromEntries(
        ops.map(([op, { count, errors, times }]) => [
          op,
          { count, errors, p50_ms: times.quantile(0.5), p99_ms: times.quantile(0.99) },
        ]),
      ),
    };
  }
}
