/** `svc mcp --with-text`: searches that do not say with_text show the best piece of each text, and its day. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Calls } from "../../src/mcp/calls.ts";
import type { Verbs } from "../../src/memory/requests.ts";
import { notes, TestMemory } from "../fixture.ts";
import { IS_REMOTE, servedVerbs } from "./remote.ts";

const LONG = `${"Nothing of interest stands in this paragraph. ".repeat(40)}The espresso machine is descaled on the first Monday. ${"More follows here. ".repeat(60)}`;

let m: TestMemory;
let verbs: Verbs;
let close = async () => {};
let today: string;
beforeAll(async () => {
  m = await TestMemory.open();
  const rows = notes();
  const ids = rows.map(({ id }) => id);
  await m.call("add", { collection: "notes", texts: rows.map(({ text }) => text), ids });
  await m.call("add", { collection: "notes", texts: [LONG], ids: ["long"], metadata: [{ scope: "office" }] });
  await m.call("create_collection", { name: "words", lexical: true });
  await m.call("add", { collection: "words", texts: [LONG], ids: ["long"] });
  await m.call("build_lexical", { collection: "words" });
  verbs = m.memory;
  if (IS_REMOTE) ({ verbs, close } = await servedVerbs(m.dir));
  const now = new Date();
  today = `${now.getFullYear()}-${`${now.getMonth() + 1}`.padStart(2, "0")}-${`${now.getDate()}`.padStart(2, "0")}`;
});
afterAll(async () => {
  await close();
  await m.close();
});

async function ask(withText: boolean, tool: string, args: object) {
  const calls = new Calls(() => Promise.resolve(verbs), { set: "all", withText });
  const caller = { client: {}, isModern: false };
  const { content } = await calls.run({ name: tool, arguments: args }, new AbortController().signal, caller);
  return JSON.parse((content[0] as { text: string }).text);
}

const query = "when is the espresso machine descaled";

test("without the flag an answer has no text and no day, as before", async () => {
  const { hits } = await ask(false, "svc_search", { collection: "notes", query });
  expect(hits[0]).toEqual({ id: "long", metadata: { scope: "office" } });
});

test.each(["svc_search", "svc_search_lexical"])("%s shows the piece that fits, and the day", async (tool) => {
  const collection = tool === "svc_search" ? "notes" : "words";
  const [hit] = (await ask(true, tool, { collection, query })).hits;
  expect(hit).toMatchObject({ id: "long", date: today, truncated: true });
  expect(hit.text).toContain("descaled on the first Monday");
  expect(Buffer.byteLength(hit.text)).toBeLessThanOrEqual(500);
  expect(LONG.slice(hit.start)).toStartWith(hit.text);
  expect(hit.created).toBeUndefined();
});

test("a note is whole, five of them are below 600 tokens", async () => {
  const answer = await ask(true, "svc_search", { collection: "notes", query: notes()[3]!.text });
  expect(answer.hits[0].text).toBe(notes()[3]!.text);
  expect(answer.hits).toHaveLength(5);
  expect(JSON.stringify(answer).length).toBeLessThan(600 * 4);
});

test("weak hits are marked and have their texts, which are short", async () => {
  const { hits, notice } = await ask(true, "svc_search", {
    collection: "notes",
    query: "quarterly tax return of the zoo",
  });
  expect(hits[0]).toMatchObject({ weak: true, text: expect.any(String) });
  expect(notice).toEndWith("hits marked weak need not be about it");
  const chosen = await ask(true, "svc_search", {
    collection: "notes",
    query: "quarterly tax return of the zoo",
    with_text: true,
  });
  expect(chosen.hits[0].text).toBeUndefined();
});

test("a call decides for itself: no text, or the larger share of the answer", async () => {
  const [bare] = (await ask(true, "svc_search", { collection: "notes", query, with_text: false })).hits;
  expect(bare).toEqual({ id: "long", metadata: { scope: "office" } });
  const [hit] = (await ask(true, "svc_search", { collection: "notes", query, with_text: true })).hits;
  expect(hit).toMatchObject({ text: LONG, date: today });
  const [unset] = (await ask(true, "svc_search", { collection: "notes", query, with_text: null })).hits;
  expect(unset.truncated).toBe(true);
});

test("small answers and cursors hold with it", async () => {
  const args = { collection: "notes", query, top_k: 20, max_bytes: 1500 };
  const seen: string[] = [];
  for (let after: string | undefined; ; ) {
    const answer = await ask(true, "svc_search", { ...args, after });
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThanOrEqual(1500);
    for (const hit of answer.hits) expect(Buffer.byteLength(hit.text ?? "")).toBeLessThanOrEqual(500);
    seen.push(...answer.hits.map(({ id }: { id: string }) => id));
    after = answer.next;
    if (after === undefined) break;
  }
  expect(new Set(seen).size).toBe(20);
});

test("other tools are as they were", async () => {
  expect(await ask(true, "svc_get", { collection: "notes", ids: ["long"], with_text: false })).toEqual(
    await ask(false, "svc_get", { collection: "notes", ids: ["long"], with_text: false }),
  );
});
