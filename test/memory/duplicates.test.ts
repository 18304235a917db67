/** What an answer says of texts that were there already, in bounded room. */
import { expect, test } from "bun:test";
import { TestMemory } from "../fixture.ts";

test("duplicates are listed with their rows, and skipped where that is asked for", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  expect(await m.call("add", { collection, texts: ["one", "two"], ids: ["a", "b"] })).toEqual({ added: 2, collection });
  const again = await m.call("add", { collection, texts: ["three", "two"] });
  expect(again.duplicates).toEqual([{ index: 1, id: again.ids[1], of: "b" }]);
  expect(again).not.toContainKey("skipped");
  const skipping = await m.call("add", { collection, texts: ["one", "four", "four"], skip_duplicates: true });
  expect(skipping).toEqual({
    ...{ added: 1, collection, skipped: 2 },
    duplicates: [
      { index: 0, of: "a" },
      { index: 2, of: skipping.ids[1] },
    ],
    ids: ["a", skipping.ids[1], skipping.ids[1]],
  });
  expect(await m.call("upsert", { collection, texts: ["one"], ids: ["a"] })).not.toContainKey("duplicates");
  const upsert = { collection, texts: ["four", "one"], ids: ["c", "a"], skip_duplicates: true };
  expect(await m.call("upsert", upsert)).toEqual({
    ...{ upserted: 1, collection, skipped: 1 },
    duplicates: [{ index: 0, of: skipping.ids[1] }],
  });
  expect((await m.call("count", { collection })).count).toBe(5);
  // Whatever the partition.
  const other = await m.call("add", { collection, texts: ["one"], metadata: [{ scope: "x" }] });
  expect(other.duplicates).toEqual([{ index: 0, id: other.ids[0], of: "a" }]);
});

test("the answer has at most twenty, in at most max_bytes", async () => {
  const m = await TestMemory.open();
  const collection = "notes";
  const texts = Array.from({ length: 100 }, (_, i) => `text ${i}`);
  const ids = texts.map((_, i) => `${"x".repeat(400)}${i}`);
  await m.call("add", { collection, texts, ids });
  const whole = await m.call("add", { collection, texts, max_bytes: 0 });
  expect([whole.duplicates.length, whole.duplicates_omitted, whole.ids.length]).toEqual([20, 80, 100]);
  for (const max_bytes of [24_000, 4_000, 1_000]) {
    const text = await m.text("add", { collection, texts, max_bytes, skip_duplicates: true });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max_bytes);
    const { duplicates, duplicates_omitted, skipped, added } = JSON.parse(text);
    expect(duplicates.length + duplicates_omitted).toBe(100);
    expect([added, skipped]).toEqual([0, 100]);
  }
});
