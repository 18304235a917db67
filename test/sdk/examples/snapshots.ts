/** A snapshot: a whole, verified copy in another memory directory, while work goes on. */
import { strict as assert } from "node:assert";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalRowOptions, type OpenOptions, Store } from "svc";

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
