/** An import in batches: while one is saved the next one begins, and none is written after one that failed. */
import { expect, test } from "bun:test";
import type { ForeignRow, RowSource } from "../../src/formats/input/row.ts";
import { FileImport } from "../../src/memory/transfer/import.ts";
import { native, openStore, TestMemory } from "../fixture.ts";

const ENOSPC = 28;
/** Of a batch, whose rows are counted as their vectors have numbers. */
const ROWS = 512;
const VECTOR = new Float32Array(2048);
const BATCHES = 4;

/** Rows whose texts are embedded again. */
function* rowsOf(count: number, word = "text"): Generator<ForeignRow> {
  for (let i = 0; i < count; i++)
    yield { id: `${i}`, where: `row ${i}`, text: `${word} number ${i} of a file with many rows`, vector: VECTOR };
}

const sourceOf = (rows: Iterable<ForeignRow>): RowSource => ({
  name: "test",
  bytes: undefined,
  position: () => 0,
  async *rows() {
    yield* rows;
  },
});

function importOf(m: TestMemory, rows: Iterable<ForeignRow>, signal = new AbortController().signal) {
  const options = { collection: "c", schema: {}, times: true, signal };
  return new FileImport(m.memory, sourceOf(rows), options);
}

/** The beginnings and ends of the batches of `work`. */
async function batchesOf(m: TestMemory, work: () => Promise<unknown>): Promise<string> {
  const terminal = await m.memory.terminal();
  const { import_rows } = terminal;
  let [number, log] = [0, ""];
  terminal.import_rows = async (a, c) => {
    const own = number++;
    log += `+${own}`;
    return import_rows.call(terminal, a, c).finally(() => {
      log += `-${own}`;
    });
  };
  await work();
  return log;
}

test("a batch begins once the one before is being saved and the collection exists, and not before the last but one has ended", async () => {
  const m = await TestMemory.open();
  const one = importOf(m, rowsOf(BATCHES * ROWS - 100));
  // A save may end before the rows of the next batch are read.
  expect(await batchesOf(m, () => one.run())).toMatch(/^\+0-0\+1(\+2-1|-1\+2)(\+3-2|-2\+3)-3$/);
  expect(one.total).toMatchObject({ imported: BATCHES * ROWS - 100, inserted: BATCHES * ROWS - 100, unchanged: 0 });
  const again = importOf(m, rowsOf(BATCHES * ROWS));
  await again.run();
  expect(again.total).toMatchObject({ imported: BATCHES * ROWS, inserted: 100, unchanged: BATCHES * ROWS - 100 });
  await m.close();
});

test("an id of the batch before is replaced", async () => {
  const m = await TestMemory.open();
  await importOf(m, rowsOf(1)).run();
  const one = importOf(m, [...rowsOf(ROWS), ...rowsOf(ROWS), ...rowsOf(ROWS, "word")]);
  await one.run();
  expect(one.total).toMatchObject({ imported: 3 * ROWS, inserted: ROWS - 1, unchanged: ROWS + 1, replaced: ROWS });
  await m.close();
});

test("after a failure of any system call there are the first batches, whole, and no later one", async () => {
  const { env } = await native();
  const saved = new Set<number>();
  for (let nth = 20, isOver = false; !isOver; nth += 17) {
    const m = await TestMemory.open();
    await importOf(m, rowsOf(1)).run();
    const one = importOf(m, rowsOf(BATCHES * ROWS));
    env.testFail(nth, ENOSPC, false);
    const failure = await one.run().then(
      () => undefined,
      (error) => error,
    );
    isOver = env.testFail(0, 0, false) < nth;
    if (failure) expect(failure.message).not.toContain("the rows before these");
    const fresh = await openStore(m.dir);
    const ids = fresh.open("c").ids();
    await fresh.close();
    expect(ids).toEqual(Array.from(rowsOf(ids.length), ({ id }) => id!));
    expect(ids.length % ROWS === 0 || ids.length === 1).toBe(true);
    if (failure === undefined) expect(ids.length).toBe(BATCHES * ROWS);
    else if (failure.reason !== "outcome_unknown") expect(one.total.imported).toBe(ids.length === 1 ? 0 : ids.length);
    saved.add(ids.length);
    await m.close();
  }
  expect(saved.size).toBeGreaterThan(2);
}, 120_000);

test("a row that cannot be read ends the import after the batches before it", async () => {
  const m = await TestMemory.open();
  await importOf(m, rowsOf(1)).run();
  const broken = function* () {
    yield* rowsOf(2 * ROWS + 5);
    throw new Error("line 7 is not JSON");
  };
  const one = importOf(m, broken());
  await expect(one.run()).rejects.toThrow("line 7 is not JSON");
  expect(one.total.imported).toBe(2 * ROWS);
  await m.close();
});

test("a cancelled import keeps whole batches", async () => {
  const m = await TestMemory.open();
  await importOf(m, rowsOf(1)).run();
  const stop = new AbortController();
  let batches = 0;
  const options = { collection: "c", schema: {}, times: true, signal: stop.signal };
  const one = new FileImport(m.memory, sourceOf(rowsOf(BATCHES * ROWS)), {
    ...options,
    onBatch: () => {
      batches += 1;
      if (batches === 2) stop.abort();
    },
  });
  await expect(one.run()).rejects.toMatchObject({ name: "CancelledError" });
  const { count } = await m.call("count", { collection: "c" });
  expect(one.total.imported).toBe(count);
  expect(count % ROWS).toBe(0);
  expect(count).toBeLessThan(BATCHES * ROWS);
  await m.close();
});
