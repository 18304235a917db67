/** A filter with a value that no row has: the answer names the values that were perhaps meant. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { nearestOf } from "../../src/checks/nearest.ts";
import { TestMemory } from "../fixture.ts";

let m: TestMemory;
beforeAll(async () => {
  m = await TestMemory.open();
  await m.call("create_collection", { name: "notes", filter_columns: ["kind", "n"], lexical: true });
  const scopes = ["sales", "sales", "sales-us", "ops", "web", "web", "web"];
  const metadata = scopes.map((scope, i) => ({ scope, ...(i < 3 && { kind: "decision" }), n: i % 2 }));
  await m.call("add", { collection: "notes", texts: scopes.map((scope, i) => `note ${i} of ${scope}`), metadata });
  await m.call("build_lexical", { collection: "notes" });
});
afterAll(() => m.close());

const noticed = async (where: object, verb: "search" | "search_lexical" = "search") => {
  const { notice, hits } = await m.call(verb, { collection: "notes", query: "note of sales", where });
  return [hits.length, notice];
};

test.each(["search", "search_lexical"] as const)("%s names the nearest values with their counts", async (verb) => {
  const near = "no row of 'notes' has scope 'sales-eu'; nearest: 'sales' (2 rows) and 'sales-us' (1 row)";
  expect(await noticed({ scope: "sales-eu" }, verb)).toEqual([0, near]);
});

test("where none is near, those of the most rows", async () => {
  const far =
    "no row of 'notes' has scope 'marketing'; there are 'web' (3 rows), 'sales' (2 rows), 'sales-us' (1 row) and 'ops' (1 row)";
  expect((await noticed({ scope: "marketing" }))[1]).toBe(far);
  expect((await noticed({ scope: true }))[1]).toStartWith("no row of 'notes' has scope true; there are 'web'");
});

test("of another column, whose values are counted without rows that lack it", async () => {
  expect((await noticed({ kind: "Decisions" }))[1]).toBe(
    "no row of 'notes' has kind 'Decisions'; nearest: 'decision' (3 rows)",
  );
  expect((await noticed({ n: 7 }))[1]).toBe("no row of 'notes' has n 7; there are 0 (4 rows) and 1 (3 rows)");
  expect((await noticed({ n: 1 }))[0]).toBe(3);
});

test("deleted rows do not count, and a collection may have no value at all", async () => {
  await m.call("create_collection", { name: "few", filter_columns: ["kind"] });
  await m.call("add", { collection: "few", texts: ["a", "b"], ids: ["a", "b"], metadata: [{ kind: "x" }, {}] });
  await m.call("delete", { collection: "few", ids: ["a"] });
  const { notice } = await m.call("search", { collection: "few", query: "a", where: { kind: "x" } });
  expect(notice).toBe("no row of 'few' has a kind");
});

test("thousands of values, long ones and odd ones", async () => {
  const texts = Array.from({ length: 3000 }, (_, i) => `text ${i}`);
  const metadata = texts.map((_, i) => ({ scope: i === 7 ? "x".repeat(500) : i === 8 ? "\u{1f9ed}" : `project-${i}` }));
  await m.call("add", { collection: "many", texts, metadata });
  for (const scope of ["project-12", "project 12", "\u{1f9ed}\u{1f9ed}", "y".repeat(512), ""]) {
    const { hits, notice } = await m.call("search", {
      collection: "many",
      query: "text",
      where: { scope },
      max_bytes: 1000,
    });
    if (scope === "project-12") expect(hits).toHaveLength(1);
    else expect(notice).toStartWith("no row of 'many' has scope ");
  }
});

test("values in the order of nearness", () => {
  expect(nearestOf("svc", ["svc-web", "svg", "other", "SVC"])).toEqual(["svc-web", "SVC", "svg"]);
  expect(nearestOf("", ["a"])).toEqual([]);
  expect(nearestOf("alpha", [])).toEqual([]);
});
