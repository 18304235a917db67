/** Writes of another process wait for an alter, and are made in the collection that it left. */
import { expect, test } from "bun:test";
import { localStore } from "../api/fixture.ts";
import { scratchDir, TestMemory } from "../fixture.ts";

test("an add, an upsert, an update and a delete that waited for an alter are in the altered collection", async () => {
  const dir = scratchDir();
  const m = await TestMemory.open(dir);
  const texts = Array.from({ length: 3000 }, (_, i) => `note ${i} about the deployment of service ${i % 17}`);
  await m.call("add", { collection: "notes", texts, ids: texts.map((_, i) => `n${i}`) });
  const other = await localStore(dir);
  const began = Promise.withResolvers<void>();
  const onProgress = () => began.resolve();
  const altering = other.alterCollection("notes", { lexical: true, addColumns: ["kind"], onProgress });
  await began.promise;
  const written = await Promise.all([
    m.call("add", { collection: "notes", texts: ["added meanwhile"], ids: ["a"], metadata: [{ kind: "x" }] }),
    m.call("upsert", { collection: "notes", texts: ["upserted meanwhile"], ids: ["n1"] }),
    m.call("update", { collection: "notes", texts: ["updated meanwhile"], ids: ["n2"] }),
    m.call("delete", { collection: "notes", ids: ["n3"] }),
  ]);
  expect((await altering).altered).toBe(true);
  expect(written).toMatchObject([{ added: 1 }, { upserted: 1 }, { updated: 1 }, { deleted: 1 }]);
  expect((await m.call("count", { collection: "notes" })).count).toBe(3000);
  expect((await m.call("ids", { collection: "notes", where: { kind: "x" } })).ids).toEqual(["a"]);
  const { rows } = await m.call("get", { collection: "notes", ids: ["n1", "n2", "n3"] });
  expect(rows).toMatchObject([{ text: "upserted meanwhile" }, { text: "updated meanwhile" }, { found: false }]);
});
