/** Large collections: an approximate index, and how much it may miss. */
import { strict as assert } from "node:assert";
import { type IvfOptions, type LocalSearchOptions, type ManySearchOptions, Store, type Watch } from "svc";

const DIM = 32;
await using store = await Store.open();
const c = await store.createCollection("large", { dim: DIM });
await c.add(Float32Array.from({ length: 5000 * DIM }, (_, i) => Math.sin(i * i)));

// Long work can be watched and stopped: the last saved state stays then.
const watch: Watch = { signal: AbortSignal.timeout(60_000), onProgress: (done, total) => assert.ok(done <= total) };
const options: IvfOptions = { minRows: 1000, targetRecall: 0.9, ...watch };
assert.equal(await c.buildIvf(options), 1);

// From now on 0.9 is the default; a search may ask for more.
const question = new Float32Array(DIM).fill(1);
const exact: LocalSearchOptions = { targetRecall: 1, explain: true };
assert.equal((await c.search(question, { explain: true })).explain?.mode, "ivf");
assert.equal((await c.search(question, exact)).explain?.mode, "exact");

// Many queries at once, here exact ones on one thread.
const many: ManySearchOptions = { ...exact, topK: 3, threads: 1 };
const answers = await c.searchMany([question, question], many);
assert.deepEqual(
  answers.map(({ explain }) => explain?.mode),
  ["exact", "exact"],
);
