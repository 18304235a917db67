/** Texts: stored with metadata, found by meaning. */
import { strict as assert } from "node:assert";
import { type Collection, Eq, type SearchResult, Store, type Where } from "svc";

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

const atHome: Where = Eq("scope", "home");
assert.deepEqual((await notes.searchText("how do we deploy", { where: atHome })).ids, ["cat"]);
