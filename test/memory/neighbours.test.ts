/** The turns beside hits of conversations, in the answers of searches. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestMemory } from "../fixture.ts";

const EMOJI = "\u{1f600}";
/** A text that JSON makes longer than its first 300 bytes. */
const LONG = `"quoted"\n${EMOJI.repeat(200)}`;
let m: TestMemory;

const c = { collection: "chats" };
const ask = (args: object, verb: "search" | "search_lexical" = "search") =>
  m.call(verb, { ...c, query: "quokka", with_neighbours: true, ...args });
const beside = async (args: object, verb?: "search_lexical") => (await ask(args, verb)).hits[0].neighbours;

beforeAll(async () => {
  m = await TestMemory.open();
  await m.call("create_collection", { name: "chats", lexical: true, filter_columns: ["kind"] });
  const rows: [id: string, text: string, metadata: object | null][] = [
    ["first", "Which animal is on the island?", { session: "one", turn: 1, kind: "question" }],
    ["third", LONG, { session: "one", turn: 3, kind: "question" }],
    ["alone", "a wombat", { session: "two" }],
    ["note", "a numbat", null],
    ["second", "The quokka.", { session: "one", turn: 2, kind: "answer" }],
  ];
  const metadata = rows.map(([, , given]) => given);
  await m.call("add", { ...c, ids: rows.map(([id]) => id), texts: rows.map(([, text]) => text), metadata });
  await m.call("build_lexical", c);
});
afterAll(() => m.close());

test("are the turns before and after, with the beginnings of their texts", async () => {
  const before = { id: "first", text: "Which animal is on the island?" };
  for (const verb of [undefined, "search_lexical"] as const) {
    const { after, ...other } = await beside({ top_k: 1 }, verb);
    expect(other).toEqual({ before });
    expect(after).toEqual({ id: "third", text: expect.any(String), truncated: true });
    expect(LONG.startsWith(after.text) && after.text.isWellFormed()).toBeTrue();
    expect(Buffer.byteLength(JSON.stringify(after.text)) - 2).toBeWithin(297, 301);
  }
});

test("are there for turns only, and only where they are wanted", async () => {
  const { hits } = await ask({ query: "wombat numbat", top_k: 5 });
  const found = new Map(hits.map(({ id, neighbours }: { id: string; neighbours: unknown }) => [id, neighbours]));
  expect(found.get("alone")).toEqual({});
  expect([found.has("note"), found.get("note")]).toEqual([true, undefined]);
  for (const hit of (await ask({ with_neighbours: false })).hits) expect(hit).not.toHaveProperty("neighbours");
});

test("may be rows that a filter excludes, but not deleted ones", async () => {
  const args = { where: { kind: "answer" }, top_k: 1 };
  expect((await beside(args)).after.id).toBe("third");
  await m.call("delete", { ...c, ids: ["third"] });
  expect(await beside(args)).toEqual({ before: { id: "first", text: "Which animal is on the island?" } });
  await m.call("add", { ...c, ids: ["third"], texts: [LONG], metadata: [{ session: "one", turn: 3 }] });
  expect((await beside(args)).after.id).toBe("third");
});

test("that do not fit are a number, and metadata that does not fit leaves them", async () => {
  const long = { collection: "long" };
  const text = EMOJI.repeat(100);
  const ids = ["a", "b", "c"];
  const put = (pad: string) =>
    m.call("upsert", { ...long, ids, texts: [text, "quokka", text], metadata: ids.map(() => ({ session: 1, pad })) });
  const hit = async (max_bytes: number) =>
    (await m.call("search", { ...long, query: "quokka", top_k: 1, with_neighbours: true, max_bytes })).hits[0];
  await put("p".repeat(300));
  const { neighbours, metadata } = await hit(2000);
  expect([neighbours.before.id, neighbours.after.id, metadata.session]).toEqual(["a", "c", 1]);
  expect(await hit(1000)).toEqual({
    id: "b",
    metadata,
    neighbours_bytes: Buffer.byteLength(JSON.stringify(neighbours)),
  });
  await put("p".repeat(900));
  expect(await hit(1000)).toEqual({ id: "b", metadata_bytes: expect.any(Number), neighbours });
});
