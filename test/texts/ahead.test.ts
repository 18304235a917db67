/** Texts that are embedded while the put before them is saved: what is stored, and whose error it is. */
import { expect, test } from "bun:test";
import { Ahead } from "../../ffi/ty_ahead.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { putTexts } from "../../src/texts/put.ts";
import { native, openStore } from "../fixture.ts";
import { random } from "../random.ts";

const ROWS = 300;
const WORDS = 30;

/** Texts of 60 KB. */
function batch(number: number) {
  const next = random(number + 1);
  const word = () => `w${Math.floor(next() * 5000)}`;
  const ids = Array.from({ length: ROWS }, (_, i) => `${number}-${i}`);
  return { ids, texts: ids.map(() => Array.from({ length: WORDS }, word).join(" ")) };
}

async function opened() {
  const { kernel, env } = await native();
  const embedder = new MultigramEmbedder(kernel);
  const { profile } = embedder;
  const store = await openStore();
  const schema = { dim: profile.dimension, lexical: true, embedderProfile: profile };
  const collection = store.create("c", schema);
  await collection.save();
  const put = (number: number, signal?: AbortSignal, mode: "add" | "upsert" = "add") =>
    putTexts(collection, embedder, mode, batch(number), { signal });
  return { env, store, collection, put };
}

/** How many puts of `work` took what was made ahead, and how many did not. */
async function countTaken(work: () => Promise<unknown>): Promise<{ taken: number; not: number }> {
  const { take } = Ahead.prototype;
  const counts = { taken: 0, not: 0 };
  Ahead.prototype.take = async function (this: Ahead) {
    const handle = await take.call(this);
    counts[handle === 0 ? "not" : "taken"] += 1;
    return handle;
  };
  try {
    await work();
  } finally {
    Ahead.prototype.take = take;
  }
  return counts;
}

test("calls at a time store what calls one after the other store", async () => {
  const [one, other] = [await opened(), await opened()];
  for (let i = 0; i < 4; i++) await one.put(i);
  await one.put(2, undefined, "upsert");
  const { taken } = await countTaken(() =>
    Promise.all([0, 1, 2, 3].map((i) => other.put(i)).concat(other.put(2, undefined, "upsert"))),
  );
  expect(taken).toBe(4); // all but the first
  const ids = one.collection.ids();
  expect(other.collection.ids()).toEqual(ids);
  const rows = (from: typeof one) => from.collection.get(ids, { text: true, vector: true });
  expect(rows(other)).toEqual(rows(one));
  expect(other.collection.stats().generation).toBe(one.collection.stats().generation);
});

test("each error is that of its call, and the others are stored", async () => {
  const { collection, put } = await opened();
  const stop = new AbortController();
  const calls = [put(0), put(0), put(1), put(2, stop.signal), put(3)];
  await calls[0];
  stop.abort();
  const [first, again, second, stopped, third] = await Promise.allSettled(calls);
  expect([first, second, third].map((call) => call?.status)).toEqual(Array(3).fill("fulfilled"));
  expect(again).toMatchObject({ status: "rejected", reason: { name: "KeyError" } });
  expect(stopped).toMatchObject({ status: "rejected", reason: { name: "CancelledError" } });
  expect(collection.count()).toBe(3 * ROWS);
});

test("a save that fails takes back its own rows only", async () => {
  const { env, store, collection, put } = await opened();
  const expected: string[] = [];
  for (let nth = 1, isOver = false; !isOver; nth += 7) {
    env.testFail(nth, 28, false);
    const calls = await Promise.allSettled([put(2 * nth), put(2 * nth + 1)]);
    isOver = env.testFail(0, 0, false) < nth;
    for (const [i, call] of calls.entries()) {
      const { ids } = batch(2 * nth + i);
      const isUnsure = call.status === "rejected" && call.reason.reason === "outcome_unknown";
      const isSaved = isUnsure ? collection.get([ids[0]!], {})[0]!.found : call.status === "fulfilled";
      if (isSaved) expected.push(...ids);
    }
    expect(collection.ids()).toEqual(expected);
    const fresh = await openStore(store.dir);
    expect(fresh.open("c").ids()).toEqual(expected);
    await fresh.close();
  }
  expect(expected.length).toBeGreaterThan(0);
}, 60_000);

test("closing waits for texts that are embedded ahead", async () => {
  const { store, collection, put } = await opened();
  const calls = [put(0), put(1), put(2)];
  await collection.close();
  expect(await Promise.allSettled(calls)).toMatchObject(Array(3).fill({ status: "fulfilled" }));
  await store.close();
});
