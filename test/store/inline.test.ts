/** Whether a query runs on the event loop depends on its own size, not on that of the query before. */
import { expect, test } from "bun:test";
import type { Condition } from "../../src/checks/where.ts";
import { Store } from "../../src/store/store.ts";
import { native, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 32;
const LARGE = 3000;
const SMALL = 10;
/** Within the bound for either ranking, and above it for both. */
const MIDDLE = 600;

/** Whether a promise is settled by microtasks alone: then its query was answered on the event loop. */
async function isInline(query: Promise<unknown>): Promise<boolean> {
  let settled = false;
  query.then(() => (settled = true));
  for (let i = 0; i < 50; i++) await Promise.resolve();
  const inline = settled;
  await query;
  return inline;
}

test("small queries are answered at once and large ones on a worker, in any order", async () => {
  const store = new Store(scratchDir(), (await native()).env, "0.0.0-test", 1000 * DIM);
  const collection = store.create("c", { dim: DIM, filterColumns: ["kind"], lexical: true });
  const rows = (n: number, name: string) => ({
    ids: Array.from({ length: n }, (_, i) => `${name} ${i}`),
    vectors: unitVectors(n, DIM, random(n)),
    texts: Array.from({ length: n }, () => `common ${name}`),
    metadata: Array.from({ length: n }, (_, i) => ({ scope: name, kind: i % 1000 })),
  });
  await collection.add(rows(LARGE, "large"));
  await collection.add(rows(SMALL, "small"));
  await collection.add(rows(MIDDLE, "middle"));
  await collection.buildLexical(1.2, 0.6);
  const query = unitVectors(1, DIM, random(7));
  const search = (where?: Condition) => isInline(collection.search(query, { topK: 3, where }));
  const isPromise = (where?: Condition) =>
    collection.askAtOnce({ by: "vector", vector: query }, { topK: 3, where }) instanceof Promise;
  const byWord = (text: string, where?: Condition) => isInline(collection.searchLexical(text, { topK: 3, where }));
  const byBoth = (text: string, where: Condition) =>
    isInline(collection.ask({ by: "both", vector: query, text }, { topK: 3, where }));
  const middle = { column: "scope", value: "middle" };
  for (let round = 0; round < 3; round++) {
    expect(await search()).toBe(false);
    expect(await search({ column: "scope", value: "small" })).toBe(true);
    expect(await search({ column: "scope", value: "large" })).toBe(false);
    expect(await search({ column: "kind", value: 7 })).toBe(true);
    expect(isPromise()).toBe(true);
    expect(isPromise(middle)).toBe(false);
    expect(await byWord("common")).toBe(false);
    expect(await byWord("small")).toBe(true);
    expect(await search(middle)).toBe(true);
    expect(await byWord("common", middle)).toBe(true);
    expect(await byBoth("common", middle)).toBe(false);
    expect(await byBoth("small", middle)).toBe(true);
    expect(await byWord(`small${" ".repeat(17_000)}`)).toBe(false);
  }
  await store.close();
});

test("the first weighted query of a partition, which weighs its rows of the delta, is answered on a worker", async () => {
  const dir = scratchDir();
  const { env } = await native();
  const written = new Store(dir, env, "0.0.0-test");
  const vectors = unitVectors(MIDDLE, DIM, random(5));
  const filled = written.create("c", { dim: DIM });
  // The first save makes the base, whose sums are stored.
  await filled.add({ ids: ["one"], vectors: vectors.subarray(0, DIM), metadata: [{ scope: "one" }] });
  const ids = Array.from({ length: MIDDLE }, (_, i) => `${i}`);
  await filled.add({ ids, vectors, metadata: ids.map(() => ({ scope: "others" })) });
  await written.close();
  const store = new Store(dir, env, "0.0.0-test");
  const collection = store.open("c");
  const question = { by: "vector", vector: unitVectors(1, DIM, random(7)) } as const;
  const of = (value: string) => ({ topK: 1, weighted: true, where: { column: "scope", value } });
  const options = of("others");
  expect(collection.askAtOnce(question, of("one"))).not.toBeInstanceOf(Promise); // reads no other row
  const first = collection.askAtOnce(question, options);
  expect(first).toBeInstanceOf(Promise);
  const again = collection.askAtOnce(question, options);
  expect((await first).rows).toEqual((await again).rows);
  expect(collection.askAtOnce(question, options)).not.toBeInstanceOf(Promise);
  await store.close();
});
