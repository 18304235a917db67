/** Rows by id: looking up, counting, updating, deleting, and when a change is durable. */
import { strict as assert } from "node:assert";
import {
  type CollectionStats,
  Eq,
  type GetOptions,
  type GotRow,
  type Id,
  type Save,
  Store,
  type Undone,
  type UndoOptions,
  type UndoTarget,
  type UpdateOptions,
  type Version,
} from "svc";

await using store = await Store.open();
const tasks = await store.createCollection("tasks", { embedder: "bigram", filterColumns: ["state"] });
await tasks.addTexts(["write the report", "water the plants"], {
  ids: ["report", "plants"],
  metadata: [{ state: "open" }, { state: "open" }],
});

assert.equal(tasks.has("report"), true);
assert.equal(tasks.size, 2);
assert.equal(await tasks.count(Eq("state", "open")), 2);

// A text that changes keeps its metadata where none is given.
const update: UpdateOptions = { ids: ["report"] };
await tasks.updateTexts(["write the quarterly report"], update);
const everything: GetOptions = { withVector: true };
const [row]: GotRow[] = await tasks.get(["report"], everything);
assert.deepEqual([row?.text, row?.metadata?.state], ["write the quarterly report", "open"]);
assert.equal(row?.vector?.length, tasks.schema.dim);

assert.equal(await tasks.delete(["plants", "never there"]), 1);
assert.deepEqual(await tasks.ids(), ["report"]);

// An integer stands for its decimal string; what comes back is the string.
const numbers: Id[] = [7, "8"];
assert.deepEqual(await tasks.addTexts(["seventh", "eighth"], { ids: numbers }), ["7", "8"]);
assert.equal(await tasks.delete(["7", 8]), 2);

// Until here everything is in memory: visible to this process, lost if it ends.
assert.equal((await tasks.stats()).unsaved_changes, true);
await tasks.save();

// What saves have changed is remembered, until it is compacted: each save can be undone, and an undo as well.
await tasks.delete(["report"]);
const target: UndoTarget = { id: "report" };
const options: UndoOptions = { force: false };
const undone: Undone = await tasks.undo(target, options);
assert.deepEqual([undone.restored, await tasks.ids()], [["report"], ["report"]]);
const saves: Save[] = [...tasks.saves()];
assert.deepEqual([saves.length, saves[0]?.added, saves[1]?.deleted], [3, 1, 1]);
const versions: Version[] = tasks.versions("report");
assert.deepEqual(
  versions.map(({ kind, row }) => [kind, row?.text]),
  [
    ["added", "write the quarterly report"],
    ["deleted", undefined],
    ["added", "write the quarterly report"],
  ],
);

await tasks.compact();
const stats: CollectionStats = await tasks.stats();
assert.deepEqual([stats.external_ids, stats.unsaved_changes], [1, false]);
