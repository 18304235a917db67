/** The one filter there is, and how to combine with it. */
import { strict as assert } from "node:assert";
import { Eq, type FilterValue, type Metadata, Store, scopeKey } from "svc";

await using store = await Store.open();
const c = await store.createCollection("filtered", { dim: 1, filterColumns: ["n", "tenant_kind"] });

// A column that stands for two: different parts never give the same key.
const metadata: Metadata[] = [
  { n: 1, tenant_kind: scopeKey("acme", "note") },
  { n: "1", tenant_kind: scopeKey("acme", "task") },
  { tenant_kind: scopeKey("acme:note") },
];
await c.add([[1], [2], [3]], { ids: ["number", "text", "none"], metadata });
assert.deepEqual(await c.ids(Eq("tenant_kind", scopeKey("acme", "note"))), ["number"]);

// Equality is typed: 1 is 1.0, not "1". Null finds rows without a value.
const matches = (value: FilterValue) => c.ids(Eq("n", value));
assert.deepEqual([await matches(1), await matches("1"), await matches(null)], [["number"], ["text"], ["none"]]);
