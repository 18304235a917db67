/** Whether an index reaches its target recall on queries that it was not calibrated on, over data of many shapes. */
import { LocalStore } from "../../../src/api/local-store.ts";
import { openBuiltNative } from "../../native.ts";
import { random } from "../../random.ts";
import { scratchFolder } from "../home.ts";
import type { Line } from "../measure.ts";
import { clustered, type Shape } from "./data.ts";
import { recall } from "./truth.ts";

const SETS = 20;
const ROWS = 20_000;
const QUERIES = 1000;
const FLOORS = [0.9, 0.95, 0.98];
/** How far below its floor a measured recall may be: 1,000 queries measure it no more precisely. */
const SLACK = 0.005;
const DIMS = [64, 96, 128, 192, 256];
const CLUSTERS = [0, 10, 100, 1000, 5000];
const SPREADS = [0.3, 0.6, 1, 1.5];

/**
 * How rows are spread over partitions, all of which a query reads: at random, each having some of every cluster, or
 * each partition those nearest to one of its rows.
 */
const SPREADS_OVER = ["one partition", "5 at random", "20 at random", "20 by nearness"] as const;
type SpreadOver = (typeof SPREADS_OVER)[number];

/** A shape from the seed; every fifth has no structure. */
function shapeOf(seed: number): Shape {
  const next = random(seed);
  const pick = (list: readonly number[]) => list[Math.floor(next() * list.length)]!;
  return { rows: ROWS, dim: pick(DIMS), clusters: CLUSTERS[seed % CLUSTERS.length]!, spread: pick(SPREADS), seed };
}

/** The partition of each row. */
function partitionsOf(how: SpreadOver, data: Float32Array, { rows, dim, seed }: Shape): number[] {
  const count = how === "one partition" ? 1 : Number.parseInt(how, 10);
  const next = random(seed ^ 0x9e3779b9);
  if (how !== "20 by nearness") return Array.from({ length: rows }, () => Math.floor(next() * count));
  const anchors = Array.from({ length: count }, () => Math.floor(next() * rows) * dim);
  return Array.from({ length: rows }, (_, row) => {
    const products = anchors.map((anchor) => {
      let sum = 0;
      for (let i = 0; i < dim; i++) sum += data[anchor + i]! * data[row * dim + i]!;
      return sum;
    });
    return products.indexOf(Math.max(...products));
  });
}

/** One line a floor, with the set that is farthest below it or nearest above. */
export async function benchCalibration(): Promise<Line[]> {
  const worst = FLOORS.map(() => ({ short: Number.NEGATIVE_INFINITY, what: "" }));
  const sums = FLOORS.map(() => 0);
  for (let seed = 1; seed <= SETS; seed++) {
    const shape = shapeOf(seed);
    const how = SPREADS_OVER[seed % SPREADS_OVER.length]!;
    const name = shape.clusters > 0 ? `${shape.clusters} clusters, spread ${shape.spread}` : "no structure";
    const what = `seed ${seed}: ${shape.rows} x ${shape.dim}, ${name}, ${how}`;
    const found = await recalls(shape, how);
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

/** Recall at each floor, of queries without a filter. */
async function recalls(shape: Shape, how: SpreadOver): Promise<number[]> {
  const { rows, dim } = shape;
  const { data, queries } = clustered(shape, QUERIES);
  using folder = scratchFolder();
  await using store = new LocalStore(folder.path, await openBuiltNative(), "bench");
  const collection = await store.createCollection("c", { dim });
  await collection.add(data, {
    ids: Array.from({ length: rows }, (_, row) => String(row)),
    metadata: partitionsOf(how, data, shape).map((partition) => ({ scope: `p${partition}` })),
  });
  await collection.save();
  const ask = async (targetRecall: number) =>
    (await collection.searchMany(queries, { topK: 10, targetRecall })).map(({ ids }) => ids.map(Number));
  const truth = await ask(1);
  const found: number[] = [];
  for (const floor of FLOORS) {
    await collection.buildIvf({ minRows: 0, targetRecall: floor });
    found.push(recall({ data, queries, dim }, truth, await ask(floor)));
  }
  return found;
}
