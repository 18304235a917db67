/** NaN and infinities as Python's json writes them: an error that names the field, and the connection stays. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Answer, ask, frame, large, type Raw, TestServer, TOKEN } from "./raw.ts";

let unix: TestServer;
let tcp: TestServer;
let raw: Raw;

beforeAll(async () => {
  unix = await TestServer.start();
  tcp = await TestServer.start({ tcp: true });
  raw = await unix.open();
  await raw.ok("create_collection", "c", { dim: 2, filter_columns: ["kind"] });
  await raw.ok("create_collection", "t", { embedder: "bigram" });
  await raw.ok("add", "c", { vectors: [[1, 0]], ids: ["a"] });
});
afterAll(async () => {
  await unix.stop();
  await tcp.stop();
});

const LONG = "x".repeat(200_000);

/** A request in a small frame and in two that the decoder parses, with padding before or after the arguments. */
function sizes(op: string, collection: string, args: string, id: string): Buffer[] {
  const json = `"op":"${op}","collection":"${collection}","args":${args},"id":${id}`;
  return [`{${json}}`, `{${json},"padding":"NaN ${LONG}"}`, `{"padding":"${LONG} \\" Infinity",${json}}`].map((text) =>
    frame(text),
  );
}

const rows = (count: number, bad: string) => `[${"[1,0],".repeat(count)}[0,${bad}]]`;

/** The field that the error names, and what is sent. */
const FIELDS: [field: string, op: string, collection: string, args: string][] = [
  ["vectors[0][0]", "add", "c", '{"vectors":[[NaN,0]],"ids":["n"]}'],
  ["vectors[3][1]", "upsert", "c", `{"vectors":${rows(3, "NaN")},"ids":["a","b","c","d"]}`],
  ["vectors[40000][1]", "add", "c", `{"vectors":${rows(40_000, " NaN ")}}`],
  ["metadata[0].score", "add", "c", '{"ids":["NaN"],"vectors":[ [1,\n0] ],"metadata":[{"score":NaN}]}'],
  ["metadata[1].a.b[3]", "add", "c", '{"vectors":[[1,0],[1,0]],"metadata":[null,{"a":{"b":[1,"NaN",{},NaN]}}]}'],
  ["metadata[0]['']", "add", "c", '{"vectors":[[1,0]],"metadata":[{"":NaN}]}'],
  ["metadata[0]['two words']", "add", "c", '{"vectors":[[1,0]],"metadata":[{"two words":NaN}]}'],
  ["metadata[0]['line\\n\\\"']", "add", "c", '{"vectors":[[1,0]],"metadata":[{"line\\n\\"":NaN}]}'],
  ["metadata[0].größe", "add", "c", '{"vectors":[[1,0]],"metadata":[{"größe":NaN}]}'],
  ["metadata[0].__proto__.x", "add", "c", '{"vectors":[[1,0]],"metadata":[{"__proto__":{"x":NaN}}]}'],
  [
    "metadata[2].x",
    "add_texts",
    "t",
    '{"texts":["NaN","[NaN]","\\"Infinity\\\\"],"metadata":[{"NaN":"NaN"},null,{"x":NaN}]}',
  ],
  ["texts[1]", "upsert_texts", "t", '{"texts":["a",NaN],"ids":["a","b"]}'],
  ["ids[0]", "upsert_texts", "t", '{"texts":["a"],"ids":[NaN]}'],
  ["vector[0]", "search", "c", '{"vector":[NaN,0]}'],
  ["vector[0][1]", "search", "c", '{"vector":[[0,NaN]]}'],
  ["top_k", "search", "c", '{"vector":[0,1],"top_k":NaN}'],
  ["where.kind", "search", "c", '{"vector":[0,1],"where":{"kind":NaN}}'],
  ["where", "search", "c", '{"vector":[0,1],"where":NaN}'],
  ["top_k", "search_text", "t", '{"text":"NaN","top_k":NaN}'],
  ["where.kind", "ids", "c", '{"where":{"kind":NaN}}'],
  ["ids[1]", "delete", "c", '{"ids":["NaN",NaN]}'],
  ["dim", "create_collection", "new", '{"dim":NaN}'],
  ["args", "stats", "c", "NaN"],
  ["[0]", "stats", "c", "[NaN]"],
  ["x", "nonsense", "c", '{"x":NaN,"y":NaN}'],
  ["a[2].b[1][1]", "ping", "c", '{"a":[[],[[],{}],{"b":[1,[2,NaN]]}]}'],
];

test.each(FIELDS)("%s of a %s is named", async (field, op, collection, args) => {
  for (const word of ["NaN", "Infinity", "-Infinity"]) {
    // The one outside of strings: the last of all, but where there are two.
    const at = args.includes('"y"') ? args.indexOf("NaN") : args.lastIndexOf("NaN");
    const json = args.slice(0, at) + word + args.slice(at + 3);
    for (const bytes of sizes(op, collection, json, "77")) {
      raw.send(bytes, ask("ping", undefined, undefined, "behind"));
      expect(await raw.next()).toEqual({
        ok: false,
        error: `ValueError: ${field} is ${word}; JSON has no such number: send a finite one, or leave it out`,
        id: 77,
      });
      expect(await raw.next()).toEqual({ ok: true, result: { pong: true }, id: "behind" });
    }
  }
  expect(await raw.ok("ids", "c")).toEqual(["a"]);
  expect(await raw.ok("ids", "t")).toEqual([]);
});

test("a field that is deep or has long names is named in one short line", async () => {
  const key = `${"k".repeat(500)}\\u2028`;
  const deep = `${`{"${key}":[`.repeat(60)}NaN${"]}".repeat(60)}`;
  for (const bytes of sizes("ping", "c", deep, '"d"')) {
    raw.send(bytes);
    const { error, id } = await raw.next();
    expect([error.length < 400, /[\n\r]/.test(error), id]).toEqual([true, false, "d"]);
    expect(error).toStartWith("ValueError: ['kkkk");
  }
});

test("many such words are one error, and the first is named", async () => {
  const vectors = `[${"[NaN,Infinity],".repeat(100_000)}[-Infinity,0]]`;
  raw.send(frame(`{"op":"add","collection":"c","args":{"vectors":${vectors}},"id":1}`), ask("ping"));
  expect(await raw.next()).toMatchObject({
    error: expect.stringMatching(/^ValueError: vectors\[0\]\[0\] is NaN;/),
    id: 1,
  });
  expect(await raw.next()).toEqual({ ok: true, result: { pong: true } });
});

test("the request's id is echoed where it is a good one", async () => {
  const ids: [string, unknown][] = [
    ["0", 0],
    ["-7", -7],
    ['"NaN"', "NaN"],
    ["null", null],
    ["1.5", undefined],
    ["9007199254740993", undefined],
  ];
  for (const [json, id] of ids) {
    for (const bytes of sizes("ids", "c", '{"where":{"kind":NaN}}', json)) {
      raw.send(bytes);
      expect(await raw.next()).toEqual({
        ok: false,
        error: expect.stringMatching(/^ValueError: where\.kind is NaN/),
        ...(id !== undefined && { id }),
      });
    }
  }
  raw.send(frame('{"op":"ids","collection":"c","args":{"where":{"kind":NaN}}}'));
  expect(Object.keys(await raw.next())).toEqual(["ok", "error"]);
});

test("what is pipelined around them is carried out and answered in order", async () => {
  const name = "order";
  const [small, first, second] = sizes("add", name, '{"vectors":[[1,NaN]],"ids":["bad"]}', "-1") as [
    Buffer,
    Buffer,
    Buffer,
  ];
  raw.send(
    ask("create_collection", name, { dim: 2 }, 1),
    small,
    ask("add", name, { vectors: [[1, 0]], ids: ["one"] }, 2),
    first,
    large({ op: "add", collection: name, args: { vectors: [[1, 0]], ids: ["two"] }, id: 3 }),
    small,
    second,
    ask("ids", name, {}, 4),
    small,
  );
  const replies: Answer[] = await raw.many(9);
  expect(replies.map(({ id }) => id)).toEqual([1, -1, 2, -1, 3, -1, -1, 4, -1]);
  expect(replies.map(({ ok }) => ok)).toEqual([true, false, true, false, true, false, false, true, false]);
  expect(replies[7].result).toEqual(["one", "two"]);
});

/** What is malformed otherwise, and a word outside of args, stays a bad request. */
const MALFORMED: [string, string][] = [
  ["as the id", '"op":"ping","id":NaN'],
  ["as the id and in args", '"op":"ids","collection":"c","args":{"where":{"kind":NaN}},"id":NaN'],
  ["as the collection", '"op":"ids","collection":NaN'],
  ["as the op", '"op":NaN,"args":{"a":NaN}'],
  ["in an unknown field", '"op":"ping","more":[NaN]'],
  ["as a key", '"op":"ping","args":{NaN:1}'],
  ["with a sign", '"op":"ping","args":{"a":-NaN}'],
  ["with two signs", '"op":"ping","args":{"a":--Infinity}'],
  ["with a plus", '"op":"ping","args":{"a":+Infinity}'],
  ["with a digit before it", '"op":"ping","args":{"a":1NaN}'],
  ["with a digit after it", '"op":"ping","args":{"a":NaN1}'],
  ["with a fraction", '"op":"ping","args":{"a":Infinity.5}'],
  ["with an exponent", '"op":"ping","args":{"a":NaNe5}'],
  ["twice in one place", '"op":"ping","args":{"a":[NaN NaN]}'],
  ["after a value", '"op":"ping","args":{"a":1 NaN}'],
  ["after a string", '"op":"ping","args":{"a":"x"NaN}'],
  ["after args", '"op":"ping","args":{} NaN'],
  ["in another case", '"op":"ping","args":{"a":nan}'],
  ["cut short", '"op":"ping","args":{"a":Infinit}'],
  ["longer", '"op":"ping","args":{"a":Infinityx}'],
  ["beside another word", '"op":"ping","args":{"a":NaN,"b":undefined}'],
  ["beside a trailing comma", '"op":"ping","args":{"a":NaN,}'],
  ["beside a key that is not JSON", '"op":"ping","args":{"\\x":NaN}'],
  ["in a list that is not closed", '"op":"ping","args":{"a":[NaN}'],
  ["without an op", '"args":{"a":NaN}'],
];

test.each(MALFORMED)("a word %s is a bad request, and the end of the connection", async (_, json) => {
  for (const text of [`{${json}}`, `{"padding":"${LONG}",${json}}`]) {
    const one = await unix.open();
    one.send(ask("ping"), frame(text), ask("ping"));
    expect(await one.next()).toEqual({ ok: true, result: { pong: true } });
    expect(await one.next()).toEqual({ ok: false, error: "bad request" });
    expect(await one.next()).toBeUndefined();
  }
});

test("a bare word, and bare words nested too deep, are bad requests", async () => {
  for (const text of ["NaN", "-Infinity", "[NaN]", `{"op":"ping","args":${"[".repeat(128)}NaN${"]".repeat(128)}}`]) {
    const one = await unix.open();
    one.send(frame(text));
    expect(await one.next()).toEqual({ ok: false, error: "bad request" });
    expect(await one.next()).toBeUndefined();
  }
});

test("before auth such a frame is what it would be without the word, and opens nothing", async () => {
  const cases: [string, object][] = [
    ['{"op":"ping","args":{"a":NaN}}', { ok: false, error: "unauthorized: send auth first" }],
    [`{"op":"auth","args":{"token":"${TOKEN}","more":NaN}}`, { ok: false, error: "unauthorized" }],
    ['{"op":"auth","args":{"token":NaN}}', { ok: false, error: "unauthorized" }],
  ];
  for (const [json, answer] of cases) {
    const one = await tcp.bare();
    one.send(frame(json), ask("auth", undefined, { token: TOKEN }), ask("ping"));
    expect(await one.next()).toEqual(answer);
    expect(await one.next()).toBeUndefined();
  }
  const trusted = await unix.open();
  trusted.send(frame('{"op":"auth","args":{"token":NaN},"id":1}'), ask("ping", undefined, undefined, 2));
  expect(await trusted.next()).toMatchObject({
    ok: false,
    error: expect.stringMatching(/^ValueError: token is NaN/),
    id: 1,
  });
  expect(await trusted.next()).toMatchObject({ ok: true, id: 2 });
});

test("the same bytes again are refused again, and good ones are not taken for them", async () => {
  for (let i = 0; i < 3; i++) {
    raw.send(frame('{"op":"ping","args":{"a":NaN}}'), frame('{"op":"ping"}'), frame('{"op":"ping","args":{"a":0  }}'));
    const replies = await raw.many(3);
    expect(replies.map(({ error, result }) => error ?? result)).toEqual([
      expect.stringContaining("a is NaN"),
      { pong: true },
      expect.stringContaining("unknown argument 'a'"),
    ]);
  }
});
