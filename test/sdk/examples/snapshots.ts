/** A snapshot: a whole, verified copy in another memory directory, while work goes on. */
import { strict as assert } from "node:assert";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BackupOptions,
  type BackupResult,
  type CheckedCollection,
  type CheckedDamage,
  type CheckOptions,
  type CopiedCollection,
  type CopyOptions,
  type LocalRowOptions,
  type OpenOptions,
  type RepairedCollection,
  type RepairOptions,
  Store,
} from "svc";

const warnings: string[] = [];
const options: OpenOptions = { warn: (line) => warnings.push(line) };
await using store = await Store.open(undefined, options);
const c = await store.createCollection("precious", { dim: 2 });
const rows: LocalRowOptions = { ids: ["a", "b"], signal: AbortSignal.timeout(10_000) };
await c.add([Float32Array.of(1, 0), Float32Array.of(0, 1)], rows);

const backup = mkdtempSync(join(tmpdir(), "svc-backup-"));
await c.snapshot(backup);
await c.delete(["a"]);

await using copy = await Store.open(backup);
assert.deepEqual(await (await copy.openCollection("precious")).ids(), ["a", "b"]);

// Of every collection, beside other processes; then a reading of every byte, and what to do where some are damaged.
const wanted: BackupOptions = { names: ["precious"], copy: true } satisfies CopyOptions & BackupOptions;
const { collections, failed }: BackupResult = await store.backup(join(backup, "memory"), wanted);
assert.deepEqual(
  collections.map(({ name, rows, linked_bytes }: CopiedCollection) => [name, rows, linked_bytes]),
  [["precious", 1, 0]],
);
assert.deepEqual(failed, []);
const all: CheckOptions = { onProgress: (done, total, name) => assert(done <= total && name === "precious") };
const checked: CheckedCollection[] = await store.check(all);
const damages: CheckedDamage[] = checked.flatMap((one) => one.damages);
assert.deepEqual(damages, []);
const saved: RepairOptions = { to: "precious-saved" };
const repaired: RepairedCollection = await store.repair("precious", saved);
assert.equal(repaired.action, "none");
