/** What the last save that deleted or replaced rows took away. */
import { expect, test } from "bun:test";
import type { Row } from "../../src/store/collection.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 8;
const rows = (ids: string[], text: string) => ({
  ids,
  vectors: unitVectors(ids.length, DIM, random(ids.length)),
  texts: ids.map((id) => `${text} of ${id}`),
  metadata: ids.map((id) => ({ id, text })),
});
const shown = (found: { rows: Row[] } | undefined) =>
  found?.rows.map(({ id, text, metadata }) => ({ id, text, metadata }));

test("rows that a save replaced or deleted are there until the next such save, in every process", async () => {
  const a = await openStore();
  const b = await openStore(a.dir);
  const c = a.create("c", { dim: DIM });
  await c.add(rows(["x", "y", "z"], "first"));
  expect(c.superseded()).toBeUndefined();
  const before = Date.now();
  await c.upsert(rows(["y", "new"], "second"));
  const found = c.superseded()!;
  expect(shown(found)).toEqual([{ id: "y", text: "first of y", metadata: { id: "y", text: "first" } }]);
  expect(found.time).toBeGreaterThanOrEqual(before);
  expect(found.rows[0]!.times!.updated).toBeLessThanOrEqual(found.time);
  expect(shown(b.open("c").superseded())).toEqual(shown(found));
  await b.open("c").add(rows(["more"], "third")); // takes nothing away
  expect(shown(c.superseded())).toEqual(shown(found));
  await b.open("c").delete(["z", "x", "unknown"]);
  expect(shown(c.superseded())?.map(({ text }) => text)).toEqual(["first of x", "first of z"]);
  await c.compact();
  expect([c.superseded(), b.open("c").superseded()]).toEqual([undefined, undefined]);
});
