/** `get` and `search_hits` as bytes on a socket: answers, their bounds, and what is refused. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { getRows, searchHits } from "../../../src/remote/server/read-texts.ts";
import { indexFiles } from "../../api/fixture.ts";
import { scratchDir } from "../../fixture.ts";
import { ask, type Raw, TestServer } from "./raw.ts";
import { Site, toolOk } from "./site.ts";

let server: TestServer;
let raw: Raw;

beforeAll(async () => {
  server = await TestServer.start();
  raw = await server.open();
  await raw.ok("create_collection", "t", { embedder: "multigram", filter_columns: ["kind"] });
  const metadata = [{ kind: "ops" }, null];
  await raw.ok("add_texts", "t", { texts: ["we deploy on Tuesdays", ""], ids: ["deploy", "empty"], metadata });
});
afterAll(() => server.stop());

const failure = (call: Promise<unknown>) =>
  call.then(
    () => "",
    (error) => error.message,
  );
const times = { created: expect.any(Number), updated: expect.any(Number) };

test("get answers rows in the order of the ids, and null counts as left out", async () => {
  const row = { id: "deploy", found: true, metadata: { kind: "ops", scope: "default" }, ...times };
  const ids = ["empty", "nobody", 7, "deploy"];
  const nulls = { ids, with_text: null, with_metadata: null };
  for (const args of [{ ids }, nulls]) {
    expect(await raw.ok("get", "t", args)).toEqual([
      { id: "empty", found: true, text: "", ...times },
      { id: "nobody", found: false },
      { id: "7", found: false },
      { ...row, text: "we deploy on Tuesdays" },
    ]);
  }
  expect(await raw.ok("get", "t", { ids: ["deploy"], with_text: false })).toEqual([row]);
  expect(await raw.ok("get", "t", { ids: [] })).toEqual([]);
});

test("search_hits answers hits with texts and dates", async () => {
  const { hits, ...rest } = await raw.ok("search_hits", "t", { text: "deploy", top_k: 1 });
  const { ids, scores } = await raw.ok("search_text", "t", { text: "deploy", top_k: 1 });
  const date = new Date(hits[0].updated).toISOString().slice(0, 10);
  const found = { id: ids[0], score: scores[0], text: "we deploy on Tuesdays", date, ...times };
  expect([hits, rest]).toEqual([[{ ...found, metadata: { kind: "ops", scope: "default" } }], {}]);
  const cut = await raw.ok("search_hits", "t", { text: "deploy", where: { kind: "ops" }, text_bytes: 6 });
  expect(cut.hits).toMatchObject([{ text: "we dep", truncated: true, start: 0 }]);
  expect((await raw.ok("search_hits", "t", { text: "deplooy" })).notice).toContain("was searched as");
});

test("the day of a hit is that of its last change, in UTC", async () => {
  await raw.ok("create_collection", "d", { embedder: "bigram" });
  await raw.ok("add_texts", "d", { texts: ["a day"], ids: ["a"] });
  const [hit] = (await raw.ok("search_hits", "d", { text: "day" })).hits;
  expect(hit.date).toMatch(/^\d{4}-\d\d-\d\d$/);
  expect(hit.updated - Date.parse(`${hit.date}T00:00:00Z`)).toBeWithin(0, 86_400_000);
});

const REFUSED: [string, string, object, RegExp][] = [
  ["10,001 ids", "get", { ids: Array.from({ length: 10_001 }, (_, i) => i) }, /^ValueError: ids has 10001 .* 10000/],
  ["20,000 ids", "get", { ids: Array.from({ length: 20_000 }, (_, i) => `id ${i}`) }, /^ValueError: ids has 20000/],
  ["an empty id", "get", { ids: ["a", ""] }, /^ValueError: ids\[1\]/],
  ["a long id", "get", { ids: ["x".repeat(513)] }, /^ValueError: ids\[0\]/],
  ["no bytes", "search_hits", { text: "x", text_bytes: 0 }, /^ValueError: text_bytes must be an integer of at least 1/],
  ["fewer", "search_hits", { text: "x", text_bytes: -1 }, /^ValueError: text_bytes must be an integer of at least 1/],
  ["1e300 bytes", "search_hits", { text: "x", text_bytes: 1e300 }, /^ValueError: text_bytes must be an integer/],
  ["another column", "search_hits", { text: "x", where: { other: 1 } }, /^ValueError: .*other/],
  ["explain", "search_hits", { text: "x", explain: true }, /^ValueError: unknown argument 'explain'/],
];

test.each(REFUSED)("%s: refused by %s", async (_, op, args, line) => {
  expect((await raw.ask(op, "t", args)).error).toMatch(line);
});

test("ten thousand ids are answered, also where most have no row", async () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => (i === 9_999 ? "deploy" : `${i}`));
  const rows = await raw.ok("get", "t", { ids });
  expect(rows).toHaveLength(10_000);
  expect(rows[9_999]).toMatchObject({ id: "deploy", found: true });
});

test("a collection that is gone is a ValueError", async () => {
  await raw.ok("create_collection", "gone", { embedder: "bigram" });
  await raw.ok("add_texts", "gone", { texts: ["x"], ids: ["a"] });
  await raw.ok("save", "gone");
  await server.store.dropCollection("gone");
  for (const [op, args] of [
    ["get", { ids: ["a"] }],
    ["search_hits", { text: "x" }],
  ] as const) {
    expect((await raw.ask(op, "gone", args)).error).toMatch(/^ValueError: .*'gone' does not exist/);
  }
});

test("an answer with more bytes than allowed is refused before all of its texts are read", async () => {
  const c = await server.store.createCollection("large", { embedder: "bigram" });
  const ids = Array.from({ length: 100 }, (_, i) => `${i}`);
  await c.addTexts(
    ids.map((id) => `row ${id} ${"x".repeat(1000)}`),
    { ids },
  );
  const parts = { with_text: true, with_metadata: true };
  const search = { text: "row 7", top_k: 100, ...parts };
  const refusal = "the answer has more than 268435456 bytes: filter with where, or ask for fewer rows";
  expect(await failure(getRows(c, { ids, ...parts }, 50_000))).toBe(refusal);
  expect(await failure(searchHits(c, search, 50_000))).toBe(refusal);
  expect(JSON.parse((await getRows(c, { ids, ...parts }, 200_000)).json)).toHaveLength(100);
  expect(JSON.parse((await searchHits(c, { ...search, text_bytes: 20 }, 50_000)).json).hits).toHaveLength(100);
});

test("a text of 16 MiB is answered", async () => {
  const text = " ".repeat(16 * 1024 * 1024);
  await raw.ok("create_collection", "longest", { embedder: "bigram" });
  await server.store.collection("longest").addTexts([text], { ids: ["a"] });
  raw.send(ask("get", "longest", { ids: ["a"] }));
  expect((await raw.next(60_000)).result[0].text === text).toBe(true);
}, 90_000);

test.each(["update_texts", "tune", "apply_tuning", "len", "in", "build_ivf", "snapshot", "search_texts"])(
  "%s stays unknown",
  async (op) => {
    expect((await raw.ask(op, "t", {})).error).toBe(`ValueError: unknown op '${op}'`);
  },
);

test("tools answer rows of a repository's index without their texts, and say where these are", async () => {
  const dir = scratchDir();
  await indexFiles(dir, 3);
  await using indexed = await Site.start({ dir });
  const own = await indexed.server.open();
  const ids: string[] = await own.ok("ids", "repo_symbols");
  const where = { collection: "repo_symbols", with_text: true };
  const notice = expect.stringContaining("rows of a repository's index have no text here");
  const got = await toolOk(own, "get", { collection: "repo_symbols", ids: [ids[0], "nobody"] });
  expect(got.notice).toEqual(notice);
  expect(got.rows[0]).toMatchObject({ id: ids[0], found: true });
  expect(got.rows[0].text).toBeUndefined();
  for (const verb of ["search", "search_lexical"]) {
    const found = await toolOk(own, verb, { ...where, query: "value1" });
    expect([verb, found.notice]).toEqual([verb, notice]);
    expect(found.hits.length).toBeGreaterThan(0);
  }
  expect((await toolOk(own, "get", { collection: "repo_symbols", ids: ["nobody"] })).notice).toBeUndefined();
});
