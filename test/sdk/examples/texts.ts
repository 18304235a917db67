/** Texts: stored with metadata, found by meaning. */
import { strict as assert } from "node:assert";
import {
  type Collection,
  Eq,
  type Hit,
  type HitOptions,
  type HitsResult,
  type LocalHitOptions,
  type SearchResult,
  Store,
  type Where,
} from "svc";

// SVC_MEMORY_PATH, or `memory` under SVC_HOME. `svc login` was run once on this machine.
await using store: Store = await Store.open();
const notes: Collection = await store.createCollection("notes", { embedder: "multigram", filterColumns: ["kind"] });

// Without ids each row gets a UUID. The partition key ("scope") is "default" where metadata does not say otherwise.
await notes.addTexts(["we deploy blue green on Tuesdays", "the cat sat on the mat"], {
  ids: ["deploy", "cat"],
  metadata: [{ scope: "work", kind: "process" }, { scope: "home" }],
});
await notes.save();
assert.deepEqual(await store.collections(), ["notes"]);

const found: SearchResult = await notes.searchText("how do we deploy", { topK: 1, withMetadata: true });
assert.deepEqual(found.ids, ["deploy"]);
assert.deepEqual(found.metadata, [{ scope: "work", kind: "process" }]);

// Hits have the rows' texts and dates; textBytes cuts a long text to the passage that fits best.
const brief: HitOptions = { topK: 1, textBytes: 200 };
const { hits }: HitsResult = await notes.searchHits("how do we deploy", brief);
const [best]: Hit[] = hits;
assert.deepEqual([best?.text, best?.metadata?.kind], ["we deploy blue green on Tuesdays", "process"]);
assert.equal(best?.date, new Date(best!.updated).toISOString().slice(0, 10));
const newest: LocalHitOptions = { topK: 1, recency: { field: "updated", halfLifeDays: 7, weight: 0.1 } };
assert.equal((await notes.searchHits("how do we deploy", newest)).hits[0]?.id, "deploy");

const atHome: Where = Eq("scope", "home");
assert.deepEqual((await notes.searchText("how do we deploy", { where: atHome })).ids, ["cat"]);
