/** Collections as a whole: described, altered, renamed, dropped, and brought back from a backup. */
import { strict as assert } from "node:assert";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AlteredCollection,
  type AlterOptions,
  type CollectionOverview,
  type RestoredCollection,
  type RestoreOptions,
  type RestoreResult,
  Store,
} from "svc";

await using store = await Store.open();
const notes = await store.createCollection("notes", { embedder: "multigram" });
await notes.addTexts(["we deploy blue green"], { ids: ["deploy"], metadata: [{ lang: "en" }] });
await notes.save();
await notes.describe("what the team decided");

// A rewrite that keeps every row: afterwards words alone may be searched, and another column names rows.
const wanted: AlterOptions = { lexical: true, addColumns: ["lang"] };
const altered: AlteredCollection = await store.alterCollection("notes", wanted);
assert.deepEqual(altered.filter_columns, ["scope", "lang"]);
assert.deepEqual((await notes.searchLexical("deploy")).ids, ["deploy"]);
assert.equal(await notes.count({ lang: "en" }), 1);

// What is there, without opening any of it.
const [seen]: CollectionOverview[] = store.overview();
assert.deepEqual([seen!.name, seen!.rows, seen!.description], ["notes", 1, "what the team decided"]);

const backup = join(mkdtempSync(join(tmpdir(), "svc-backup-")), "memory");
await store.backup(backup);
await store.renameCollection("notes", "decisions");
await store.dropCollection("decisions");
assert.deepEqual(await store.collections(), []);

// One that is there is refused, unless it is to be replaced.
const options: RestoreOptions = { names: ["notes"], replace: true };
const { collections, failed }: RestoreResult = await store.restore(backup, options);
assert.deepEqual(failed, []);
assert.deepEqual(
  collections.map(({ name, rows, replaced }: RestoredCollection) => [name, rows, replaced]),
  [["notes", 1, false]],
);
