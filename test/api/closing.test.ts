/** After a store is closed every call on it and on its collections is refused. */
import { expect, test } from "bun:test";
import { RuntimeError, type SvcError } from "../../src/errors.ts";
import { localStore } from "./fixture.ts";

test("every call after close is a RuntimeError that says so, saved or not", async () => {
  const store = await localStore();
  const saved = await store.createCollection("saved", { dim: 2 });
  await saved.add([[1, 0]], { ids: ["a"] });
  await saved.save();
  const fresh = await store.createCollection("fresh", { dim: 2 });
  const closing = store.close();
  const calls: (() => Promise<unknown>)[] = [saved, fresh].flatMap((c) => [
    () => c.search([1, 0]),
    () => c.searchMany([[1, 0]]),
    () => c.searchLexical("a"),
    () => c.searchText("a"),
    () => c.get(["a"]),
    () => c.ids(),
    () => c.count(),
    () => c.stats(),
    () => c.add([[0, 1]]),
    () => c.delete(["a"]),
    () => c.save(),
    () => c.compact(),
    () => c.buildIvf(),
    () => c.tune(),
  ]);
  calls.push(
    () => store.createCollection("new", { dim: 2 }),
    () => store.openCollection("saved"),
    () => store.collections(),
  );
  const refused = async () => {
    for (const call of calls) {
      const error = (await call().catch((failure) => failure)) as SvcError;
      expect([call.toString(), error]).toEqual([call.toString(), expect.any(RuntimeError)]);
      expect(error.message).toBe("this store is closed: open the memory directory again");
    }
  };
  await refused();
  await closing;
  await refused();
  expect(() => saved.size).toThrow(RuntimeError);
});

test("calls made before close are answered", async () => {
  const store = await localStore();
  const c = await store.createCollection("c", { dim: 2 });
  const added = c.add([[1, 0]], { ids: ["a"] });
  const saved = c.save();
  await store.close();
  expect(await added).toEqual(["a"]);
  await saved;
});
