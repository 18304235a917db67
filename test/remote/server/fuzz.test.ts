/** Randomly damaged requests: each is answered once or ends its own connection, and the server goes on. */
import { expect, test } from "bun:test";
import { ERROR_REASONS } from "../../../src/errors.ts";
import { random } from "../../random.ts";
import { type Answer, ask, frame, Honest, type Raw, TestServer, within } from "./raw.ts";

const f32 = Buffer.from(new Float32Array([1, 0]).buffer).toString("base64");

/** A good request of each kind. Nothing waits for long, and nothing is written to disk but by save. */
const REQUESTS: Record<string, unknown>[] = [
  { op: "ping", id: 1 },
  { op: "collections", args: {} },
  {
    op: "create_collection",
    collection: "made",
    args: { dim: 2, filter_columns: ["k"], partition_by: "scope", dtype: "f32" },
  },
  { op: "create_collection", collection: "texts", args: { embedder: "bigram" } },
  { op: "open_collection", collection: "c" },
  { op: "add", collection: "c", args: { vectors: [[1, 0]], metadata: [{ k: 1 }] } },
  { op: "upsert", collection: "c", args: { vectors: { f32, shape: [1, 2] }, ids: ["a"], metadata: [null] } },
  { op: "upsert_texts", collection: "t", args: { texts: ["hello"], ids: ["x"], metadata: [{ k: "v" }] } },
  {
    op: "search",
    collection: "c",
    args: { vector: [1, 0], top_k: 3, where: { k: 1 }, explain: true, with_metadata: true },
  },
  { op: "search_text", collection: "t", args: { text: "hello", top_k: 3 } },
  {
    op: "search_hits",
    collection: "t",
    args: { text: "hello", top_k: 3, where: { k: "v" }, with_text: true, with_metadata: true, text_bytes: 2 },
  },
  { op: "get", collection: "t", args: { ids: ["x", 7], with_text: true, with_metadata: true } },
  { op: "ids", collection: "c", args: { where: { scope: "default" } } },
  { op: "delete", collection: "c", args: { ids: ["a", "b"] } },
  { op: "save", collection: "c" },
  { op: "stats", collection: "c", id: "s" },
  { op: "stats" },
];

class Chance {
  constructor(readonly next: () => number) {}
  below(n: number): number {
    return Math.floor(this.next() * n);
  }
  pick<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!;
  }
  /** Any JSON value, small. */
  value(depth = 3): unknown {
    const numbers = [
      0,
      -1,
      1,
      2,
      1.5,
      -0,
      1e39,
      1e308,
      2 ** 31,
      2 ** 32,
      2 ** 53,
      2 ** 60,
      -(2 ** 63),
      5e-324,
      100_000,
    ];
    const texts = [
      "",
      "a",
      "c",
      "t",
      "\0",
      "\ud800",
      "日本",
      "__proto__",
      "constructor",
      "../x",
      "x".repeat(600),
      f32,
      "f32",
      "=",
      "\n",
    ];
    const kind = this.below(depth > 0 ? 8 : 5);
    if (kind <= 1) return this.pick(numbers);
    if (kind <= 3) return this.pick(texts);
    if (kind === 4) return this.pick([null, true, false]);
    if (kind <= 6) return Array.from({ length: this.below(4) }, () => this.value(depth - 1));
    const names = ["scope", "k", "f32", "shape", "ids", "__proto__", "", "x"];
    return Object.fromEntries(Array.from({ length: this.below(3) }, () => [this.pick(names), this.value(depth - 1)]));
  }
}

/** Stands for a bare word until the request is written: no other value holds it. */
const MARK = "\u0001";

/** Every place of a value inside another one. */
function placesIn(value: unknown): [object, string][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[value, key] as [object, string], ...placesIn(inner)]);
}

/** A request's JSON, now and then with NaN or an infinity among its arguments, as Python's json writes them. */
function written(chance: Chance, request: Record<string, unknown>): string {
  const places = placesIn(request.args);
  if (places.length > 0 && chance.next() < 0.2) {
    for (let times = 1 + chance.below(3); times > 0; times--) {
      const [inside, key] = chance.pick(places);
      (inside as Record<string, unknown>)[key] = MARK;
    }
  }
  return JSON.stringify(request).replaceAll(JSON.stringify(MARK), () => chance.pick(["NaN", "Infinity", "-Infinity"]));
}

/** Whether a frame that is JSON otherwise holds such a word. */
function hasBareWord(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString("utf8", 4));
    return false;
  } catch {
    return true;
  }
}

/** A request with one or two of its values, or the values within its arguments, replaced, removed or added. */
function spoiledValue(chance: Chance): Buffer {
  const request = structuredClone(chance.pick(REQUESTS));
  for (let times = 1 + chance.below(2); times > 0; times--) {
    const args = request.args as Record<string, unknown> | undefined;
    const inArgs = args !== null && typeof args === "object" && chance.next() < 0.8;
    const target = inArgs ? args : request;
    const names = [...Object.keys(target), ...(chance.next() < 0.2 ? ["more", "id", "collection"] : [])].filter(
      (name) => name !== "op",
    );
    if (names.length === 0) continue;
    const name = chance.pick(names);
    if (chance.next() < 0.1) delete target[name];
    else target[name] = chance.value();
  }
  // Some are large, and take the way over the decode thread.
  if (chance.next() < 0.03) request.padding = "x".repeat(140_000);
  return frame(written(chance, request));
}

/** A request's frame with its bytes spoiled; its length may lie then. */
function spoiledBytes(chance: Chance): Buffer {
  const bytes = Buffer.from(frame(written(chance, structuredClone(chance.pick(REQUESTS)))));
  switch (chance.below(4)) {
    case 0: // some bits, of the body mostly
      for (let times = 1 + chance.below(4); times > 0; times--) {
        bytes[chance.next() < 0.1 ? chance.below(4) : 4 + chance.below(bytes.length - 4)]! ^= 1 << chance.below(8);
      }
      return bytes;
    case 1: // less, and a length that says so or not
      return chance.next() < 0.5
        ? frame(bytes.subarray(4, 4 + chance.below(bytes.length - 4)))
        : bytes.subarray(0, chance.below(bytes.length));
    case 2: // twice
      return frame(Buffer.concat([bytes.subarray(4), bytes.subarray(4)]));
    default: {
      // a part of it repeated, or moved
      const [from, to] = [4 + chance.below(bytes.length - 4), 4 + chance.below(bytes.length - 4)];
      return frame(Buffer.concat([bytes.subarray(4, to), bytes.subarray(from)]));
    }
  }
}

/** Whether a frame is complete and holds an object with a string op. */
function isRequest(bytes: Buffer): boolean {
  if (bytes.length < 5 || bytes.readUInt32BE(0) !== bytes.length - 4) return false;
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(4)));
    return typeof value === "object" && value !== null && !Array.isArray(value) && typeof value.op === "string";
  } catch {
    return false;
  }
}

const LINE = new RegExp(`^(${Object.keys(ERROR_REASONS).join("|")}): [^\\n]+$`);

function check(reply: Answer): string | undefined {
  if (reply?.ok === true) return "result" in reply ? undefined : "no result";
  if (reply?.ok !== false || !LINE.test(reply.error)) return "no typed error";
  if (/internal error|undefined is not|\bat \//.test(reply.error)) return "an error of ours";
  return undefined;
}

/** Makes the collections that the requests name. */
async function ready(server: TestServer): Promise<Raw> {
  const raw = await server.open();
  await raw.ok("create_collection", "c", { dim: 2, filter_columns: ["k"] });
  await raw.ok("create_collection", "t", { embedder: "bigram", filter_columns: ["k"] });
  return raw;
}

test("requests with random values: one reply each, a result or a typed error", async () => {
  const seed = Date.now() >>> 0;
  const chance = new Chance(random(seed));
  await using server = await TestServer.start();
  const honest = await Honest.start(server);
  const raw = await ready(server);
  for (let round = 0; round < 60; round++) {
    const frames = Array.from({ length: 30 }, () => spoiledValue(chance));
    raw.send(...frames, ask("ping", undefined, undefined, `end ${round}`));
    for (const bytes of frames) {
      const reply = await raw.next();
      const refused = reply?.error?.includes("JSON has no such number");
      const why = check(reply) ?? (hasBareWord(bytes) && !refused ? "a bare word that was not refused" : undefined);
      if (why) throw new Error(`seed ${seed}: ${why}: ${bytes.toString("utf8", 4, 2000)} got ${JSON.stringify(reply)}`);
    }
    const last = await raw.next();
    if (last?.id !== `end ${round}`)
      throw new Error(`seed ${seed}, round ${round}: a reply too many: ${JSON.stringify(last)}`);
  }
  await honest.stop();
}, 120_000);

test("requests with random bytes: a reply, or bad request and the end of that connection alone", async () => {
  const seed = (Date.now() ^ 0x5bd1e995) >>> 0;
  const chance = new Chance(random(seed));
  await using server = await TestServer.start();
  const honest = await Honest.start(server);
  await ready(server);
  let raw = await server.open();
  for (let i = 0; i < 800; i++) {
    const bytes = spoiledBytes(chance);
    const said = `seed ${seed}, number ${i}: ${JSON.stringify(bytes.toString("latin1"))}`;
    if (raw.isClosed) raw = await server.open();
    if (isRequest(bytes)) {
      raw.send(bytes);
      const reply = await raw.next();
      const why = check(reply);
      if (why) throw new Error(`${said}: ${why}: ${JSON.stringify(reply)}`);
      continue;
    }
    raw.send(bytes);
    // A frame that says it is longer waits for its rest; with the end of the stream the connection ends.
    raw.shutdown();
    await within(raw.end(), 30_000, said);
    const replies = raw.replies.splice(0);
    for (const reply of replies.slice(0, -1)) if (check(reply)) throw new Error(`${said}: ${JSON.stringify(replies)}`);
    const last = replies.at(-1);
    if (last && check(last) && last.error !== "bad request") throw new Error(`${said}: ${JSON.stringify(last)}`);
    raw.close();
  }
  await honest.stop();
  expect((await (await server.open()).ok("stats")).connections.open).toBeLessThan(5);
}, 120_000);
