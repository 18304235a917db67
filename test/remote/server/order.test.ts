/** Replies in the order of the requests; effects in that order within a connection; connections side by side. */
import { expect, test } from "bun:test";
import { random, unitVectors } from "../../random.ts";
import { type Answer, ask, frame, large, TestServer, testProfile, until, within } from "./raw.ts";

const pack = (floats: Float32Array) => Buffer.from(floats.buffer).toString("base64");

/** An add of random unit rows. */
function rows(collection: string, count: number, dim: number, prefix: string): Buffer {
  const vectors = { f32: pack(unitVectors(count, dim, random(count))), shape: [count, dim] };
  return ask("add", collection, { vectors, ids: Array.from({ length: count }, (_, i) => `${prefix}${i}`) });
}

test("a thousand mixed requests in one packet are answered in their order", async () => {
  await using server = await TestServer.start();
  const raw = await server.open();
  const seed = Date.now() >>> 0;
  const next = random(seed);
  await raw.ok("create_collection", "c", { dim: 4 });
  await raw.ok("create_collection", "t", { embedder: "bigram" });
  const kinds: ((id: number) => Buffer)[] = [
    (id) => ask("ping", undefined, undefined, id),
    (id) => ask("search", "c", { vector: [1, 0, 0, 0] }, id),
    (id) => ask("ids", "c", {}, id),
    (id) => ask("nonsense", undefined, undefined, id),
    (id) => ask("add", "c", { vectors: [[1, 0, 0, 0]] }, id),
    (id) => ask("upsert_texts", "t", { texts: ["hello"], ids: ["x"] }, id),
    (id) => ask("search_text", "t", { text: "hello" }, id),
    (id) => ask("search_hits", "t", { text: "hello" }, id),
    (id) => ask("get", "t", { ids: ["x"] }, id),
    (id) => ask("stats", "c", undefined, id),
    (id) => ask("collections", undefined, undefined, id),
    (id) => (id % 50 === 0 ? ask("save", "c", undefined, id) : ask("ping", undefined, undefined, id)),
    (id) => (id % 20 === 0 ? large({ op: "ping", id }) : ask("ping", undefined, undefined, id)),
    (id) =>
      id % 20 === 1
        ? large({ op: "add", collection: "c", args: { vectors: [[0, 1, 0, 0]] }, id })
        : ask("delete", "c", { ids: [] }, id),
  ];
  raw.send(...Array.from({ length: 1000 }, (_, id) => kinds[Math.floor(next() * kinds.length)]!(id)));
  const replies = await raw.many(1000);
  const order = replies.map(({ id }) => id);
  if (order.some((id, i) => id !== i)) throw new Error(`seed ${seed}: ${order}`);
}, 120_000);

test("a search after an add in one packet finds its row, and one before it does not", async () => {
  await using server = await TestServer.start();
  const raw = await server.open();
  await raw.ok("create_collection", "c", { dim: 2 });
  for (const padding of [0, 200_000]) {
    const id = `row-${padding}`;
    const add = { op: "add", collection: "c", args: { vectors: [[1, 0]], ids: [id] } };
    raw.send(
      ask("ids", "c"),
      padding ? large(add, padding) : frame(JSON.stringify(add)),
      ask("search", "c", { vector: [1, 0], top_k: 1 }),
      ask("delete", "c", { ids: [id] }),
      ask("ids", "c"),
    );
    const replies = await raw.many(5);
    expect(replies.map(({ result }: Answer) => result?.ids ?? result)).toEqual([[], [id], [id], 1, []]);
  }
});

test("large and small changes of one id take effect in their order", async () => {
  await using server = await TestServer.start();
  const raw = await server.open();
  await raw.ok("create_collection", "c", { dim: 1, filter_columns: ["n"] });
  const requests: Buffer[] = [];
  for (let n = 0; n < 60; n++) {
    const request = { op: "upsert", collection: "c", args: { vectors: [[n]], ids: ["x"], metadata: [{ n }] } };
    requests.push(n % 3 === 0 ? large(request, 140_000 + n) : frame(JSON.stringify(request)));
    requests.push(ask("search", "c", { vector: [1] }));
  }
  raw.send(...requests);
  const replies = await raw.many(120);
  const scores = replies.filter((_, i) => i % 2 === 1).map(({ result }: Answer) => result.scores[0]);
  expect(scores).toEqual(Array.from({ length: 60 }, (_, n) => n));
});

test("pings are answered while another connection adds, saves and compacts much", async () => {
  await using server = await TestServer.start();
  const busy = await server.open();
  const other = await server.open();
  await busy.ok("create_collection", "c", { dim: 256 });
  let isDone = false;
  busy.send(
    rows("c", 20_000, 256, "r"),
    ask("save", "c"),
    ask("delete", "c", { ids: ["r1"] }),
    ask("compact", "c"),
    ask("ids", "c"),
  );
  const work = (async () => {
    const replies: Answer[] = [];
    while (replies.length < 5) replies.push(await busy.next(30_000));
    isDone = true;
    return replies;
  })();
  let pings = 0;
  while (!isDone && pings < 100_000) {
    await other.ok("ping");
    pings++;
  }
  const replies = await work;
  expect(replies.map(({ ok }) => ok)).toEqual([true, true, true, true, true]);
  expect(replies[4].result).toHaveLength(19_999);
  // A dozen is far below what even a busy machine answers in that time, and far above none.
  expect(pings).toBeGreaterThan(12);
}, 120_000);

test("a slow request does not hold up reads of other connections, nor reads of its own that came before", async () => {
  await using server = await TestServer.start({});
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const profile = testProfile("slow", 2);
  const embed = async (texts: readonly string[]) => {
    if (texts.includes("slow")) await gate;
    const matrix = new Float32Array(texts.length * 2);
    for (let i = 0; i < texts.length; i++) matrix[i * 2] = 1;
    return matrix;
  };
  server.store.registerEmbedder("slow", { profile, embedDocuments: embed, embedQueries: embed });
  const one = await server.open();
  const two = await server.open();
  await one.ok("create_collection", "t", { embedder: "slow" });
  await one.ok("add_texts", "t", { texts: ["fast"], ids: ["a"] });
  // One's slow read does not hold up its next read's work, only the order of the replies; its change waits.
  one.send(
    ask("ping", undefined, undefined, 0),
    ask("search_text", "t", { text: "slow" }, 1),
    ask("search_text", "t", { text: "fast" }, 2),
    ask("delete", "t", { ids: ["a"] }, 3),
    ask("ids", "t", {}, 4),
  );
  expect((await one.next()).id).toBe(0);
  expect(await two.ok("search_text", "t", { text: "fast" })).toMatchObject({ ids: ["a"] });
  expect(await two.ok("ids", "t")).toEqual(["a"]);
  await Bun.sleep(30);
  // The change waits for the reads before it: the slow search sees the row.
  expect(await two.ok("ids", "t")).toEqual(["a"]);
  expect(one.replies).toEqual([]);
  release();
  const replies = await one.many(4);
  expect(replies.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  expect(replies.map(({ result }: Answer) => result.ids ?? result)).toEqual([["a"], ["a"], 1, []]);
});

test("an embedder that fails, throws or answers with nonsense is an error of that request alone", async () => {
  await using server = await TestServer.start();
  const profile = testProfile("odd", 2);
  const embed = async ([text]: readonly string[]) => {
    if (text === "throws") throw new Error("no model");
    if (text === "short") return new Float32Array(1);
    if (text === "nan") return new Float32Array([Number.NaN, 1]);
    return new Float32Array([1, 0]);
  };
  server.store.registerEmbedder("odd", { profile, embedDocuments: embed, embedQueries: embed });
  const raw = await server.open();
  await raw.ok("create_collection", "t", { embedder: "odd" });
  for (const text of ["throws", "short", "nan"]) {
    for (const [op, args] of [
      ["add_texts", { texts: [text] }],
      ["search_text", { text }],
    ] as const) {
      const reply = await raw.ask(op, "t", args, 1);
      expect(reply.error).toMatch(/^(RuntimeError|ValueError): [^\n]*$/);
      expect(reply).toEqual({ ok: false, id: 1, error: reply.error });
    }
  }
  expect(await raw.ok("ids", "t")).toEqual([]);
  expect(await raw.ok("add_texts", "t", { texts: ["fine"], ids: ["a"] })).toEqual(["a"]);
});

test("requests of a connection that was lost are carried out, and no other connection waits", async () => {
  await using server = await TestServer.start();
  const gone = await server.open();
  const other = await server.open();
  await other.ok("create_collection", "c", { dim: 64 });
  gone.send(rows("c", 3000, 64, "g"), ask("ping"));
  await until("the bytes to leave", () => gone.unsent === 0);
  await within(gone.next(), 30_000, "an answer");
  gone.close();
  await until("the rows", async () => (await other.ok("ids", "c")).length === 3000);
  await until("its end", async () => (await other.ok("stats")).connections.open === 1);
});
