/** Vectors of one's own: no embedder, any dimension up to 65,536. */
import { strict as assert } from "node:assert";
import { type CreateOptions, type Explanation, type RowOptions, Store, type Vector, type Vectors } from "svc";

await using store = await Store.open();
const options: CreateOptions = { dim: 3, partitionBy: "tenant" };
const points = await store.createCollection("points", options);

// One Float32Array row by row, or one vector a row.
const matrix: Vectors = Float32Array.of(1, 0, 0, 0, 2, 0);
const rows: RowOptions = { ids: ["x", "y"], metadata: [{ tenant: "acme" }, { tenant: "acme" }] };
assert.deepEqual(await points.add(matrix, rows), ["x", "y"]);
await points.upsert([[0, 0, 3]], { ids: ["z"] });

// Scores are inner products: normalize the vectors where they should be cosines.
const question: Vector = [1, 1, 0];
const { ids, scores, explain } = await points.search(question, { topK: 2, targetRecall: 1, explain: true });
assert.deepEqual(
  [ids, scores],
  [
    ["y", "x"],
    [2, 1],
  ],
);

const how: Explanation = explain!;
assert.deepEqual([how.mode, how.screened_rows, how.probed_lists], ["exact", 3, 0]);
