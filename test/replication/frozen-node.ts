/** A node in a process of its own: takes a lease, waits for a line on stdin, and prints what its commit answers. */
import { EngineError } from "../../src/replication/engine.ts";
import { openPostgres } from "../../src/replication/postgres/engine.ts";

const [address] = process.argv.slice(2);
const engine = await openPostgres(address!, { node: crypto.randomUUID(), deadlines: { idle: 300 } });
const lease = await engine.lease("notes", 10_000);
console.log("leased");
for await (const _ of console) break;
const next = { generation: 99, manifest: new Uint8Array(1), files: { d: "d" }, commit: crypto.randomUUID(), log: "" };
try {
  await lease.swap(next, [{ file: "d", at: 0, bytes: new Uint8Array(1) }]);
  console.log("committed");
} catch (error) {
  console.log(error instanceof EngineError ? error.fault : error);
}
await engine.close();
