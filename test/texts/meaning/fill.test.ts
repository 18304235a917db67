/** Batches of a machine that is so busy that their time is over before the first row is encoded. */
import { expect, test } from "bun:test";
import type { Collection } from "../../../src/store/collection.ts";
import { encodeBatch } from "../../../src/texts/meaning/fill.ts";

/** Encodes a row only if it is alone; `before` runs before the batch waits for its end. */
function busy(before: (stop: Uint32Array) => void = () => {}) {
  const sizes: number[] = [];
  const collection = {
    encodeMeaning: async (most: number, stop: Uint32Array) => {
      sizes.push(most);
      before(stop);
      while (most > 1 && stop[0] === 0) await Bun.sleep(10);
      return { count: most > 1 ? 0 : 1 };
    },
  };
  return { collection: collection as unknown as Collection, sizes };
}

test("one row is encoded, however long it takes", async () => {
  const { collection, sizes } = busy();
  const stop = new Uint32Array(1);
  expect(await encodeBatch(collection, 256, stop)).toMatchObject({ count: 1 });
  expect([sizes, stop[0]]).toEqual([[256, 1], 0]);
});

test("a call that comes meanwhile ends it", async () => {
  const { collection, sizes } = busy((stop) => setTimeout(() => stop.fill(1), 50));
  const stop = new Uint32Array(1);
  expect(await encodeBatch(collection, 256, stop)).toMatchObject({ count: 0 });
  expect([sizes, stop[0]]).toEqual([[256], 1]);
});
