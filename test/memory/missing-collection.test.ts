/** What the tools say of a collection that does not exist. */
import { beforeEach, expect, test } from "bun:test";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { VerbName } from "../../src/memory/requests.ts";
import { openStore, scratchDir, TestMemory } from "../fixture.ts";

let m: TestMemory;
beforeEach(async () => {
  m = await TestMemory.open();
});

const CALLS: [VerbName, object][] = [
  ["search", { query: "x" }],
  ["stats", {}],
  ["update", { texts: ["x"], ids: ["a"] }],
  ["delete", { ids: ["a"] }],
  ["ids", {}],
  ["count", {}],
  ["get", { ids: ["a"] }],
  ["search_lexical", { query: "x" }],
  ["compact", {}],
  ["build_ivf", {}],
  ["build_lexical", {}],
  ["tune", {}],
];

/** The message of a call, without its type. */
async function refusal(collection: string, verb: VerbName = "count", args: object = {}): Promise<string> {
  const { error } = await m.call(verb, { collection, ...args }).then(
    () => ({ error: undefined }),
    (error) => ({ error }),
  );
  expect(error.code).toBe("ValueError.no_collection");
  return error.message;
}

const missing = (name: string) => `collection '${name}' does not exist`;

test.each(CALLS)("%s says the sentence, the name that was meant and the names that there are", async (verb, args) => {
  await m.call("add", { collection: "notes", texts: ["a"] });
  expect(await refusal("notse", verb, args)).toBe(`${missing("notse")}, did you mean 'notes'?`);
  await m.call("add", { collection: "docs", texts: ["a"] });
  expect(await refusal("notse", verb, args)).toBe(
    `${missing("notse")}, did you mean 'notes'? (there are 'docs' and 'notes')`,
  );
  expect(await refusal("else", verb, args)).toBe(`${missing("else")} (there are 'docs' and 'notes')`);
});

test("the other tools that take a collection make it", () => {
  const makers = ["add", "upsert", "index_repo", "repo_search", "create_collection"];
  const others = ["list_collections", "workspace_info"];
  const taking = CALLS.map(([verb]) => verb);
  expect(new Set([...taking, ...makers, ...others]).size).toBe(19);
});

test("a memory without collections says so, and names the tool that makes one", async () => {
  expect(await refusal("notes")).toBe(`${missing("notes")}, and there are no collections yet: svc_add makes it`);
});

test("a collection that is not saved yet is one", async () => {
  await m.call("create_collection", { name: "notes" });
  expect(await refusal("note")).toBe(`${missing("note")}, did you mean 'notes'?`);
});

test("five names at most, shortened, and how many more there are", async () => {
  await m.call("add", { collection: "a", texts: ["a"] });
  const names = Array.from({ length: 300 }, (_, i) => `${String(i).padStart(3, "0")}${"x".repeat(125)}`);
  for (const name of names) cpSync(join(m.dir, "a"), join(m.dir, name), { recursive: true });
  const message = await refusal("else");
  expect(message).toStartWith(`${missing("else")} (there are '000${"x".repeat(74)}...', '001xx`);
  expect(message).toEndWith("x...' and 296 more)");
  expect(message.length).toBeLessThan(600);
  // An agent's bound holds as well.
  await expect(m.text("count", { collection: "else", max_bytes: 1000 })).rejects.toThrow(message);
});

test("damaged collections and names that are not valid are not offered", async () => {
  await m.call("add", { collection: "whole", texts: ["a"] });
  for (const name of ["broken", "line\nbreak", "esc\u001b[31m"]) {
    mkdirSync(join(m.dir, name));
    writeFileSync(join(m.dir, name, "collection.json"), "{}");
  }
  expect(await refusal("brokne")).toBe(`${missing("brokne")} (there is 'whole')`);
  expect(await refusal("whol")).toBe(`${missing("whol")}, did you mean 'whole'?`);
  const other = scratchDir();
  mkdirSync(join(other, "broken"));
  writeFileSync(join(other, "broken", "collection.json"), "{}");
  const damaged = await TestMemory.open(other);
  await expect(damaged.call("count", { collection: "brokne" })).rejects.toThrow(
    `${missing("brokne")}, and no existing collection can be read: 'svc mem list' shows why`,
  );
});

test("the store's own error stays the specified sentence", async () => {
  const store = await openStore(m.dir);
  expect(() => store.open("notes")).toThrow(/^collection 'notes' does not exist \(create it first\)$/);
});
