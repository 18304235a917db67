/** Whether an index finds the share of answers that is asked for, on questions it never saw, over data of many shapes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Line } from "../measure.ts";
import { random } from "../texts.ts";
import type { Questions } from "./contender.ts";
import { clustered, type Shape } from "./data.ts";
import { ours } from "./ours.ts";
import { recall } from "./truth.ts";

const SETS = 20;
const ROWS = 20_000;
const QUESTIONS = 1000;
const FLOORS = [0.9, 0.95, 0.98];
/** How far below its floor a measured recall may be: 1,000 questions measure it no more precisely. */
const SLACK = 0.005;
const DIMS = [64, 96, 128, 192, 256];
const CLUSTERS = [0, 10, 100, 1000, 5000];
const SPREADS = [0.3, 0.6, 1, 1.5];

/** A shape from the seed; every fifth has no structure. */
function shapeOf(seed: number): Shape {
  const next = random(seed);
  const pick = (list: readonly number[]) => list[Math.floor(next() * list.length)]!;
  return { rows: ROWS, dim: pick(DIMS), clusters: CLUSTERS[seed % CLUSTERS.length]!, spread: pick(SPREADS), seed };
}

/** One line a floor, with the set that is farthest below it or nearest above. */
export async function benchCalibration(): Promise<Line[]> {
  const worst = FLOORS.map(() => ({ short: Number.NEGATIVE_INFINITY, what: "" }));
  const sums = FLOORS.map(() => 0);
  for (let seed = 1; seed <= SETS; seed++) {
    const shape = shapeOf(seed);
    const name = shape.clusters > 0 ? `${shape.clusters} clusters, spread ${shape.spread}` : "no structure";
    const what = `seed ${seed}: ${shape.rows} x ${shape.dim}, ${name}`;
    const found = await recalls(shape);
    console.error(`  ${what}: recall ${found.map((value) => value.toFixed(4)).join(" ")} for ${FLOORS.join(" ")}`);
    FLOORS.forEach((floor, i) => {
      sums[i]! += found[i]! / SETS;
      if (floor - found[i]! > worst[i]!.short) worst[i] = { short: floor - found[i]!, what };
    });
  }
  return FLOORS.map((floor, i) => ({
    what: `lowest recall@10 of ${SETS} data sets asked for ${floor} (mean ${sums[i]!.toFixed(4)}; ${worst[i]!.what})`,
    value: floor - worst[i]!.short,
    unit: "recall",
    goal: `at least ${(floor - SLACK).toFixed(3)}`,
    met: worst[i]!.short <= SLACK,
  }));
}

/** Recall at each floor. */
async function recalls(shape: Shape): Promise<number[]> {
  const { rows, dim } = shape;
  const { data, queries } = clustered(shape, QUESTIONS);
  const dir = mkdtempSync(join(tmpdir(), "svc-bench-calibration-"));
  const columns = { percent: new Uint8Array(rows), tenth: new Uint8Array(rows) };
  const contender = await ours({ dir, rows, dim, data, columns });
  try {
    await contender.ingest();
    const listed = (answers: Int32Array) =>
      Array.from({ length: QUESTIONS }, (_, i) => [...answers.subarray(i * 10, i * 10 + 10)].filter((row) => row >= 0));
    const truth = listed(await contender.exact!(queries as Questions));
    const found: number[] = [];
    for (const floor of FLOORS) {
      found.push(recall({ data, queries, dim }, truth, listed(await contender.approximate!(queries, floor))));
    }
    return found;
  } finally {
    await contender.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
