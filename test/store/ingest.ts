/** Adds rows to a new collection, some in each call, saves, and ends: a process whose memory a test measures. */
import { keepHeapSmall } from "../../ffi/system/calls.ts";
import { Put } from "../../src/store/writer.ts";
import { openStore } from "../fixture.ts";

const [dir, rows, call, saves] = process.argv.slice(2);
const dim = 1024;
keepHeapSmall();
const store = await openStore(dir);
const collection = store.create("rows", { dim });
const count = Number(call);
const vectors = new Float32Array(count * dim).map((_, i) => Math.sin(i));
for (let first = 0; first < Number(rows); first += count) {
  const ids = Array.from({ length: count }, (_, i) => `row-${first + i}`);
  await collection.stage((t) => t.put(Put.ADD, { vectors, ids, metadata: ids.map(() => ({})) }));
  if (saves === "each") await collection.save();
}
await collection.save();
await collection.compact();
await store.close();
