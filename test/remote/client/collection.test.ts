/** What a collection's calls look like on the wire, what is refused before, and calls that travel in parts. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Metadata } from "../../../src/api/api.ts";
import { parseAddress } from "../../../src/remote/client/address.ts";
import { Channel } from "../../../src/remote/client/channel.ts";
import { connect, type RemoteTelys } from "../../../src/remote/client/client.ts";
import { RemoteCollection } from "../../../src/remote/client/collection.ts";
import { encodeArguments, matrixPieces, vectorPieces } from "../../../src/remote/client/encode.ts";
import type { Request } from "../../../src/remote/wire/protocol.ts";
import { readMatrix, readVector } from "../../../src/remote/wire/vectors.ts";
import { answer, failure, isWho, type Peer, ScriptedServer } from "./server.ts";

let server: ScriptedServer;
let client: RemoteTelys;
let collection: RemoteCollection;
/** What a test does with requests; undefined is a healthy server. */
let handle: ((request: Request, peer: Peer, at: number) => void) | undefined;
let first = 0;

beforeAll(async () => {
  server = new ScriptedServer({
    onRequest: (request, peer) =>
      handle && !isWho(request) ? handle(request, peer, sent().length - 1) : peer.reply(answer(request)),
  });
  client = await connect(server.address);
});
beforeEach(async () => {
  handle = undefined;
  collection = await client.openCollection("c");
  first = server.requests.length;
});
afterAll(async () => {
  await client.close();
  server[Symbol.dispose]();
});

/** The requests since the test began, except for those of the server's identity. */
const sent = () => server.requests.slice(first).filter((request) => !isWho(request));
const last = () => sent().at(-1)!;

test("every operation travels as the protocol says", async () => {
  await client.createCollection("né", {
    dim: 2,
    partitionBy: "p",
    filterColumns: ["a"],
    dtype: "f16",
    metric: "l2",
    embedder: "bigram",
  });
  expect(last()).toEqual({
    op: "create_collection",
    collection: "né",
    args: { dim: 2, partition_by: "p", filter_columns: ["a"], dtype: "f16", metric: "l2", embedder: "bigram" },
  });
  await client.createCollection("d", {});
  expect(last()).toEqual({ op: "create_collection", collection: "d", args: {} });
  await collection.addTexts(['a "b"\n', "é😀"], { ids: ["1", "2"], metadata: [{ scope: "s" }, undefined] });
  expect(last()).toEqual({
    op: "add_texts",
    collection: "c",
    args: { texts: ['a "b"\n', "é😀"], ids: ["1", "2"], metadata: [{ scope: "s" }, null] },
  });
  expect(await collection.upsertTexts(["a"])).toEqual(["made-0"]);
  expect(last()).toEqual({ op: "upsert_texts", collection: "c", args: { texts: ["a"] } });
  expect(
    await collection.searchText("q", { topK: Infinity, where: { é: null }, explain: true, withMetadata: true }),
  ).toEqual({
    ids: ["a"],
    scores: [0.5],
  });
  expect(last().args).toEqual({ text: "q", top_k: 100_000, where: { é: null }, explain: true, with_metadata: true });
  await collection.search([0.5, 1], { topK: -3 });
  expect(last().args).toEqual({ vector: { f32: "AAAAPwAAgD8=" }, top_k: 1 });
  expect(await collection.searchHits("q")).toEqual({
    hits: [{ id: "a", score: 0.5, text: "t", created: 1, updated: 2, date: "1970-01-01" }],
  });
  expect(last()).toEqual({ op: "search_hits", collection: "c", args: { text: "q" } });
  await collection.searchHits("q", { topK: 0, where: { é: 1 }, withText: false, withMetadata: false, textBytes: 9 });
  const bare = { with_text: false, with_metadata: false };
  expect(last().args).toEqual({ text: "q", top_k: 1, where: { é: 1 }, ...bare, text_bytes: 9 });
  expect(await collection.get([7, "b"])).toEqual([
    { id: "7", found: true, text: "t" },
    { id: "b", found: true, text: "t" },
  ]);
  expect(last()).toEqual({ op: "get", collection: "c", args: { ids: ["7", "b"] } });
  const timed = await collection.get(["a"], { withText: false, withMetadata: false, withTimes: true });
  expect(timed).toEqual([{ id: "a", found: true, text: "t", created: 1, updated: 2 }]);
  expect(last().args).toEqual({ ids: ["a"], ...bare });
  await collection.ids();
  expect(last()).toEqual({ op: "ids", collection: "c", args: {} });
  await collection.ids({ scope: 1 });
  expect(last().args).toEqual({ where: { scope: 1 } });
  expect(await collection.delete(["a", "b"])).toBe(2);
  expect(last().args).toEqual({ ids: ["a", "b"] });
  await collection.compact();
  await collection.save();
  expect(await collection.stats()).toMatchObject({ dim: 2 });
  const args = { with_generation: true };
  expect(sent().slice(-3)).toEqual([
    { op: "compact", collection: "c" },
    { op: "save", collection: "c", args },
    { op: "stats", collection: "c" },
  ]);
});

test("vectors arrive as they were, in every form", async () => {
  const rows = [
    [1, 2.5],
    [-3, 0.1],
    [4, 5],
  ];
  const flat = Float32Array.from(rows.flat());
  const view = new Float32Array([9, ...flat, 9]).subarray(1, 7);
  for (const vectors of [
    rows,
    rows.map((row) => Float32Array.from(row)),
    flat,
    view,
    [rows[0]!, flat.subarray(2, 4), rows[2]!],
  ]) {
    await collection.add(vectors, { ids: ["1", "2", "3"] });
    const { vectors: packed } = last().args as { vectors: { shape: number[] } };
    expect(packed.shape).toEqual([3, 2]);
    expect(readMatrix(packed, 2, "vectors").floats).toEqual(flat);
  }
  await collection.search(view.subarray(0, 5));
  expect(readVector((last().args as { vector: unknown }).vector, "vector")).toEqual(flat.subarray(0, 5));
});

test("base64 that is written in slices is that of the whole", () => {
  for (const length of [1, 2, 3, 12_287, 12_288, 12_289, 40_000]) {
    const floats = new Float32Array(length).map((_, i) => Math.sin(i));
    const frame = encodeArguments("search", "c", [
      ["vector", ...vectorPieces(floats)],
      ["more", ...matrixPieces(floats, 1)],
    ]);
    expect(frame.readUInt32BE(0)).toBe(frame.length - 4);
    const f32 = Buffer.from(floats.buffer).toString("base64");
    expect(JSON.parse(frame.toString("utf8", 4))).toEqual({
      op: "search",
      collection: "c",
      args: { vector: { f32 }, more: { f32, shape: [1, length] } },
    });
  }
});

test("the dimension is requested once, where only it gives the row count of a matrix", async () => {
  expect(await collection.add(new Float32Array(6))).toEqual(["made-0", "made-1", "made-2"]);
  await collection.upsert(new Float32Array(4));
  await collection.add([[1, 2]]);
  expect(sent().map(({ op }) => op)).toEqual(["stats", "add", "upsert", "add"]);
  expect(await failure(collection.add(new Float32Array(3)))).toMatchObject({ type: "ValueError" });
  const created = await client.createCollection("d", { dim: 3 });
  expect(await created.add(new Float32Array(3))).toEqual(["made-0"]);
  expect(sent().filter(({ op }) => op === "stats").length).toBe(1);
});

test("no rows are a call like any other", async () => {
  expect(await collection.add([])).toEqual([]);
  expect(last().args).toEqual({ vectors: [] });
  expect(await collection.add(new Float32Array(0), { ids: [] })).toEqual([]);
  expect(await collection.addTexts([])).toEqual([]);
  expect(await collection.delete([])).toBe(0);
});

test("calls take effect in the order they were made", async () => {
  const calls = [
    collection.add([[1, 2]], { ids: ["a"] }),
    collection.search([1, 2]),
    collection.upsertTexts(["t"], { ids: ["b"] }),
    collection.delete(["a"]),
    collection.save(),
    client.ping(),
  ];
  await Promise.all(calls);
  expect(sent().map(({ op }) => op)).toEqual(["add", "search", "upsert_texts", "delete", "save", "ping"]);
});

test("what JSON or single precision would change, and what breaks a limit, is refused before it travels", async () => {
  const loop: Metadata = {};
  loop.again = loop;
  const any = (value: unknown) => value as never;
  const refused: [string, string, () => Promise<unknown>][] = [
    ["TypeError", "vectors[0][1] must be a number, got the string '2'", () => collection.add(any([[1, "2"]]))],
    ["TypeError", "vectors[1] must be", () => collection.add(any([[1], "2"]))],
    ["TypeError", "vectors must be", () => collection.add(any("x"))],
    ["TypeError", "vector must be", () => collection.search(any({ 0: 1 }))],
    [
      "ValueError",
      "ids has 1 entry for 2 rows: give one for each row",
      () => collection.add([[1], [2]], { ids: ["a"] }),
    ],
    ["ValueError", "metadata has 0 entries for 1 row", () => collection.upsertTexts(["a"], { metadata: [] })],
    ["TypeError", "ids[0] must be a string", () => collection.add([[1]], { ids: any([1.5]) })],
    ["ValueError", "ids[0] is an integer beyond 2^53 - 1", () => collection.add([[1]], { ids: [2 ** 53] })],
    ["KeyError", "'7'", () => collection.add([[1], [1]], { ids: [7, "7"] })],
    ["TypeError", "ids must be an array of strings", () => collection.delete(any("a"))],
    ["ValueError", "ids[0] is empty", () => collection.delete([""])],
    ["ValueError", "ids[1] has 514 bytes", () => collection.delete(["a", "é".repeat(257)])],
    ["ValueError", "ids[0] holds a NUL", () => collection.addTexts(["a"], { ids: ["\0"] })],
    ["ValueError", "ids[0] holds half", () => collection.addTexts(["a"], { ids: ["\ud800"] })],
    ["TypeError", "texts[0] must be a string", () => collection.addTexts(any([null]))],
    ["ValueError", "texts[0] has 16777217 bytes", () => collection.addTexts(["x".repeat(2 ** 24 + 1)])],
    ["TypeError", "metadata[0] must be an object", () => collection.addTexts(["a"], { metadata: any(["x"]) })],
    [
      "ValueError",
      "metadata[0].a.b[0] is NaN",
      () => collection.addTexts(["a"], { metadata: [{ a: { b: [Number.NaN] } }] }),
    ],
    ["ValueError", "beyond 2^53", () => collection.addTexts(["a"], { metadata: [{ a: 2 ** 60 }] })],
    ["ValueError", "nested deeper than 16", () => collection.addTexts(["a"], { metadata: [loop] })],
    [
      "TypeError",
      "metadata[0].a is a bigint, which JSON does not have",
      () => collection.addTexts(["a"], { metadata: [{ a: 1n }] }),
    ],
    [
      "ValueError",
      "metadata[0] has 65544 bytes",
      () => collection.addTexts(["a"], { metadata: [{ a: "x".repeat(2 ** 16) }] }),
    ],
    [
      "KeyError",
      "this id exists already or stands twice in the call, nothing was added: 'a'",
      () => collection.add([[1], [2]], { ids: ["a", "a"] }),
    ],
    [
      "KeyError",
      "these ids exist already or stand twice in the call, nothing was added: '0', '1', '2', ...",
      () => collection.addTexts(Array(20).fill("t"), { ids: Array.from({ length: 20 }, (_, i) => `${i % 10}`) }),
    ],
    ["ValueError", "where.a is NaN", () => collection.ids({ a: Number.NaN })],
    [
      "ValueError",
      "topK must be an integer from 1 to 100000, got NaN",
      () => collection.search([1], { topK: Number.NaN }),
    ],
    ["TypeError", "text must be a string", () => collection.searchText(any(7))],
    ["TypeError", "name must be a string", () => client.openCollection(any(7))],
  ];
  for (const [type, message, call] of refused) {
    const error = await failure(call());
    expect([error.type, error.message]).toEqual([type, expect.stringContaining(message)]);
  }
  expect(sent()).toEqual([]);
});

test("an answer in another form is an OSError", async () => {
  handle = (_, peer) => peer.reply({ strange: true });
  const calls = [
    client.collections(),
    collection.add([[1]]),
    collection.search([1]),
    collection.ids(),
    collection.delete(["a"]),
  ];
  for (const error of await Promise.all(calls.map(failure))) {
    expect(error).toMatchObject({ type: "OSError" });
    expect(error.message).toContain("in a form that the protocol does not have");
  }
});

/** A collection whose requests carry at most so many bytes of rows. */
async function inParts(bytes: number): Promise<{ parts: RemoteCollection; channel: Channel }> {
  const channel = await Channel.open({ address: parseAddress(server.address), timeoutMs: 1000 });
  return { parts: new RemoteCollection(channel, "c", 2, bytes), channel };
}

test("a call with many bytes travels in parts, in order and without a gap", async () => {
  const { parts, channel } = await inParts(100);
  const ids = Array.from({ length: 25 }, (_, i) => `id-${i}`);
  const floats = new Float32Array(50).map((_, i) => i);
  const metadata = ids.map((id) => ({ id }));
  expect(await parts.add(floats, { ids, metadata })).toEqual(ids);
  const requests = sent().map(({ args }) => args as { ids: string[]; metadata: { id: string }[]; vectors: unknown });
  expect(requests.length).toBeGreaterThan(8);
  expect(requests.flatMap((args) => args.ids)).toEqual(ids);
  expect(requests.flatMap((args) => args.metadata)).toEqual(metadata);
  expect(requests.flatMap((args) => [...readMatrix(args.vectors, 2, "vectors").floats])).toEqual([...floats]);

  first = server.requests.length;
  const texts = ids.map((id) => `${id} "quoted"\n`.repeat(3));
  expect((await parts.addTexts(texts)).length).toBe(25);
  expect(sent().flatMap(({ args }) => (args as { texts: string[] }).texts)).toEqual(texts);
  expect(sent().length).toBe(25);

  first = server.requests.length;
  expect(await parts.delete(ids)).toBe(25);
  expect(sent().length).toBe(2);
  expect(await failure(parts.add(floats, { ids: [...ids.slice(1), "id-7"] }))).toMatchObject({ type: "KeyError" });
  await channel.close();
});

test("of a call in parts no number is sent where one is not finite", async () => {
  const { parts, channel } = await inParts(20);
  const refused = failure(parts.add(Float32Array.of(1, 2, 3, 4, Number.NaN, 6), { ids: ["a", "b", "c"] }));
  expect(await refused).toMatchObject({
    type: "ValueError",
    message: expect.stringMatching(/^vectors\[2\]\[0\] is NaN/),
  });
  expect(sent()).toEqual([]);
  await channel.close();
});

test("the error of a later part says how many rows are in, and close waits for all parts", async () => {
  const { parts, channel } = await inParts(60);
  const ids = Array.from({ length: 10 }, (_, i) => `id-${i}`);
  let rows = 0;
  handle = ({ op, args }, peer, at) => {
    if (at === 2) return peer.fail("KeyError: 'id-9' exists");
    rows += (args as { ids: string[] }).ids.length;
    peer.reply(answer({ op, args }));
  };
  const error = await failure(parts.add(new Float32Array(20), { ids }));
  expect(error).toMatchObject({ type: "KeyError" });
  expect(error.message).toBe(`'id-9' exists (the call travelled in parts: the first ${rows} of 10 rows are in)`);
  expect(sent().length).toBe(3);

  handle = undefined;
  const upsert = parts.upsert(new Float32Array(20), { ids });
  await channel.close();
  expect(await upsert).toEqual(ids);
});

test("a server that does not know an operation has to be updated", async () => {
  handle = (request, peer) => peer.fail(`ValueError: unknown op '${request.op}'`);
  for (const [op, call] of [
    ["get", () => collection.get(["a"])],
    ["search_hits", () => collection.searchHits("q")],
  ] as const) {
    const error = await failure(call());
    expect(`${error.type}: ${error.message}`).toBe(
      `RuntimeError: the server is too old for '${op}': update svc where it runs, and start it again`,
    );
  }
  handle = (_, peer) => peer.fail("ValueError: collection 'unknown op' does not exist", undefined);
  expect((await failure(collection.get(["a"]))).message).toBe("collection 'unknown op' does not exist");
});

test("a server that does not know an argument of save is asked for the generation afterwards", async () => {
  handle = ({ op, args }, peer) => {
    if (op === "save" && args !== undefined)
      peer.fail("ValueError: unknown argument 'with_generation' of op 'save': it takes none");
    else peer.reply(op === "stats" ? { generation: 7 } : null);
  };
  expect(await collection.save()).toBe(7);
  handle = undefined;
  expect(await collection.save()).toBe(1);
});

test("more than ten thousand rows are read by several requests", async () => {
  const ids = Array.from({ length: 20_001 }, (_, i) => `${i}`);
  expect((await collection.get(ids)).map(({ id }) => id)).toEqual(ids);
  const gets = server.requests
    .filter(({ op }) => op === "get")
    .map(({ args }) => (args as { ids: string[] }).ids.length);
  expect(gets.slice(-3)).toEqual([10_000, 10_000, 1]);
});

test("rows and hits in another form are an OSError", async () => {
  const results = [
    null,
    {},
    [],
    [{ id: "a" }],
    [{ found: true }],
    [7],
    { hits: [] },
    { hits: [{ id: "a" }] },
    { hits: 1 },
  ];
  for (const result of results) {
    handle = (_, peer) => peer.reply(result);
    expect(await failure(collection.get(["a", "b"]))).toMatchObject({ type: "OSError" });
    if (JSON.stringify(result) === '{"hits":[]}') continue;
    expect(await failure(collection.searchHits("q"))).toMatchObject({ type: "OSError" });
  }
});
