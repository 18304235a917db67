/** Malformed and untrusted input. Each case has its answer, and other connections are not affected. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { FRAME_BYTES_MAX } from "../../../src/limits.ts";
import { ask, frame, Honest, large, OVER_TLS, TestServer, TOKEN, until } from "./raw.ts";

let unix: TestServer;
let tcp: TestServer;
let honest: Honest[];

beforeAll(async () => {
  unix = await TestServer.start();
  tcp = await TestServer.start({ tcp: true });
  honest = [await Honest.start(unix), await Honest.start(tcp)];
  const raw = await unix.open();
  await raw.ok("create_collection", "c", { dim: 2, filter_columns: ["kind"] });
  await raw.ok("add", "c", { vectors: [[1, 0]], ids: ["a"] });
});

afterAll(async () => {
  for (const one of honest) await one.stop();
  await unix.stop();
  await tcp.stop();
});

const BAD = { ok: false, error: "bad request" };
const AUTH_FIRST = { ok: false, error: "unauthorized: send auth first" };
const UNAUTHORIZED = { ok: false, error: "unauthorized" };
const nested = (depth: number) => `${"[".repeat(depth)}1${"]".repeat(depth)}`;
const deep = (depth: number, padding = "") => `{"op":"ping","padding":"${padding}","args":{"a":${nested(depth)}}}`;
const notUtf8 = (padding = "") =>
  Buffer.concat([Buffer.from(`{"op":"ping","padding":"${padding}","id":"`), Buffer.of(0xc3, 0x28), Buffer.from('"}')]);
const LONG = "x".repeat(200_000);

/** Frames that end a connection. */
const BAD_FRAMES: [string, Buffer][] = [
  ["a frame of length 0", Buffer.alloc(4)],
  ["a frame of 256 MiB and one byte", frame("{", FRAME_BYTES_MAX + 1)],
  ["a frame of 2^31", frame("{", 2 ** 31)],
  ["a frame of 2^32 - 1", frame("{", 2 ** 32 - 1)],
  ["broken UTF-8", frame(notUtf8())],
  ["an overlong form", frame(Buffer.concat([Buffer.from('{"op":"'), Buffer.of(0xc0, 0xaf), Buffer.from('"}')]))],
  [
    "half a surrogate in UTF-8",
    frame(Buffer.concat([Buffer.from('{"op":"'), Buffer.of(0xed, 0xa0, 0x80), Buffer.from('"}')])),
  ],
  ["UTF-8 that ends within a letter", frame(Buffer.concat([Buffer.from('{"op":"ping"}'), Buffer.of(0xe2, 0x82)]))],
  ["a byte order mark", frame(Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), Buffer.from('{"op":"ping"}')]))],
  ["JSON nested 10,000 deep", frame(deep(10_000))],
  ["JSON nested 129 deep", frame(deep(127))],
  ["arrays that are never closed", frame("[".repeat(10_000))],
  ["no JSON", frame("hello")],
  ["half an object", frame('{"op":"ping"')],
  ["two objects", frame('{"op":"ping"}{"op":"ping"}')],
  ["a NUL after the object", frame('{"op":"ping"}\0')],
  ["blanks", frame("    ")],
  ["NaN", frame('{"op":"ping","id":NaN}')],
  ["an array", frame('["ping"]')],
  ["null", frame("null")],
  ["a text", frame('"ping"')],
  ["an object without op", frame("{}")],
  ["an op that is a number", frame('{"op":1}')],
  ["an op that is null", frame('{"op":null}')],
  ["an op that comes from __proto__", frame('{"__proto__":{"op":"ping"}}')],
  ["a large frame of broken UTF-8", frame(notUtf8(LONG))],
  ["a large frame that is not JSON", frame(`{"op":"ping","padding":"${LONG}`)],
  ["a large frame nested too deep", frame(deep(10_000, LONG))],
  ["a large frame without op", frame(JSON.stringify({ padding: LONG }))],
  ["a large array", frame(JSON.stringify([LONG]))],
  ["a large frame of op 1", frame(JSON.stringify({ op: 1, padding: LONG }))],
];

test.each(BAD_FRAMES)("%s is a bad request, and the end of the connection", async (_, bytes) => {
  const raw = await unix.open();
  // What was asked before is answered before.
  raw.send(ask("ping", undefined, undefined, 1), ask("ids", "c", {}, 2), bytes, ask("ping", undefined, undefined, 3));
  expect(await raw.next()).toEqual({ ok: true, result: { pong: true }, id: 1 });
  expect(await raw.next()).toEqual({ ok: true, result: ["a"], id: 2 });
  expect(await raw.next()).toEqual(BAD);
  expect(await raw.next()).toBeUndefined();
});

test("JSON nested 128 deep is read", async () => {
  const raw = await unix.open();
  raw.send(frame(deep(126)), frame(deep(126, LONG)));
  for (const reply of await raw.many(2)) expect(reply.error).toMatch(/^ValueError: .*'a'/);
});

const BEHIND: [string, Buffer][] = [
  ["a small bad frame", frame("hello")],
  ["a large bad frame", frame(`{"op":"ping","padding":"${LONG}`)],
  ["a large frame of broken UTF-8", frame(notUtf8(LONG))],
];

test.each(BEHIND)("nothing that was sent behind %s is carried out", async (name, bytes) => {
  const raw = await unix.open();
  const id = `after ${name}`;
  raw.send(
    bytes,
    ask("add", "c", { vectors: [[1, 1]], ids: [id] }),
    ask("delete", "c", { ids: ["a"] }),
    large({ op: "add", collection: "c", args: { vectors: [[1, 1]], ids: [`${id}, large`] } }),
    ask("create_collection", id, { dim: 2 }),
  );
  expect(await raw.next()).toEqual(BAD);
  expect(await raw.next()).toBeUndefined();
  // A change of another connection comes after theirs, if there were any.
  const other = await unix.open();
  await other.ok("upsert", "c", { vectors: [[0, 1]], ids: ["last"] });
  await other.ok("delete", "c", { ids: ["last"] });
  await Bun.sleep(50);
  const ids = await other.ok("ids", "c");
  const opened = await other.ask("open_collection", id);
  await other.ask("delete", "c", { ids: ids.filter((one: string) => one !== "a") });
  await other.ok("upsert", "c", { vectors: [[1, 0]], ids: ["a"] });
  expect(ids).toEqual(["a"]);
  expect(opened.error).toContain("does not exist");
});

test.each([...BEHIND, ["a frame of length 0", Buffer.alloc(4)] as [string, Buffer]])(
  "what was asked before %s is carried out and answered, however long it takes",
  async (name, bytes) => {
    const raw = await unix.open();
    const collection = `before ${name}`;
    raw.send(
      ask("create_collection", collection, { dim: 2 }, 1),
      ask("add", collection, { vectors: [[1, 0]], ids: ["small"] }, 2),
      large({ op: "add", collection, args: { vectors: [[1, 0]], ids: ["large"] }, id: 3 }),
      ask("add", collection, { vectors: [[1, 0]], ids: ["last"] }, 4),
      ask("ids", collection, {}, 5),
      bytes,
      ask("delete", collection, { ids: ["small"] }, 6),
    );
    const replies = await raw.many(6);
    expect(replies.map(({ id, ok }) => [id, ok])).toEqual([
      ...[1, 2, 3, 4, 5].map((id) => [id, true]),
      [undefined, false],
    ]);
    expect(replies[4].result).toEqual(["small", "large", "last"]);
    expect(replies[5]).toEqual(BAD);
    expect(await raw.next()).toBeUndefined();
    expect(await (await unix.open()).ok("ids", collection)).toEqual(["small", "large", "last"]);
  },
);

test.each([1, 2, 3, 4, 5, 30])(
  "%i bytes of a frame and then the end close the connection without an answer",
  async (count) => {
    const raw = await unix.open();
    raw.send(ask("ping"), ask("stats", "c").subarray(0, count));
    raw.shutdown();
    expect(await raw.next()).toEqual({ ok: true, result: { pong: true } });
    expect(await raw.next()).toBeUndefined();
  },
);

test("a client that ends its half reads every answer", async () => {
  const raw = await unix.open();
  const requests = Array.from({ length: 300 }, (_, i) => ask(i % 7 ? "ping" : "ids", "c", {}, i));
  raw.send(...requests, large({ op: "search", collection: "c", args: { vector: [1, 0] }, id: "last" }));
  await Bun.sleep(5);
  raw.shutdown();
  const replies = await raw.many(301);
  expect(replies.map(({ id }) => id)).toEqual([...Array.from({ length: 300 }, (_, i) => i), "last"]);
  expect(await raw.next()).toBeUndefined();
});

// ---- requests that are refused, and leave the connection as it was --------------------------------------------------

const nan = Buffer.from(new Float32Array([1, Number.NaN]).buffer).toString("base64");
const infinite = Buffer.from(new Float32Array([1, Number.POSITIVE_INFINITY]).buffer).toString("base64");
const one = (vector: unknown, more: object = {}) => ({ vectors: [vector], ids: ["new"], ...more });

const REFUSED: [string, object, RegExp][] = [
  ["an unknown op", { op: "build_ivf", collection: "c" }, /^ValueError: unknown op 'build_ivf'$/],
  ["snapshot", { op: "snapshot", collection: "c" }, /^ValueError: unknown op 'snapshot'$/],
  ["an empty op", { op: "" }, /^ValueError: unknown op ''$/],
  ["op __proto__", { op: "__proto__" }, /^ValueError: unknown op '__proto__'$/],
  ["op constructor", { op: "constructor" }, /^ValueError: unknown op 'constructor'$/],
  ["op toString", { op: "toString" }, /^ValueError: unknown op 'toString'$/],
  ["an op in capitals", { op: "PING" }, /^ValueError: unknown op 'PING'$/],
  ["an op of 10,000 letters", { op: "x".repeat(10_000) }, /^ValueError: unknown op 'x{77}\.\.\.'$/],
  ["an op of half a surrogate", { op: "\ud800" }, /^ValueError: unknown op/],
  ["an unknown collection", { op: "ids", collection: "nobody" }, /^ValueError: .*'nobody' does not exist/],
  ["collection __proto__", { op: "ids", collection: "__proto__" }, /^ValueError: .*__proto__/],
  ["a collection with a separator", { op: "ids", collection: "../c" }, /^ValueError: /],
  ["an empty collection", { op: "ids", collection: "" }, /^ValueError: /],
  ["a collection with a NUL", { op: "ids", collection: "c\0" }, /^ValueError: /],
  ["no collection", { op: "ids" }, /^TypeError: op 'ids' needs 'collection'/],
  ["a collection that is null", { op: "ids", collection: null }, /^TypeError: .*'collection'/],
  ["a collection that is a number", { op: "ids", collection: 1 }, /^TypeError: collection must be a string, got 1$/],
  ["args missing", { op: "search", collection: "c" }, /^TypeError: .*'vector'/],
  ["args null", { op: "add", collection: "c", args: null }, /^TypeError: .*'vectors'/],
  ["args an array", { op: "search", collection: "c", args: [] }, /^TypeError: /],
  ["args a text", { op: "search", collection: "c", args: "vector" }, /^TypeError: /],
  ["an unknown argument", { op: "search", collection: "c", args: { vector: [1, 0], k: 1 } }, /^ValueError: .*'k'/],
  ["a wrong dimension", { op: "search", collection: "c", args: { vector: [1, 0, 0] } }, /^ValueError: .*3.*2/],
  ["no dimension", { op: "search", collection: "c", args: { vector: [] } }, /^ValueError: /],
  ["a wrong dimension of a row", { op: "add", collection: "c", args: one([1]) }, /^ValueError: .*vectors\[0\].*1.*2/],
  ["NaN in base64", { op: "add", collection: "c", args: one({ f32: nan }) }, /^ValueError: .*(NaN|finite)/],
  [
    "infinity in base64",
    { op: "add", collection: "c", args: one({ f32: infinite }) },
    /^ValueError: .*(nfinit|finite)/,
  ],
  [
    "NaN in a question",
    { op: "search", collection: "c", args: { vector: { f32: nan } } },
    /^ValueError: .*(NaN|finite)/,
  ],
  [
    "1e39 in a question",
    { op: "search", collection: "c", args: { vector: [1e39, 0] } },
    /^ValueError: vector\[0\] is NaN or infinite/,
  ],
  ["a text for a vector", { op: "search", collection: "c", args: { vector: "1,0" } }, /^TypeError: .*vector/],
  ["an id that is live", { op: "add", collection: "c", args: { vectors: [[1, 1]], ids: ["a"] } }, /^KeyError: .*'a'/],
  [
    "an id twice",
    {
      op: "add",
      collection: "c",
      args: {
        vectors: [
          [1, 1],
          [1, 1],
        ],
        ids: ["n", "n"],
      },
    },
    /^KeyError: .*'n'/,
  ],
  ["an empty id", { op: "add", collection: "c", args: { vectors: [[1, 1]], ids: [""] } }, /^ValueError: /],
  ["an id with a NUL", { op: "add", collection: "c", args: { vectors: [[1, 1]], ids: ["\0"] } }, /^ValueError: /],
  [
    "an id of 513 bytes",
    { op: "add", collection: "c", args: { vectors: [[1, 1]], ids: ["i".repeat(513)] } },
    /^ValueError: .*51[23]/,
  ],
  ["more ids than rows", { op: "add", collection: "c", args: { vectors: [[1, 1]], ids: ["p", "q"] } }, /^ValueError: /],
  ["fewer metadata than rows", { op: "add", collection: "c", args: one([1, 1], { metadata: [] }) }, /^ValueError: /],
  [
    "metadata that is a list",
    { op: "add", collection: "c", args: one([1, 1], { metadata: [[1]] }) },
    /^TypeError: .*metadata/,
  ],
  ["two keys in where", { op: "ids", collection: "c", args: { where: { scope: 1, kind: 1 } } }, /^ValueError: /],
  [
    "a shape of two rows in a question",
    { op: "search", collection: "c", args: { vector: { f32: Buffer.alloc(8).toString("base64"), shape: [2, 1] } } },
    /^ValueError: vector .*\[2, 1\].*\[1, 2\]/,
  ],
  [
    "two rows in a question",
    {
      op: "search",
      collection: "c",
      args: {
        vector: [
          [1, 0],
          [0, 1],
        ],
      },
    },
    /^TypeError: vector\[0\]/,
  ],
  [
    "a row in a row in a question",
    { op: "search", collection: "c", args: { vector: [[[1, 0]]] } },
    /^TypeError: vector/,
  ],
  [
    "an id that is 1.5",
    { op: "delete", collection: "c", args: { ids: [1.5] } },
    /^TypeError: .*ids\[0\].*integer.*1\.5/,
  ],
  ["an id that is true", { op: "add", collection: "c", args: { vectors: [[1, 1]], ids: [true] } }, /^TypeError: .*ids/],
  ["an id that is null", { op: "upsert", collection: "c", args: { vectors: [[1, 1]], ids: [null] } }, /^TypeError: /],
  ["an id that is a list", { op: "delete", collection: "c", args: { ids: [[7]] } }, /^TypeError: .*ids\[0\]/],
  [
    "an id beyond 2^53",
    { op: "add", collection: "c", args: { vectors: [[1, 1]], ids: [2 ** 53] } },
    /^ValueError: .*ids\[0\].*send it as a string/,
  ],
  [
    "an integer and its string in one add",
    {
      op: "add",
      collection: "c",
      args: {
        vectors: Array(2).fill([1, 1]),
        ids: [7, "7"],
      },
    },
    /^KeyError: .*'7'/,
  ],
  [
    "a partition key of two columns",
    { op: "create_collection", collection: "new", args: { dim: 2, partition_by: ["a", "b"] } },
    /^ValueError: partition_by is a list of 2/,
  ],
  [
    "a partition key of no column",
    { op: "create_collection", collection: "new", args: { dim: 2, partition_by: [] } },
    /^ValueError: partition_by is a list of 0/,
  ],
  [
    "no dimension and no embedder",
    { op: "create_collection", collection: "new", args: { dim: null } },
    /^ValueError: .*dim/,
  ],
  ["an undeclared column", { op: "ids", collection: "c", args: { where: { color: 1 } } }, /^ValueError: .*'color'/],
  ["a list in where", { op: "ids", collection: "c", args: { where: { scope: [1] } } }, /^ValueError: /],
  ["an object in where", { op: "ids", collection: "c", args: { where: { scope: {} } } }, /^ValueError: /],
  ["a where that is a list", { op: "ids", collection: "c", args: { where: [] } }, /^TypeError: where must/],
  [
    "an integer beyond 2^53 in where",
    { op: "ids", collection: "c", args: { where: { scope: 2 ** 60 } } },
    /^ValueError: /,
  ],
];

test.each(REFUSED)("%s, in a small frame and in a large one", async (_, request, error) => {
  const raw = await unix.open();
  raw.send(ask("ping", undefined, undefined, 1), frame(JSON.stringify({ ...request, id: "it" })));
  raw.send(ask("ping", undefined, undefined, 2), large({ ...request, id: "large" }), ask("ids", "c", {}, 3));
  const replies = await raw.many(5);
  expect(replies.map(({ id }) => id)).toEqual([1, "it", 2, "large", 3]);
  for (const reply of [replies[1], replies[3]]) {
    const { code, ...line } = reply;
    expect(line).toEqual({ ok: false, error: expect.stringMatching(error), id: reply.id });
    const reason = /does not exist/.test(line.error) ? "no_collection" : /the limit is/.test(line.error) && "limit";
    expect(code).toBe(reason ? `ValueError.${reason}` : undefined);
    expect(reply.error).not.toContain("\n");
    expect(reply.error).not.toContain("internal");
  }
  expect(replies[4].result).toEqual(["a"]);
});

/** JSON that an object literal cannot say. */
const PROTO: [string, string, RegExp][] = [
  [
    "an argument __proto__",
    '{"op":"search","collection":"c","args":{"vector":[1,0],"__proto__":{"top_k":1}}}',
    /^ValueError: .*'__proto__'/,
  ],
  [
    "arguments that hang on __proto__",
    '{"op":"search","collection":"c","args":{"__proto__":{"vector":[1,0]}}}',
    /^(TypeError|ValueError): /,
  ],
  [
    "where by __proto__",
    '{"op":"ids","collection":"c","args":{"where":{"__proto__":"default"}}}',
    /^ValueError: .*__proto__/,
  ],
  [
    "where that hangs on __proto__",
    '{"op":"ids","collection":"c","args":{"where":{"__proto__":{"scope":"default"}}}}',
    /^ValueError: /,
  ],
];

test.each(PROTO)("%s is refused", async (_, json, error) => {
  const raw = await unix.open();
  raw.send(frame(json), frame(`${json.slice(0, -1)},"padding":"${LONG}"}`));
  for (const reply of await raw.many(2)) expect(reply.error).toMatch(error);
});

test("__proto__ in metadata is kept as it came, or refused, and changes nothing else", async () => {
  const raw = await unix.open();
  await raw.ok("create_collection", "proto", { dim: 2 });
  for (const padding of ["", `,"padding":"${LONG}"`]) {
    const metadata = '{"__proto__":{"scope":"evil"},"constructor":1,"x":2}';
    raw.send(
      frame(
        `{"op":"upsert","collection":"proto","args":{"vectors":[[1,0]],"ids":["a"],"metadata":[${metadata}]}${padding}}`,
      ),
    );
    expect(await raw.next()).toEqual({ ok: true, result: ["a"] });
    // Its partition is the default one: a property of __proto__ is not a value of scope.
    expect(await raw.ok("ids", "proto", { where: { scope: "evil" } })).toEqual([]);
    expect(await raw.ok("ids", "proto", { where: { scope: "default" } })).toEqual(["a"]);
    const found = await raw.ok("search", "proto", { vector: [1, 0], with_metadata: true });
    expect(Object.getOwnPropertyDescriptor(found.metadata[0], "__proto__")?.value).toEqual({ scope: "evil" });
    expect(found.metadata[0]).toMatchObject({ constructor: 1, x: 2 });
  }
  expect(({} as Record<string, unknown>).scope).toBeUndefined();
});

test("many short rows of a large dimension are a ValueError in no time", async () => {
  const raw = await unix.open();
  await raw.ok("create_collection", "wide", { dim: 65_536 });
  for (const rows of [30_000, 90_000]) {
    const reply = await raw.ask("add", "wide", { vectors: new Array(rows).fill([]) });
    expect(reply.error).toMatch(/^ValueError: vectors\[0\] has 0 numbers/);
  }
});

// ---- authentication -----------------------------------------------------------------------------------------------

const token = (value: unknown) => ask("auth", undefined, { token: value });

const UNAUTHENTICATED: [string, Buffer, object][] = [
  ["a wrong token", token("wrong-55d0"), UNAUTHORIZED],
  ["an empty token", token(""), UNAUTHORIZED],
  ["a token with a NUL", token(`${TOKEN}\0`), UNAUTHORIZED],
  ["the token and a blank", token(`${TOKEN} `), UNAUTHORIZED],
  ["the beginning of the token", token(TOKEN.slice(0, -1)), UNAUTHORIZED],
  ["the token in capitals", token(TOKEN.toUpperCase()), UNAUTHORIZED],
  ["a token that is a number", token(1), UNAUTHORIZED],
  ["a token that is null", token(null), UNAUTHORIZED],
  ["a token that is a list", token([TOKEN]), UNAUTHORIZED],
  ["a token that hangs on __proto__", frame('{"op":"auth","args":{"__proto__":{"token":"wrong-55d0"}}}'), UNAUTHORIZED],
  ["a token beside args", frame(JSON.stringify({ op: "auth", token: TOKEN })), UNAUTHORIZED],
  ["auth without args", ask("auth"), UNAUTHORIZED],
  ["auth with args null", frame('{"op":"auth","args":null}'), UNAUTHORIZED],
  ["auth with a list", frame(JSON.stringify({ op: "auth", args: [TOKEN] })), UNAUTHORIZED],
  ["auth with a text", frame(JSON.stringify({ op: "auth", args: TOKEN })), UNAUTHORIZED],
  ["ping before auth", ask("ping", undefined, undefined, 7), AUTH_FIRST],
  ["an unknown op before auth", ask("nonsense"), AUTH_FIRST],
  ["a search before auth", ask("search", "honest", { vector: [1, 0] }), AUTH_FIRST],
  ["no JSON before auth", frame("hello"), BAD],
  ["a frame of length 0 before auth", Buffer.alloc(4), BAD],
  ["a frame of 4,097 bytes before auth", frame("{", 4097), BAD],
  ["a frame of 256 MiB before auth", frame("{", FRAME_BYTES_MAX), BAD],
  ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), BAD],
  ["TLS", Buffer.from("160301020001", "hex"), BAD],
];

test.each(UNAUTHENTICATED)("%s ends a TCP connection", async (_, bytes, answer) => {
  const raw = await tcp.bare();
  raw.send(bytes, token(TOKEN), ask("ping"));
  expect(await raw.next()).toEqual(answer);
  expect(await raw.next()).toBeUndefined();
});

test("auth and requests in one packet, an id echoed, frames of every size after it", async () => {
  const raw = await tcp.bare();
  raw.send(
    ask("auth", undefined, { token: TOKEN }, "a"),
    ask("ping", undefined, undefined, "b"),
    large({ op: "ping", id: "c" }, 20_000),
    large({ op: "ping", id: "d" }),
    ask("ping", undefined, undefined, "e"),
  );
  expect(await raw.next()).toEqual({ ok: true, result: { authenticated: true }, id: "a" });
  for (const id of ["b", "c", "d", "e"]) expect(await raw.next()).toEqual({ ok: true, result: { pong: true }, id });
});

test("an auth of exactly 4 KiB is read, byte by byte too", async () => {
  for (const step of [5000, 100]) {
    const raw = await tcp.bare();
    const short = JSON.stringify({ op: "auth", args: { token: TOKEN }, pad: "" });
    const json = JSON.stringify({ op: "auth", args: { token: TOKEN }, pad: "x".repeat(4096 - short.length) });
    const bytes = frame(json);
    for (let at = 0; at < bytes.length; at += step) {
      raw.send(bytes.subarray(at, at + step));
      await Bun.sleep(1);
    }
    expect(await raw.next()).toEqual({ ok: true, result: { authenticated: true } });
  }
});

test("auth a second time: the right token is fine, a wrong one ends the connection", async () => {
  const raw = await tcp.open();
  raw.send(token(TOKEN), ask("ping"), token("wrong-55d0"), ask("ping"));
  expect(await raw.next()).toEqual({ ok: true, result: { authenticated: true } });
  expect(await raw.next()).toEqual({ ok: true, result: { pong: true } });
  expect(await raw.next()).toEqual(UNAUTHORIZED);
  expect(await raw.next()).toBeUndefined();
});

test("changes before a second auth with a wrong token are carried out, those after it are not", async () => {
  const raw = await tcp.open();
  const name = "before auth";
  raw.send(
    ask("create_collection", name, { dim: 2 }),
    ask("add", name, { vectors: [[1, 0]], ids: ["a"] }),
    token("wrong-55d0"),
    ask("add", name, { vectors: [[1, 0]], ids: ["b"] }),
  );
  expect((await raw.many(3)).map((reply) => reply.error ?? reply.ok)).toEqual([true, true, "unauthorized"]);
  expect(await raw.next()).toBeUndefined();
  expect(await (await tcp.open()).ok("ids", name)).toEqual(["a"]);
});

test.skipIf(OVER_TLS)("on a Unix socket any auth succeeds", async () => {
  const raw = await unix.open();
  raw.send(token("whatever"), token(""), ask("ping"));
  const replies = await raw.many(3);
  expect(replies.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(replies[0].result).toEqual({ authenticated: true });
});

test("no log line holds a token", () => {
  expect(tcp.logged("unauthorized").length).toBeGreaterThan(0);
  expect(JSON.stringify(tcp.events)).not.toMatch(new RegExp(`${TOKEN}|55d0`, "i"));
});

test.skipIf(OVER_TLS)(
  "a connection that is refused is closed though its client never closes",
  async () => {
    const path = unix.address.slice("unix://".length);
    let isOver = false;
    // With allowHalfOpen the client's half stays open until it says so, and it never does.
    const socket = await Bun.connect({
      unix: path,
      allowHalfOpen: true,
      socket: {
        data() {},
        close() {
          isOver = true;
        },
        error() {
          isOver = true;
        },
      },
    });
    socket.write(frame("hello"));
    await until("the end of the connection", () => isOver, 10_000);
  },
  120_000,
);

test("a frame that is large and comes alone is answered", async () => {
  // 128 KiB to some 200 KiB come in one piece, and go to the decode thread.
  for (const bytes of [100_000, 131_072 - 80, 131_072, 140_000, 160_000, 200_000, 230_000, 400_000, 1_000_000]) {
    const raw = await unix.open();
    raw.send(large({ op: "ping", id: bytes }, bytes));
    expect(await raw.next()).toEqual({ ok: true, result: { pong: true }, id: bytes });
    raw.send(
      large({ op: "search", collection: "c", args: { vector: [1, 0] } }, bytes),
      ask("ping", undefined, undefined, "behind"),
    );
    expect((await raw.next()).result.ids).toEqual(["a"]);
    expect((await raw.next()).id).toBe("behind");
  }
});
