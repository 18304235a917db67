/** Filters on any column, against every live row compared: the same rows in the same order through any history. */
import { beforeEach, expect, test } from "bun:test";
import type { FilterValue } from "../../src/checks/values.ts";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 24;
const ROWS = 700;
const ALL = 5000;
let store: Store;

beforeEach(async () => {
  store = await openStore();
});

/** What the columns of row `i` hold; `none` is a value that no filter matches. */
const VALUES: Record<string, (i: number, chance: number) => unknown> = {
  scope: (i) => i % 3,
  same: () => "x",
  own: (i) => `value ${i}`,
  none: () => [1],
  few: (_, chance) => Math.floor(chance * 5),
  many: (_, chance) => (chance < 0.6 ? "most" : Math.floor(chance * 90)),
  path: (i) => `src/${Math.floor(i / 100)}/${Math.floor(i / 9)}.ts`,
};
const COLUMNS = Object.keys(VALUES);

const made = (next: () => number, i: number) =>
  Object.fromEntries(COLUMNS.map((column) => [column, VALUES[column]!(i, next())]));

/** Which live rows hold what, beside the collection. */
class Model {
  readonly rows = new Map<string, Record<string, unknown>>();
  constructor(
    readonly collection: Collection,
    readonly next: () => number,
  ) {}

  async put(numbers: readonly number[]): Promise<void> {
    const ids = [...new Set(numbers)].map((i) => `row ${i}`);
    const metadata = ids.map((id) => made(this.next, Number(id.slice(4))));
    await this.collection.upsert({ ids, vectors: unitVectors(ids.length, DIM, this.next), metadata });
    ids.forEach((id, i) => {
      this.rows.set(id, metadata[i]!);
    });
  }

  async delete(numbers: readonly number[]): Promise<void> {
    const ids = [...new Set(numbers)].map((i) => `row ${i}`).filter((id) => this.rows.has(id));
    await this.collection.delete(ids);
    for (const id of ids) this.rows.delete(id);
  }

  /** Compares answers for values that rows have, values that they had, and one that no row ever had. */
  async check(): Promise<void> {
    const query = unitVectors(1, DIM, this.next);
    const order = (await this.collection.search(query, { topK: ALL, targetRecall: 1 })).rows.map((row) => row.id);
    expect(order.length).toBe(this.rows.size);
    for (const column of COLUMNS) {
      const values = [1, 2, 3].map(() => made(this.next, Math.floor(this.next() * ROWS * 1.2))[column]);
      for (const value of [...values, "no row has this"]) {
        const right = order.filter((id) => this.rows.get(id)![column] === value);
        const where = { column, value: value as FilterValue };
        for (const topK of [1, 10, ALL]) {
          const found = await this.collection.search(query, { topK, where, targetRecall: 1 });
          expect({ column, value, ids: found.rows.map((row) => row.id) }).toEqual({
            column,
            value,
            ids: right.slice(0, topK),
          });
        }
        const [first, second] = await this.collection.searchMany(new Float32Array([...query, ...query]), {
          topK: 10,
          where,
          targetRecall: 1,
        });
        expect(first!.rows.map((row) => row.id)).toEqual(right.slice(0, 10));
        expect(second!.rows.map((row) => row.id)).toEqual(right.slice(0, 10));
      }
    }
  }
}

test.each(["f32", "int8", "int4"])("%s: through saves, updates, deletions, compactions and an index", async (dtype) => {
  const next = random(dtype.length + dtype.charCodeAt(1));
  const collection = store.create("c", { dim: DIM, dtype, filterColumns: COLUMNS });
  const model = new Model(collection, next);
  const some = (n: number) => Array.from({ length: n }, () => Math.floor(next() * ROWS));
  await model.put(Array.from({ length: ROWS }, (_, i) => i));
  await model.check();
  for (let round = 0; round < 3; round++) {
    await model.put(some(60));
    await model.delete(some(150));
    await model.check();
    if (round === 1) await collection.buildIvf(0, 0.9);
    else await collection.compact();
    await model.check();
  }
});
