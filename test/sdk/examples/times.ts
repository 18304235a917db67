/** When rows were added and changed: reading it, and listing by it. */
import { strict as assert } from "node:assert";
import { type ListOptions, type LocalSearchResult, type RecencyOptions, Store } from "svc";

await using store = await Store.open();
const notes = await store.createCollection("notes", { embedder: "multigram" });
await notes.addTexts(["we deploy on Tuesdays", "the report is due on Friday"], { ids: ["deploy", "report"] });
const start = Date.now();
await Bun.sleep(5);
await notes.upsertTexts(["we deploy on Mondays"], { ids: ["deploy"] });

// An upsert keeps `created` and renews `updated`.
const [deploy] = await notes.get(["deploy"], { withTimes: true });
assert(deploy!.created! <= start && deploy!.updated! > start);
const found: LocalSearchResult = await notes.searchText("deploy", { topK: 1, withTimes: true });
assert.deepEqual([found.created, found.updated], [[deploy!.created], [deploy!.updated]]);

// A time is milliseconds since 1970 or a string of ISO 8601.
const changed: ListOptions = { since: new Date(start + 1).toISOString() };
assert.deepEqual(await notes.ids(undefined, changed), ["deploy"]);
assert.deepEqual(await notes.ids(undefined, { newest: 5 }), ["deploy", "report"]);

// Of notes that fit a question about as well, the newer one comes first.
const recency: RecencyOptions = { field: "updated", halfLifeDays: 30, weight: 0.2 };
const recent = await notes.searchText("deploy", { recency, explain: true });
assert.equal(recent.explain?.recency_shares?.length, recent.ids.length);
await notes.save();
