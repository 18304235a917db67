/** The 19 verbs on a real memory: payloads as clients get them, and the table of errors. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { errorLine } from "../../src/errors.ts";
import { VERBS, type VerbName } from "../../src/memory/requests.ts";
import { notes, TestMemory } from "../fixture.ts";

let m: TestMemory;
beforeAll(async () => {
  m = await TestMemory.open();
  const rows = notes();
  await m.call("create_collection", { name: "notes", filter_columns: ["topic"], lexical: true });
  await m.call("add", {
    collection: "notes",
    ids: rows.map((row) => row.id),
    texts: rows.map((row) => row.text),
    metadata: rows.map((row) => row.metadata),
  });
});
afterAll(() => m.close());

const ids = (payload: { hits: { id: string }[] }) => payload.hits.map((hit) => hit.id);

test("there are 19 verbs", () => expect(VERBS.length).toBe(19));

describe("finding", () => {
  const queries: [string, string][] = [
    ["switch to the new version without downtime", "deploy-blue-green"],
    ["how hot should the water be for green tea", "tea"],
    ["store amounts of money in cents", "float-money"],
    ["retry a payment without charging twice", "idempotency"],
    ["password of the guest network", "wifi"],
    ["Zug zu spät", "zug-de"],
    ["关键词检索", "recherche-zh"],
  ];
  test.each(queries)("%s → %s", async (query, id) => {
    expect(ids(await m.call("search", { collection: "notes", query, top_k: 3 }))).toContain(id);
  });

  test("a hit has an id and its metadata, no score, and text only when asked", async () => {
    const [hit] = (await m.call("search", { collection: "notes", query: "sourdough bread", top_k: 1 })).hits;
    expect(hit).toEqual({ id: "bread", metadata: { scope: "home", topic: "kitchen" } });
    const again = await m.call("search", { collection: "notes", query: "sourdough bread", top_k: 1, with_text: true });
    expect(again.hits[0].text).toStartWith("The sourdough");
  });

  test("where narrows", async () => {
    const all = await m.call("search", { collection: "notes", query: "water", top_k: 30, where: { scope: "home" } });
    expect(all.hits.every((hit: { metadata: { scope: string } }) => hit.metadata.scope === "home")).toBe(true);
    expect(all.hits.length).toBe((await m.call("count", { collection: "notes", where: { scope: "home" } })).count);
  });

  test("by word, with scores and what each term added", async () => {
    await expect(m.call("search_lexical", { collection: "notes", query: "cache" })).rejects.toThrow(/not built yet/);
    expect(await m.call("build_lexical", { collection: "notes" })).toMatchObject({ lexical_built: "notes" });
    const { hits } = await m.call("search_lexical", { collection: "notes", query: "cache stampede", explain: true });
    expect(hits[0].id).toBe("cache-stampede");
    const sum = hits[0].explain.reduce((total: number, term: { score: number }) => total + term.score, 0);
    expect(sum).toBeCloseTo(hits[0].score, 4);
    expect(ids(await m.call("search", { collection: "notes", query: "cache stampede" }))[0]).toBe("cache-stampede");
  });
});

describe("changing", () => {
  test("add creates, upsert replaces, update keeps metadata, delete tombstones", async () => {
    const c = { collection: "life" };
    const added = await m.call("add", { ...c, texts: ["one", "two"], metadata: [{ n: 1 }, null] });
    expect(added).toMatchObject({ added: 2, collection: "life" });
    const [first, second] = added.ids as string[];
    const rows = (await m.call("get", { ...c, ids: [first, second, "nobody"] })).rows;
    const times = { created: expect.any(Number), updated: expect.any(Number) };
    expect(rows).toEqual([
      { id: first!, found: true, metadata: { n: 1, scope: "default" }, text: "one", ...times },
      { id: second!, found: true, text: "two", ...times },
      { id: "nobody", found: false },
    ]);
    expect(await m.call("count", { ...c, where: { scope: "default" } })).toEqual({ collection: "life", count: 2 });
    expect(await m.call("upsert", { ...c, texts: ["uno", "tres"], ids: [first, "three"] })).toEqual({
      upserted: 2,
      collection: "life",
      notice: "1 replaced row had metadata and has none now: svc_update keeps metadata",
    });
    await m.call("upsert", { ...c, texts: ["drei"], ids: ["three"], metadata: [{ lang: "de" }] });
    expect(await m.call("update", { ...c, texts: ["III"], ids: ["three"] })).toEqual({
      updated: 1,
      collection: "life",
    });
    expect((await m.call("get", { ...c, ids: ["three"] })).rows[0]).toMatchObject({
      text: "III",
      metadata: { lang: "de" },
    });
    expect(await m.call("delete", { ...c, ids: ["three", "nobody"] })).toEqual({ deleted: 1, collection: "life" });
    expect((await m.call("ids", c)).ids).toEqual([first!, second!]);
    expect(await m.call("compact", c)).toEqual({ compacted: "life" });
    expect((await m.call("ids", c)).ids).toEqual([first!, second!]);
  });

  test("an add that fails leaves no collection behind", async () => {
    await expect(m.call("add", { collection: "never", texts: ["a", "b"], ids: ["x", "x"] })).rejects.toThrow(/'x'/);
    await expect(m.call("count", { collection: "never" })).rejects.toThrow(/does not exist/);
    expect((await m.call("list_collections")).collections).not.toContain("never");
  });

  test("a collection whose directory was removed is gone, and can be made again", async () => {
    await m.call("add", { collection: "removed", texts: ["a"], ids: ["a"] });
    rmSync(join(m.dir, "removed"), { recursive: true });
    await expect(m.call("count", { collection: "removed" })).rejects.toThrow(/'removed' does not exist/);
    await m.call("add", { collection: "removed", texts: ["b"], ids: ["b"] });
    expect((await m.call("ids", { collection: "removed" })).ids).toEqual(["b"]);
  });

  test("concurrent calls are answered one by one, none is lost", async () => {
    const calls = Array.from({ length: 20 }, (_, i) =>
      m.call("upsert", { collection: "busy", texts: [`text ${i}`], ids: [`id-${i % 10}`] }),
    );
    await Promise.all(calls);
    expect((await m.call("count", { collection: "busy" })).count).toBe(10);
  });

  test("null for an optional argument is as if it were not there", async () => {
    await m.call("add", { collection: "nulls", texts: ["a"], ids: null, metadata: null });
    const answer = await m.call("search", {
      collection: "nulls",
      query: "a",
      where: null,
      top_k: null,
      with_text: null,
    });
    expect(answer.hits.length).toBe(1);
    expect(await m.call("upsert", { collection: "nulls", texts: ["b"], ids: null })).toMatchObject({ upserted: 1 });
  });
});

describe("upkeep", () => {
  test("an IVF index is built per partition and finds what was added after", async () => {
    const texts = Array.from({ length: 400 }, (_, i) => `note ${i} about topic ${i % 20} and word${i}`);
    await m.call("add", { collection: "many", texts, ids: texts.map((_, i) => `n${i}`) });
    const built = await m.call("build_ivf", { collection: "many", min_rows: 100, target_recall: 0.9 });
    expect(built).toEqual({
      ivf_built: "many",
      min_rows: 100,
      target_recall: 0.9,
      partitions: 1,
      largest_partition: 400,
    });
    const stats = (await m.call("stats", { collection: "many" })).stats;
    expect(stats).toMatchObject({
      ivf_partitions: 1,
      default_target_recall: 0.9,
      external_ids: 400,
      key_name: "scope",
    });
    await m.call("add", { collection: "many", texts: ["a zebra crossing"], ids: ["late"] });
    expect(ids(await m.call("search", { collection: "many", query: "zebra crossing", top_k: 1 }))).toEqual(["late"]);
  });

  test("no IVF index is built where no partition is large enough, and the answer says so", async () => {
    await m.call("add", { collection: "few", texts: ["a", "b"], ids: ["a", "b"] });
    const before = (await m.call("stats", { collection: "few" })).stats;
    expect(await m.call("build_ivf", { collection: "few" })).toEqual({
      ivf_built: "few",
      min_rows: 20_000,
      target_recall: 0.98,
      partitions: 0,
      largest_partition: 2,
    });
    const { searches: _, ...after } = (await m.call("stats", { collection: "few" })).stats;
    expect(before).toMatchObject(after);
    expect(after).toMatchObject({ default_target_recall: 1 });
  });

  test("progress is reported and never passes its total", async () => {
    const texts = Array.from({ length: 300 }, (_, i) => `note ${i} about topic ${i % 7}`);
    await m.call("create_collection", { name: "watched", lexical: true, filter_columns: ["a", "b", "c"] });
    const more: Partial<Record<string, object>> = {
      add: { texts, ids: texts.map((_, i) => `${i}`) },
      upsert: { texts, ids: texts.map((_, i) => `${i}`) },
      update: { texts, ids: texts.map((_, i) => `${i}`) },
      build_ivf: { min_rows: 5 },
    };
    for (const verb of ["add", "upsert", "update", "compact", "build_lexical", "build_ivf", "tune"] as const) {
      const seen: [number, number][] = [];
      const args = { collection: "watched", ...more[verb] };
      await m.call(verb, args, { progress: (done, total) => seen.push([done, total]) });
      expect([verb, seen.length > 0]).toEqual([verb, true]);
      for (const [done, total] of seen) expect(done).toBeLessThanOrEqual(total);
    }
  });

  test("tune measures, plans, and applies only when it may", async () => {
    const { plan } = await m.call("tune", { collection: "notes", dry_run: true });
    expect(plan).toMatchObject({
      collection: "notes",
      tuner: "latency-budget",
      target_recall: 1,
      ivf: { enabled: false },
    });
    expect(plan.expected.p50_ms).toBeGreaterThan(0);
    expect(plan.expected.recall_at_k).toBe(1);
    expect((await m.call("stats", { collection: "notes" })).stats.applied_tuner).toBeNull();
    await m.call("tune", { collection: "notes", dry_run: false });
    expect((await m.call("stats", { collection: "notes" })).stats.applied_tuner).toMatchObject({
      tuner: "latency-budget",
    });
  });
});

describe("what is refused, and as what", () => {
  const refused: [VerbName, unknown, RegExp][] = [
    [
      "search",
      { collection: "nope", query: "x" },
      /^ValueError: collection 'nope' does not exist \(there are 'busy', .* and \d+ more\)$/,
    ],
    ["search", { collection: "notes", query: 5 }, /^TypeError: query must be/],
    ["search", { collection: "notes" }, /^TypeError: missing required argument 'query'/],
    ["search", { collection: "notes", query: "x", limit: 3 }, /^ValueError: unknown argument 'limit'/],
    ["search", { collection: "notes", query: "x", where: { scope: "a", topic: "b" } }, /^ValueError: .*scope.*topic/],
    ["search", { collection: "notes", query: "x", where: { colour: "red" } }, /^ValueError: column 'colour'/],
    ["search", { collection: "notes", query: "x", where: { scope: [1] } }, /^ValueError: .*array/],
    ["search", { collection: "notes", query: "x", top_k: 0 }, /^ValueError: .*top_k/],
    ["search", { collection: "notes", query: "x", top_k: 100_001 }, /^ValueError: .*100000/],
    ["search", { collection: "notes", query: "x", top_k: 1.5 }, /^TypeError: .*top_k/],
    ["search", { collection: "../notes", query: "x" }, /^ValueError: .*separator|^ValueError: .*dot/],
    ["add", { collection: "a/b", texts: ["x"] }, /^ValueError: collection name 'a\/b'/],
    ["add", { collection: "..", texts: ["x"] }, /^ValueError: collection name '..'/],
    ["add", { collection: "x", texts: [] }, /^ValueError: .*texts/],
    ["add", { collection: "x", texts: "text" }, /^TypeError: .*texts/],
    ["add", { collection: "x", texts: ["a", ""] }, /^ValueError: texts\[1\] is empty: /],
    ["upsert", { collection: "notes", texts: ["", "b"], ids: ["1", "2"] }, /^ValueError: texts\[0\] is empty: /],
    ["upsert", { collection: "notes", texts: [""], ids: null }, /^ValueError: texts\[0\] is empty: /],
    [
      "update",
      { collection: "notes", texts: ["a", "b", ""], ids: ["1", "2", "3"] },
      /^ValueError: texts\[2\] is empty: /,
    ],
    ["add", { collection: "x", texts: ["a"], ids: ["1", "2"] }, /^ValueError: ids has 2/],
    ["add", { collection: "x", texts: ["a"], metadata: [{}, {}] }, /^ValueError: metadata has 2/],
    ["add", { collection: "x", texts: ["a"], metadata: [[1]] }, /^TypeError: .*metadata\[0\]/],
    ["add", { collection: "x", texts: ["a"], ids: [""] }, /^ValueError: ids\[0\] is empty/],
    [
      "add",
      { collection: "x", texts: ["a"], metadata: [JSON.parse('{"n": 1e999}')] },
      /^ValueError: metadata\[0\]\.n is Infinity/,
    ],
    ["add", { collection: "notes", texts: ["a"], ids: ["tea"] }, /^KeyError: .*'tea'/],
    ["update", { collection: "notes", texts: ["a"], ids: ["nobody"] }, /^ValueError: .*'nobody'/],
    ["build_ivf", { collection: "notes", target_recall: 1.5 }, /^ValueError: .*target_recall/],
    ["build_lexical", { collection: "busy" }, /^RuntimeError: .*without a lexical index/],
    ["search_lexical", { collection: "busy", query: "x" }, /^RuntimeError: .*without a lexical index/],
    ["index_repo", { path: "/no/such/directory" }, /^ValueError: .*does not exist/],
    ["index_repo", { path: "/" }, /^ValueError: workspace '\/' is the root of the file system/],
    ["index_repo", { path: ".", collection: "notes" }, /^ValueError: .*partitioned by 'scope'/],
    ["create_collection", { name: "notes", partition_by: "tenant" }, /^ValueError: .*partition_by/],
    ["create_collection", { name: "NOTES" }, /^ValueError: .*only in case/],
  ];
  test.each(refused)("%s %j", async (verb, args, line) => {
    const error = await m.call(verb, args).catch((error) => error);
    expect(errorLine(error)).toMatch(line);
  });
});
