/** When rows were created and updated, as a program reads it. */
import { beforeEach, expect, test } from "bun:test";
import type { LocalCollection } from "../../src/api/local-collection.ts";
import type { LocalStore } from "../../src/api/local-store.ts";
import { scratchDir } from "../fixture.ts";
import { localStore } from "./fixture.ts";

let dir: string;
let store: LocalStore;
let notes: LocalCollection;

async function later(): Promise<number> {
  const now = Date.now();
  while (Date.now() <= now + 1) await Bun.sleep(1);
  return Date.now() - 1;
}

beforeEach(async () => {
  dir = scratchDir();
  store = await localStore(dir);
  notes = await store.createCollection("notes", { embedder: "multigram", lexical: true });
  await notes.addTexts(["one cat", "two dogs"], { ids: ["1", "2"] });
  await later();
  await notes.upsertTexts(["one cat again", "three birds"], { ids: ["1", "3"] });
  await notes.save();
});

test("get and every search return times where they are asked for, and only there", async () => {
  const [one, two] = await notes.get(["1", "2"], { withTimes: true });
  expect(one!.created).toBe(two!.created!);
  expect(one!.updated).toBeGreaterThan(one!.created!);
  expect(two!.updated).toBe(two!.created!);
  expect((await notes.get(["1"]))[0]).toEqual({ id: "1", found: true, text: "one cat again" });
  expect((await notes.get(["none"], { withTimes: true }))[0]).toEqual({ id: "none", found: false });
  const times = { created: [one!.created!], updated: [one!.updated!] };
  const options = { topK: 1, withTimes: true, explain: true };
  await notes.buildLexical();
  expect(await notes.searchText("cat", options)).toMatchObject({ ids: ["1"], ...times, explain: { mode: "fused" } });
  expect(await notes.searchLexical("cat", { ...options, withText: true })).toMatchObject({
    ids: ["1"],
    ...times,
    texts: ["one cat again"],
    explain: [[{ term: "cat" }]],
  });
  expect(Object.keys(await notes.searchText("cat", { topK: 1 }))).toEqual(["ids", "scores"]);
  const vectors = await store.createCollection("vectors", { dim: 2 });
  await vectors.add([[1, 0]], { ids: ["v"] });
  const result = await vectors.search([1, 0], { withTimes: true });
  expect(result).toEqual({ ids: ["v"], scores: [1], created: [expect.any(Number)], updated: result.created });
  expect(await vectors.searchMany([[1, 0]], { withTimes: true })).toEqual([result]);
});

test("ids are listed by time, unsaved changes included; a snapshot keeps times", async () => {
  const [one, two] = await notes.get(["1", "2"], { withTimes: true });
  expect(await notes.ids(undefined, { newest: 2 })).toEqual(["3", "1"]);
  expect(await notes.ids({ scope: "default" }, { newest: 9 })).toEqual(["3", "1", "2"]);
  expect(await notes.ids(undefined, { until: one!.updated! })).toEqual(["2"]);
  expect(await notes.ids(undefined, { since: new Date(one!.updated!).toISOString() })).toEqual(["1", "3"]);
  await expect(notes.ids(undefined, { since: "soon" })).rejects.toThrow(
    /^since is the string 'soon', which is not a time/,
  );
  await later();
  await notes.upsertTexts(["two dogs again"], { ids: ["2"] });
  expect(await notes.ids(undefined, { newest: 1 })).toEqual(["2"]);
  const again = (await notes.get(["2"], { withTimes: true }))[0]!;
  expect([again.created, again.updated! > two!.updated!]).toEqual([two!.created, true]);
  const there = scratchDir();
  await notes.snapshot(there);
  await later();
  await using copy = await localStore(there);
  const copied = await copy.openCollection("notes");
  expect((await copied.get(["2"], { withTimes: true }))[0]).toEqual(again);
});
