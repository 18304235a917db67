/** An upsert without metadata replaces what is stored, and says so. */
import { beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { changeFile, fileWith } from "../collection-files.ts";
import { TestMemory } from "../fixture.ts";

let m: TestMemory;
beforeEach(async () => {
  m = await TestMemory.open();
  const metadata = [{ scope: "work", n: 1 }, { n: 2 }, { scope: "default" }, { scope: "home" }, null];
  await m.call("upsert", {
    collection: "notes",
    ids: ["a", "b", "c", "d", "e"],
    texts: ["1", "2", "3", "4", "5"],
    metadata,
  });
});

const upsert = (ids: string[], more: object = {}) =>
  m.call("upsert", { collection: "notes", ids, texts: ids.map((id) => `${id} again`), ...more });

test("the notice has how many rows lost metadata, and how many of them moved to the default partition", async () => {
  const notice =
    "3 replaced rows had metadata and have none now, 2 moved to scope 'default': svc_update keeps metadata";
  expect(await upsert(["a", "b", "c", "d", "e", "new"])).toEqual({ upserted: 6, collection: "notes", notice });
  const { rows } = await m.call("get", { collection: "notes", ids: ["a", "d"], with_text: false });
  expect(rows.map(({ metadata }: { metadata?: object }) => metadata)).toEqual([undefined, undefined]);
  expect((await m.call("count", { collection: "notes", where: { scope: "default" } })).count).toBe(6);
  // Now there is nothing to lose.
  expect(await upsert(["a", "b", "c", "d", "e", "new"])).toEqual({ upserted: 6, collection: "notes" });
});

test("one row, which stays in its partition", async () => {
  expect((await upsert(["b"])).notice).toBe("1 replaced row had metadata and has none now: svc_update keeps metadata");
});

test("rows that are given metadata, added or only in the default partition lose none", async () => {
  expect((await upsert(["a", "b"], { metadata: [{}, { n: 3 }] })).notice).toBeUndefined();
  expect((await upsert(["c", "e", "new"])).notice).toBeUndefined();
  expect((await m.call("upsert", { collection: "notes", ids: null, texts: ["another"] })).notice).toBeUndefined();
  expect((await m.call("update", { collection: "notes", ids: ["b"], texts: ["2"] })).notice).toBeUndefined();
});

test("of the metadata some are given, and of an id that stands twice the last row counts", async () => {
  const one = "1 replaced row had metadata and has none now, 1 moved to scope 'default': svc_update keeps metadata";
  expect((await upsert(["a", "d"], { metadata: [{ n: 5 }, null] })).notice).toBe(one);
  await m.call("upsert", { collection: "notes", ids: ["d"], texts: ["4"], metadata: [{ scope: "home" }] });
  expect((await upsert(["d", "d"], { metadata: [null, { n: 6 }] })).notice).toBeUndefined();
  expect((await upsert(["d", "d"], { metadata: [{ n: 6 }, null] })).notice).toStartWith("1 replaced row");
});

test("a row that is skipped as a duplicate keeps its metadata", async () => {
  const rows = { ids: ["x"], texts: ["1"], skip_duplicates: true };
  expect(await m.call("upsert", { collection: "notes", ...rows })).toMatchObject({ upserted: 0, skipped: 1 });
  const { notice } = await m.call("upsert", { collection: "notes", ...rows, ids: ["x"], texts: ["1"] });
  expect(notice).toBeUndefined();
});

test("a partition key of another name is named, and what is not saved counts", async () => {
  const texts = { collection: "teams", texts: ["t"], ids: ["t"] };
  await m.call("upsert", { ...texts, partition_by: "team", metadata: [{ team: 7 }] });
  expect((await m.call("upsert", texts)).notice).toBe(
    "1 replaced row had metadata and has none now, 1 moved to team 'default': svc_update keeps metadata",
  );
});

test("more rows than are looked at in one call", async () => {
  const ids = Array.from({ length: 2_500 }, (_, i) => `${i}`);
  const metadata = ids.map((_, n) => (n % 2 === 0 ? { n } : null));
  await m.call("upsert", { collection: "many", ids, texts: ids, metadata });
  expect((await m.call("upsert", { collection: "many", ids, texts: ids })).notice).toStartWith(
    "1250 replaced rows had",
  );
});

test("the notice stays within the answer's bound", async () => {
  const text = await m.text("upsert", { collection: "notes", ids: ["a"], texts: ["x"], max_bytes: 1000 });
  expect(JSON.parse(text).notice).toContain("svc_update");
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000);
});

test.each([undefined, "shop"])("an upsert over damaged metadata replaces it, in project %s", async (project) => {
  await m.call("compact", { collection: "notes" });
  await m.close();
  changeFile(fileWith(join(m.dir, "notes"), "base-"), (bytes) => {
    const at = bytes.indexOf('{"scope":"work"');
    expect(at).toBeGreaterThan(0);
    bytes.write("x", at);
  });
  m = await TestMemory.open(m.dir);
  await expect(m.call("get", { collection: "notes", ids: ["a"] })).rejects.toThrow("the metadata of row 'a'");
  const row = { collection: "notes", ids: ["a"], texts: ["a again"] };
  expect(await m.call("upsert", row, { project })).toEqual({ upserted: 1, collection: "notes" });
  const [{ text, metadata }] = (await m.call("get", { collection: "notes", ids: ["a"] })).rows;
  expect({ text, scope: metadata?.scope }).toEqual({ text: "a again", scope: project });
});
