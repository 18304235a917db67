/** Every operation of PROTOCOL.md with every argument, as bytes on a socket. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type Answer, ask, frame, large, type Raw, TestServer } from "./raw.ts";

let server: TestServer;
let raw: Raw;
let made = 0;
/** A collection of this test's own, with rows a, b, c along the axes. */
let c: string;

beforeAll(async () => {
  server = await TestServer.start();
  raw = await server.open();
});
afterAll(() => server.stop());
beforeEach(async () => {
  c = `c${++made}`;
  await raw.ok("create_collection", c, { dim: 3, filter_columns: ["kind"] });
  await raw.ok("add", c, {
    vectors: [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
    ids: ["a", "b", "c"],
    metadata: [{ scope: "x", kind: 1 }, { kind: "1" }, null],
  });
});

const base64 = (...numbers: number[]) => Buffer.from(new Float32Array(numbers).buffer).toString("base64");
const error = async (op: string, collection?: unknown, args?: unknown) =>
  ((await raw.ask(op, collection, args)) as Answer).error as string;

// ---- the envelope -------------------------------------------------------------------------------------------------

const IDS: [string, string, unknown][] = [
  ["a text", '"x"', "x"],
  ["an empty text", '""', ""],
  ["a text of many letters", '"\\u0000日本\\ud800"', "\0日本\ud800"],
  ["zero", "0", 0],
  ["a negative integer", "-7", -7],
  ["an integer with a fraction of zero", "2.0", 2],
  ["2^53 - 1", "9007199254740991", 2 ** 53 - 1],
];

test.each(IDS)("an id that is %s comes back, in success and in failure", async (_, json, id) => {
  raw.send(frame(`{"op":"ping","id":${json}}`), frame(`{"id":${json},"op":"nonsense"}`));
  expect(await raw.next()).toEqual({ ok: true, result: { pong: true }, id });
  expect(await raw.next()).toEqual({ ok: false, error: "ValueError: unknown op 'nonsense'", id });
});

test("a request without an id gets a reply without one", async () => {
  raw.send(frame('{"op":"ping"}'), frame('{"op":"nonsense"}'));
  expect(Object.keys(await raw.next())).toEqual(["ok", "result"]);
  expect(Object.keys(await raw.next())).toEqual(["ok", "error"]);
});

test("an id that is null is answered", async () => {
  raw.send(frame('{"op":"ping","id":null}'));
  expect(await raw.next()).toMatchObject({ ok: true, result: { pong: true } });
});

test.each(["{}", "[1]", "true", "1.5", "1152921504606846976", "9007199254740992", "-9007199254740992", "1e400"])(
  "an id %s is refused and nothing is done",
  async (id) => {
    raw.send(frame(`{"op":"delete","collection":"${c}","args":{"ids":["a"]},"id":${id}}`));
    const reply = await raw.next();
    expect(reply.ok).toBe(false);
    expect(reply.error).toMatch(/^(ValueError|TypeError): .*id/);
    expect(reply.id).toBeUndefined();
    expect(await raw.ok("ids", c)).toEqual(["a", "b", "c"]);
  },
);

test("unknown fields of a request are ignored, and the last of two that are the same counts", async () => {
  raw.send(frame(`{"op":"nonsense","op":"ping","args":{"no":1},"args":null,"extra":[1],"collection":7}`));
  expect(await raw.next()).toEqual({ ok: true, result: { pong: true } });
});

const NO_ARGUMENTS = ["ping", "collections", "open_collection", "compact", "save", "stats"];

test.each(NO_ARGUMENTS)("%s takes no argument, in each way of giving none", async (op) => {
  for (const args of ["", ',"args":{}', ',"args":null']) {
    raw.send(frame(`{"op":"${op}","collection":"${c}"${args}}`));
    expect((await raw.next()).ok).toBe(true);
  }
  expect(await error(op, c, { x: 1 })).toMatch(/^ValueError: .*'x'/);
  for (const args of [1, "x", [], true]) expect(await error(op, c, args)).toMatch(/^TypeError: /);
});

const WRONG_TYPES: Record<string, [string, unknown[]][]> = {
  create_collection: [
    ["dim", ["3", 1.5, true, [], {}]],
    ["partition_by", [1, true, [1], {}]],
    ["filter_columns", ["kind", 1, {}, [1], [null]]],
    ["dtype", [1, [], {}]],
    ["metric", [1, [], {}]],
    ["embedder", [1, [], {}]],
  ],
  add: [
    ["vectors", [1, "x", true, {}, [1], ["x"], [[true, 0, 0]]]],
    ["ids", ["a", 1, {}, [1.5], [true], [null]]],
    ["metadata", ["a", 1, {}, [1], ["x"], [[]]]],
  ],
  add_texts: [
    ["texts", ["a", 1, {}, [1], [null]]],
    ["ids", ["a", 1, {}, [1.5], [true], [null]]],
    ["metadata", ["a", 1, {}, [1]]],
  ],
  search: [
    ["vector", [1, "x", true, {}, [true, 0, 0], ["1", 0, 0]]],
    ["top_k", ["1", 1.5, true, [], {}]],
    ["where", ["x", 1, [], true]],
    ["explain", [1, "true", []]],
    ["with_metadata", [1, "true", []]],
  ],
  search_text: [
    ["text", [1, true, [], {}]],
    ["top_k", ["1", 1.5]],
    ["where", ["x", []]],
    ["explain", [1]],
    ["with_metadata", ["yes"]],
  ],
  search_hits: [
    ["text", [1, true, [], {}]],
    ["top_k", ["1", 1.5]],
    ["where", ["x", []]],
    ["with_text", [1, "yes"]],
    ["with_metadata", ["yes"]],
    ["text_bytes", ["1", 1.5, true, [], {}]],
  ],
  get: [
    ["ids", ["a", 1, {}, [1.5], [true], [null]]],
    ["with_text", [1, "true", []]],
    ["with_metadata", [0, "true", []]],
  ],
  ids: [["where", ["x", 1, [], false]]],
  delete: [["ids", ["a", 1, {}, [1.5], [true], [null]]]],
};
WRONG_TYPES.upsert = WRONG_TYPES.add!;
WRONG_TYPES.upsert_texts = WRONG_TYPES.add_texts!;

const GOOD: Record<string, object> = {
  create_collection: { dim: 3 },
  add: { vectors: [[1, 0, 0]] },
  upsert: { vectors: [[1, 0, 0]] },
  add_texts: { texts: ["x"] },
  upsert_texts: { texts: ["x"] },
  search: { vector: [1, 0, 0] },
  search_text: { text: "x" },
  search_hits: { text: "x" },
  get: { ids: ["a"] },
  ids: {},
  delete: { ids: [] },
};

test.each(Object.keys(WRONG_TYPES))("%s refuses arguments of wrong types by name, and unknown ones", async (op) => {
  for (const [name, values] of WRONG_TYPES[op]!) {
    for (const value of values) {
      const line = await error(op, c, { ...GOOD[op], [name]: value });
      expect(`${JSON.stringify(value)}: ${line}`).toMatch(new RegExp(`: TypeError: .*${name}`));
    }
  }
  expect(await error(op, c, { ...GOOD[op], strange: 1 })).toMatch(/^ValueError: .*'strange'/);
  expect(await error(op, c, { ...GOOD[op], target_recall: 1 })).toMatch(/^ValueError: .*target_recall/);
  expect(await raw.ok("ids", c)).toEqual(["a", "b", "c"]);
});

test.each(["add", "upsert", "add_texts", "upsert_texts", "search", "search_text", "search_hits", "get", "delete"])(
  "%s says what is missing",
  async (op) => {
    const [name] = Object.keys(GOOD[op]!) as [string];
    expect(await error(op, c)).toMatch(new RegExp(`^TypeError: .*${name}`));
    expect(await error(op, c, { [name]: null })).toMatch(new RegExp(`^TypeError: .*${name}`));
  },
);

const OF_COLLECTIONS = ["open_collection", "compact", "save", "create_collection", "get", "search_hits"];

test.each([...OF_COLLECTIONS, "ids", "search", "add", "delete", "add_texts"])(
  "%s needs the name of a collection",
  async (op) => {
    const args = GOOD[op];
    if (op !== "create_collection")
      expect(await error(op, "nobody", args)).toMatch(/^ValueError: .*'nobody' does not exist/);
    for (const name of [undefined, null, 1, [], {}, true]) {
      expect(await error(op, name, args)).toMatch(/^TypeError: .*collection/);
    }
  },
);

// ---- collections --------------------------------------------------------------------------------------------------

test("collections lists what is saved, sorted", async () => {
  await using other = await TestServer.start();
  const client = await other.open();
  expect(await client.ok("collections")).toEqual([]);
  for (const name of ["b", "a", "c"]) await client.ok("create_collection", name, { dim: 1 });
  expect(await client.ok("collections")).toEqual([]);
  for (const name of ["b", "a"]) await client.ok("save", name);
  expect(await client.ok("collections")).toEqual(["a", "b"]);
});

test("create_collection has its defaults, and null counts as left out", async () => {
  const nulls = { partition_by: null, filter_columns: null, dtype: null, metric: null, embedder: null };
  for (const args of [
    { dim: 2 },
    { dim: 2, ...nulls },
    { dim: 2, partition_by: "scope", filter_columns: [], dtype: "f32" },
  ]) {
    expect(await raw.ok("create_collection", `d${made}`, args)).toEqual({ created: `d${made}` });
  }
  expect(await raw.ok("stats", `d${made}`)).toMatchObject({
    name: `d${made}`,
    dim: 2,
    dtype: "f32",
    metric: "inner_product",
    key_name: "scope",
    filter_columns: ["scope"],
    embedder_profile: null,
    generation: 0,
    external_ids: 0,
    unsaved_changes: true,
  });
});

const CREATIONS: [string, string, object | undefined, RegExp][] = [
  ["no dim", "n", {}, /^ValueError: .*dim/],
  ["dim 0", "n", { dim: 0 }, /^ValueError: .*0/],
  ["dim -1", "n", { dim: -1 }, /^ValueError: .*-1/],
  ["dim 65,537", "n", { dim: 65_537 }, /^ValueError: .*65,?537/],
  ["dtype f64", "n", { dim: 1, dtype: "f64" }, /^ValueError: .*f64/],
  [
    "metric dot",
    "n",
    { dim: 1, metric: "dot" },
    /^ValueError: metric must be one of inner_product, cosine, l2, got 'dot'$/,
  ],
  ["an unknown embedder", "n", { embedder: "nobody" }, /^ValueError: .*'nobody'/],
  ["an empty column", "n", { dim: 1, filter_columns: [""] }, /^ValueError: /],
  ["a column of 129 bytes", "n", { dim: 1, filter_columns: ["x".repeat(129)] }, /^ValueError: /],
  ["a column with a control character", "n", { dim: 1, filter_columns: ["a\nb"] }, /^ValueError: /],
  ["33 columns", "n", { dim: 1, filter_columns: Array.from({ length: 32 }, (_, i) => `f${i}`) }, /^ValueError: .*32/],
  ["an empty name", "", { dim: 1 }, /^ValueError: /],
  ["a name with a separator", "a/b", { dim: 1 }, /^ValueError: /],
  ["a name with a leading dot", ".a", { dim: 1 }, /^ValueError: /],
  ["the name of the folder above", "..", { dim: 1 }, /^ValueError: /],
  ["a name with a control character", "a\u0007", { dim: 1 }, /^ValueError: /],
  ["a name of 129 bytes", "x".repeat(129), { dim: 1 }, /^ValueError: /],
  ["a name that is not NFC", "e\u0301", { dim: 1 }, /^ValueError: /],
];

test.each(CREATIONS)("create_collection with %s is refused", async (_, name, args, message) => {
  expect(await error("create_collection", name, args)).toMatch(message);
});

test("create_collection with the limits themselves", async () => {
  const filter_columns = Array.from({ length: 31 }, (_, i) => `f${i}`.padEnd(128, "x"));
  expect(await raw.ok("create_collection", `é${"x".repeat(125)}`, { dim: 65_536, filter_columns })).toBeTruthy();
});

test("creating again is the same answer where everything agrees, and says what differs", async () => {
  const agree = { dim: 3, filter_columns: ["kind"] };
  expect(await raw.ok("create_collection", c, agree)).toEqual({ created: c });
  for (const [args, what] of [
    [{ ...agree, dim: 4 }, /dim/],
    [{ ...agree, partition_by: "kind" }, /partition|kind/],
    [{ dim: 3 }, /filter/],
    [{ ...agree, filter_columns: ["kind", "more"] }, /filter|more/],
    [{ filter_columns: ["kind"], embedder: "bigram" }, /dim|embedder/],
  ] as const) {
    const line = await error("create_collection", c, args);
    expect(line).toMatch(/^ValueError: /);
    expect(line).toMatch(what);
  }
  expect(await error("create_collection", c.toUpperCase(), agree)).toMatch(/^ValueError: .*case/);
  expect(await raw.ok("ids", c)).toEqual(["a", "b", "c"]);
});

test("open_collection", async () => {
  expect(await raw.ok("open_collection", c)).toEqual({ opened: c });
});

// ---- rows ---------------------------------------------------------------------------------------------------------

const FORMS: [string, unknown][] = [
  [
    "lists",
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
  ],
  ["base64 rows", [{ f32: base64(1, 2, 3) }, { f32: base64(4, 5, 6) }]],
  ["one matrix", { f32: base64(1, 2, 3, 4, 5, 6), shape: [2, 3] }],
  ["one matrix without its shape", { f32: base64(1, 2, 3, 4, 5, 6) }],
];

test.each(FORMS)("add and upsert take vectors as %s, in small frames and in large ones", async (_, vectors) => {
  expect(await raw.ok("add", c, { vectors, ids: ["x", "y"] })).toEqual(["x", "y"]);
  raw.send(large({ op: "upsert", collection: c, args: { vectors, ids: ["y", "z"] } }), ask("ping"));
  expect((await raw.next()).result).toEqual(["y", "z"]);
  expect((await raw.next()).ok).toBe(true);
  expect(await raw.ok("ids", c)).toEqual(["a", "b", "c", "x", "y", "z"]);
  const found = await raw.ok("search", c, { vector: { f32: base64(0, 0, 1) }, top_k: 3 });
  expect(found).toEqual({ ids: ["z", "x", "y"], scores: [6, 3, 3] });
});

test.each(["add", "upsert"])("%s without ids makes a UUIDv7 each, with nulls for arguments too", async (op) => {
  const ids: string[] = await raw.ok(op, c, {
    vectors: [
      [1, 0, 0],
      [1, 0, 0],
    ],
    ids: null,
    metadata: null,
  });
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(await raw.ok("ids", c)).toEqual(["a", "b", "c", ...ids]);
  expect(await raw.ok(op, c, { vectors: [] })).toEqual([]);
  expect(await raw.ok(op, c, { vectors: { f32: "" }, ids: [] })).toEqual([]);
});

test("add is all or nothing; upsert replaces, and of an id that stands twice the last row wins", async () => {
  const vectors = [
    [1, 1, 0],
    [0, 1, 1],
  ];
  expect(await error("add", c, { vectors, ids: ["n", "a"] })).toMatch(/^KeyError: .*'a'/);
  expect(await error("add", c, { vectors, ids: ["n", "n"] })).toMatch(/^KeyError: .*'n'/);
  expect(await raw.ok("ids", c)).toEqual(["a", "b", "c"]);
  expect(await raw.ok("upsert", c, { vectors, ids: ["a", "a"], metadata: [{ kind: "old" }, { kind: "new" }] })).toEqual(
    ["a", "a"],
  );
  expect(await raw.ok("ids", c, { where: { kind: "new" } })).toEqual(["a"]);
  expect(await raw.ok("ids", c, { where: { kind: "old" } })).toEqual([]);
  expect(await raw.ok("ids", c, { where: { kind: 1 } })).toEqual([]);
});

test("metadata comes back as it is stored: the key is there, and null stays null", async () => {
  const found = await raw.ok("search", c, { vector: [3, 2, 1], with_metadata: true });
  expect(found).toEqual({
    ids: ["a", "b", "c"],
    scores: [3, 2, 1],
    metadata: [{ scope: "x", kind: 1 }, { kind: "1", scope: "default" }, null],
  });
});

const WHERES: [object, string[]][] = [
  [{ scope: "x" }, ["a"]],
  [{ scope: "default" }, ["b", "c"]],
  [{ kind: 1 }, ["a"]],
  [{ kind: "1" }, ["b"]],
  [{ kind: true }, []],
  [{ kind: null }, ["c"]],
  [{ scope: "nobody" }, []],
];

test.each(WHERES)("where %j", async (where, ids) => {
  expect(await raw.ok("ids", c, { where })).toEqual(ids);
  expect((await raw.ok("search", c, { vector: [3, 2, 1], where })).ids).toEqual(ids);
});

test("top_k is clamped at both ends", async () => {
  for (const [top_k, hits] of [
    [-5, 1],
    [0, 1],
    [1, 1],
    [2, 2],
    [3, 3],
    [100_001, 3],
    [2 ** 53 - 1, 3],
    [null, 3],
  ] as const) {
    expect((await raw.ok("search", c, { vector: [1, 0, 0], top_k })).ids).toHaveLength(hits);
  }
  const many = { vectors: Array.from({ length: 20 }, () => [1, 0, 0]) };
  await raw.ok("add", c, many);
  expect((await raw.ok("search", c, { vector: [1, 0, 0] })).ids).toHaveLength(10);
});

test("a search with everything", async () => {
  const all = { vector: [1, 0, 0], top_k: 5, where: { scope: "x" }, explain: true, with_metadata: true };
  const found = await raw.ok("search", c, all);
  expect(found).toMatchObject({ ids: ["a"], scores: [1], metadata: [{ scope: "x", kind: 1 }] });
  expect(Object.keys(found.explain).sort()).toEqual(["mode", "probed_lists", "scored_rows", "screened_rows"]);
  expect(found.explain.mode).toBe("exact");
  const nulls = { vector: [1, 0, 0], top_k: null, where: null, explain: null, with_metadata: null };
  expect(Object.keys(await raw.ok("search", c, nulls))).toEqual(["ids", "scores"]);
});

test("delete passes over ids that are not there, and counts an id once", async () => {
  expect(await raw.ok("delete", c, { ids: ["a", "nobody", "a", "c"] })).toBe(2);
  expect(await raw.ok("delete", c, { ids: ["a"] })).toBe(0);
  expect(await raw.ok("delete", c, { ids: [] })).toBe(0);
  expect(await raw.ok("ids", c)).toEqual(["b"]);
});

test("save and compact answer null, and stats follow", async () => {
  expect(await raw.ok("stats", c)).toMatchObject({ unsaved_changes: true, generation: 0, external_ids: 3 });
  expect(await raw.ok("save", c)).toBeNull();
  expect(await raw.ok("stats", c)).toMatchObject({ unsaved_changes: false, unsaved_rows: 0, generation: 1 });
  await raw.ok("delete", c, { ids: ["b"] });
  expect(await raw.ok("compact", c)).toBeNull();
  expect(await raw.ok("stats", c)).toMatchObject({ unsaved_changes: false, external_ids: 2, total_rows: 2 });
  expect(await raw.ok("ids", c)).toEqual(["a", "c"]);
});

test("the history says that changes came through the server, and with which operation", async () => {
  const name = `origins ${Math.random()}`;
  await raw.ok("create_collection", name, { dim: 4 });
  const row = [[1, 0, 0, 0]];
  await raw.ok("add", name, { vectors: row, ids: ["a"] });
  await raw.ok("save", name);
  await raw.ok("upsert", name, { vectors: row, ids: ["a"] });
  await raw.ok("save", name);
  await raw.ok("add", name, { vectors: row, ids: ["b"] });
  await raw.ok("delete", name, { ids: ["a"] });
  await raw.ok("save", name);
  const saves = [...server.store.collection(name).saves()];
  expect(saves.map(({ origin, added, deleted }) => [origin.client, origin.tool, added, deleted])).toEqual([
    ["svc serve", "add", 1, 1], // of several changes in one save the first one counts
    ["svc serve", "upsert", 0, 0],
    ["svc serve", "add", 1, 0],
  ]);
  // A program's own store says nothing.
  const own = server.store.collection(name);
  await own.add([[0, 1, 0, 0]], { ids: ["own"] });
  await own.save();
  expect([...own.saves()][0]!.origin.client).toBeUndefined();
  await raw.ok("compact", name);
  expect([...own.saves()]).toEqual([]);
});

test("stats of the server count by operation, and an unknown one makes no entry", async () => {
  await raw.ask("nonsense");
  const stats = await raw.ok("stats");
  expect(stats).toMatchObject({
    version: expect.any(String),
    instance: expect.any(String),
    uptime_s: expect.any(Number),
    requests: expect.any(Number),
    errors: expect.any(Number),
    bytes_in: expect.any(Number),
    bytes_out: expect.any(Number),
    buffered_bytes: expect.any(Number),
    rss_bytes: expect.any(Number),
    connections: { open: expect.any(Number), accepted: expect.any(Number), refused: 0, dropped: expect.any(Number) },
  });
  expect(Object.keys(stats.ops)).not.toContain("nonsense");
  const before = stats.ops.search;
  await raw.ok("search", c, { vector: [1, 0, 0] });
  await raw.ask("search", c, {});
  const after = (await raw.ok("stats", null as never)).ops.search;
  expect(after.count - before.count).toBe(2);
  expect(after.errors - before.errors).toBe(1);
  expect(after.p99_ms).toBeGreaterThanOrEqual(after.p50_ms);
  expect(await error("stats", 7)).toMatch(/^TypeError: .*collection/);
  expect(await error("stats", "nobody")).toMatch(/^ValueError: .*'nobody'/);
});

// ---- texts --------------------------------------------------------------------------------------------------------

test.each(["multigram", "bigram"])("texts with %s: added, replaced, found", async (embedder) => {
  const t = `texts-${embedder}`;
  await raw.ok("create_collection", t, { embedder, filter_columns: ["n"] });
  const { dim, embedder_profile } = await raw.ok("stats", t);
  expect(embedder_profile.model_id).toBe(embedder);
  expect(await raw.ok("create_collection", t, { embedder, dim, filter_columns: ["n"] })).toEqual({ created: t });
  const texts = ["blue green deployment", "the cat sat on the mat"];
  expect(await raw.ok("add_texts", t, { texts, ids: ["deploy", "cat"], metadata: [{ n: 1 }, null] })).toEqual([
    "deploy",
    "cat",
  ]);
  expect(await raw.ok("upsert_texts", t, { texts: ["a dog in the yard"], ids: ["cat"] })).toEqual(["cat"]);
  expect(await raw.ok("add_texts", t, { texts: ["x"], ids: null, metadata: null })).toHaveLength(1);
  expect(await error("add_texts", t, { texts: ["x"], ids: ["cat"] })).toMatch(/^KeyError: .*'cat'/);
  expect(await error("add_texts", t, { texts: ["x"], ids: ["p", "q"] })).toMatch(/^ValueError: /);
  const found = await raw.ok("search_text", t, { text: "deployment", top_k: 1, explain: true, with_metadata: true });
  expect(found).toMatchObject({ ids: ["deploy"], metadata: [{ n: 1, scope: "default" }], explain: { mode: "fused" } });
  expect((await raw.ok("search_text", t, { text: "deployment", where: { n: 2 } })).ids).toEqual([]);
  expect((await raw.ok("search_text", t, { text: "" })).ids.length).toBeGreaterThanOrEqual(0);
  const first = "deployment ".repeat(5957);
  const { notice, ...cut } = await raw.ok("search_text", t, { text: `${first}interesting cats` });
  expect(notice).toContain("longer than 65536 bytes");
  expect(cut).toEqual(await raw.ok("search_text", t, { text: first }));
  raw.send(
    large({
      op: "upsert_texts",
      collection: t,
      args: { texts: ["the giraffe of the zoo", "x ".repeat(80_000)], ids: ["zoo", "long"] },
    }),
    large({ op: "search_text", collection: t, args: { text: "the giraffe of the zoo", top_k: 1 } }),
    ask("ping"),
  );
  expect((await raw.next()).result).toEqual(["zoo", "long"]);
  expect((await raw.next()).result.ids).toEqual(["zoo"]);
  expect((await raw.next()).ok).toBe(true);
});

test("texts need an embedder", async () => {
  for (const op of ["add_texts", "upsert_texts"])
    expect(await error(op, c, { texts: ["x"] })).toMatch(/^ValueError: .*embedder/);
  expect(await error("search_text", c, { text: "x" })).toMatch(/^ValueError: .*embedder/);
});
