/** Rows of equal score stand in the order of insertion, in every ranking, and no rewrite of the base changes it. */
import { beforeEach, expect, test } from "bun:test";
import type { Collection, SearchOptions } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { openStore } from "../fixture.ts";

const DIM = 16;
/** So many that a bounded answer has to choose among equals, in the base and in the delta. */
const ROWS = 120;
const TEXT = "the same words in every row";
let store: Store;

beforeEach(async () => {
  store = await openStore();
});

const rows = (ids: string[], element = 1) => ({
  ids,
  vectors: new Float32Array(ids.length * DIM).fill(0).map((_, i) => (i % DIM === 0 ? element : 0)),
  texts: ids.map(() => TEXT),
  metadata: ids.map((id) => ({ scope: `s${id.length % 2}` })),
});

/** A history in which row numbers and births differ in order; resolves to the ids in order of insertion. */
async function lived(collection: Collection): Promise<string[]> {
  const all = Array.from({ length: ROWS }, (_, i) => `row ${(i * 37) % ROWS}`);
  await collection.add(rows(all.slice(0, 50)));
  await collection.upsert(rows([all[3]!, all[40]!]));
  await collection.add(rows(all.slice(50)));
  await collection.upsert(rows([all[0]!, all[60]!, all[3]!]));
  await collection.delete([all[1]!, all[70]!]);
  await collection.add(rows([all[1]!]));
  const order = [...all.filter((_, i) => i !== 1 && i !== 70), all[1]!];
  expect(collection.ids()).toEqual(order);
  return order;
}

const rankings: Record<string, (c: Collection, query: Float32Array, how: SearchOptions) => Promise<string[]>> = {
  dense: async (c, query, how) => (await c.search(query, how)).rows.map((row) => row.id),
  "of many queries": async (c, query, how) => {
    const [first, second] = await c.searchMany(new Float32Array([...query, ...query]), how);
    expect(second!.rows.map((row) => row.id)).toEqual(first!.rows.map((row) => row.id));
    return first!.rows.map((row) => row.id);
  },
  lexical: async (c, _, how) => (await c.searchLexical("same words", how)).map((row) => row.id),
};

for (const [name, rank] of Object.entries(rankings)) {
  test.each(["inner_product", "cosine", "l2"])(`${name}, metric %s: equal scores`, async (metric) => {
    const collection = store.create("c", { dim: DIM, metric, lexical: true });
    await collection.buildLexical(1.2, 0.6);
    const order = await lived(collection);
    // Scores of 1 (a distance of 0), of zero, and below it.
    const queries = [1, 0, -1].map((x) => new Float32Array(DIM).fill(0).map((_, i) => (i < 2 ? x : 0)));
    const ask = async () => {
      const answers: string[][] = [];
      for (const query of queries) {
        for (const topK of [1, 7, 64, ROWS]) {
          for (const where of [undefined, { column: "scope", value: "s0" }])
            answers.push(await rank(collection, query, { topK, where }));
        }
      }
      return answers;
    };
    const before = await ask();
    for (const [i, answer] of before.entries()) {
      const where = i % 2 === 1;
      const expected = order.filter((id) => !where || id.length % 2 === 0);
      expect(answer).toEqual(expected.slice(0, answer.length));
    }
    await collection.compact();
    expect(await ask()).toEqual(before);
    await collection.buildIvf(10, 1);
    expect(await ask()).toEqual(before);
    await collection.upsert(rows([order[5]!]));
    expect(await ask()).toEqual(before);
  });
}
