/** Newer rows preferred: the shares, the order, and that nothing changes without. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { LocalCollection } from "../../src/api/local-collection.ts";
import type { LocalStore } from "../../src/api/local-store.ts";
import { type Recency, readRecency } from "../../src/checks/recency.ts";
import { ArgumentTypeError, ValueError } from "../../src/errors.ts";
import { sharesOf } from "../../src/texts/recency.ts";
import { localStore } from "../api/fixture.ts";
import { scratchDir, TestMemory } from "../fixture.ts";
import { random } from "../random.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 22);
const by = (recency: Partial<Recency> = {}) => ({ field: "at", halfLifeDays: 10, weight: 0.2, ...recency });

describe("shares", () => {
  test("halve with each half-life; a row without a time gets the median", () => {
    const times = [NOW, NOW - 10 * DAY, undefined, NOW - 20 * DAY];
    expect(sharesOf(times, by())).toEqual([
      expect.closeTo(0.2),
      expect.closeTo(0.1),
      expect.closeTo(0.1),
      expect.closeTo(0.05),
    ]);
    const even = sharesOf([NOW, NOW - 10 * DAY, undefined], by());
    expect(even[2]).toBeCloseTo((even[0]! + even[1]!) / 2, 12);
  });

  test("ages are counted to now, and none is below 0", () => {
    const shares = sharesOf([NOW, NOW + DAY], by({ now: NOW - 10 * DAY }));
    expect(shares).toEqual([expect.closeTo(0.2), expect.closeTo(0.2)]);
    expect(sharesOf([NOW], by({ now: NOW + 10 * DAY }))[0]).toBeCloseTo(0.1, 10);
    expect(sharesOf([NOW, 0], by({ halfLifeDays: Number.MIN_VALUE }))).toEqual([expect.closeTo(0.2), 0]);
    expect(sharesOf([NOW, 0], by({ halfLifeDays: Number.MAX_VALUE }))).toEqual([
      expect.closeTo(0.2),
      expect.closeTo(0.2),
    ]);
  });

  test("without any time nothing is added; a million candidates are not a matter", () => {
    expect(sharesOf([undefined, undefined], by())).toEqual([0, 0]);
    expect(sharesOf([], by())).toEqual([]);
    expect(sharesOf(new Array(1_000_000).fill(NOW), by())[999_999]).toBeCloseTo(0.2);
  });
});

describe("what callers say", () => {
  const good = { field: "at", half_life_days: 3, weight: 0.3 };
  const read = (value: unknown) => readRecency(value, "recency", "half_life_days");

  test("is read", () => {
    expect(read(good)).toEqual({ field: "at", halfLifeDays: 3, weight: 0.3, now: undefined });
    expect(read({ ...good, now: "2026-11-22" }).now).toBe(NOW);
    expect(read({ ...good, now: null }).now).toBeUndefined();
  });

  const REFUSED: [unknown, new (message: string) => Error, string][] = [
    [{ ...good, weight: 0.31 }, ValueError, "recency.weight must be a number above 0 and at most 0.3, got 0.31"],
    [{ ...good, weight: 0 }, ValueError, "recency.weight must be a number above 0 and at most 0.3, got 0"],
    [{ ...good, weight: Number.NaN }, ValueError, "recency.weight must be a number above 0 and at most 0.3, got NaN"],
    [{ ...good, half_life_days: 0 }, ValueError, "recency.half_life_days must be a number above 0, got 0"],
    [{ ...good, half_life_days: Number.POSITIVE_INFINITY }, ValueError, "recency.half_life_days must be"],
    [
      { ...good, half_life: 3 },
      ValueError,
      "unknown part 'half_life' of recency: it takes field, half_life_days, weight, now",
    ],
    [{ ...good, now: "soon" }, ValueError, "recency.now is the string 'soon', which is not a time"],
    [{ ...good, now: Number.NaN }, ValueError, "recency.now is NaN, which is not a time"],
    [{ ...good, field: "" }, ValueError, "recency.field is empty"],
    [{ ...good, field: 7 }, ArgumentTypeError, "recency.field must be a string, got 7"],
    [{ half_life_days: 3, weight: 0.3 }, ArgumentTypeError, "recency.field must be a string, got nothing"],
    [{ field: "at", weight: 0.3 }, ArgumentTypeError, "recency.half_life_days must be a number above 0, got nothing"],
    ["updated", ArgumentTypeError, "recency must be an object of field, half_life_days, weight, now"],
    [[], ArgumentTypeError, "recency must be an object"],
  ];
  test.each(REFUSED)("%p is refused", (value, type, message) => {
    expect(() => read(value)).toThrow(type);
    expect(() => read(value)).toThrow(message);
  });
});

describe("a search", () => {
  let dir: string;
  let store: LocalStore;
  let notes: LocalCollection;
  const texts: string[] = [];
  const query = "deploy of the service on Tuesday";

  beforeAll(async () => {
    dir = scratchDir();
    store = await localStore(dir);
    notes = await store.createCollection("notes", { embedder: "multigram" });
    const next = random(11);
    const words = ["deploy", "service", "Tuesday", "rollback", "alert", "budget", "kitchen", "garden", "train", "song"];
    for (let i = 0; i < 400; i++) {
      texts.push(Array.from({ length: 6 }, () => words[Math.floor(next() * words.length)]).join(" "));
    }
    // Days as ISO 8601 or milliseconds; of some rows there is none, or none that can be read.
    const metadata = texts.map((_, i) => {
      const time = NOW - Math.floor(next() * 100) * DAY;
      return [{ at: new Date(time).toISOString() }, { at: time }, {}, { at: "last week" }, { at: [time] }][i % 5]!;
    });
    await notes.addTexts(texts, { ids: texts.map((_, i) => `${i}`), metadata });
    await notes.save();
  });
  afterAll(() => store.close());

  test("without recency is what it was", async () => {
    const plain = await notes.searchText(query, { topK: 7, explain: true });
    expect(plain.explain).not.toHaveProperty("recency_shares");
    expect(await notes.searchText(query, { topK: 7, explain: true, recency: undefined })).toEqual(plain);
    expect(await notes.searchText(query, { topK: 7, explain: true, recency: null as never })).toEqual(plain);
  });

  test("adds the share to the fused score, and says it", async () => {
    const recency = { field: "at", halfLifeDays: 30, weight: 0.3, now: "2026-11-22" };
    const options = { topK: 10, explain: true, withMetadata: true };
    const found = await notes.searchText(query, { ...options, recency });
    const shares = found.explain!.recency_shares!;
    expect(found.explain!.mode).toBe("fused");
    expect(found.ids.length).toBe(10);
    expect(found.scores).toEqual(found.scores.toSorted((a, b) => b - a));
    found.metadata!.forEach((metadata, i) => {
      const time = new Date(metadata?.at as string | number).getTime();
      if (Number.isNaN(time) || Array.isArray(metadata?.at)) return;
      expect(shares[i]).toBeCloseTo(0.3 * 2 ** (-(NOW - time) / DAY / 30), 8);
    });
    // Less its share, a score is that of the search without.
    const plain = await notes.searchText(query, { topK: 33, explain: true });
    const scoreOf = new Map(plain.ids.map((id, i) => [id, plain.scores[i]!]));
    const common = found.ids.filter((id) => scoreOf.has(id));
    expect(common.length).toBeGreaterThan(3);
    for (const id of common) {
      const i = found.ids.indexOf(id);
      expect(found.scores[i]! - shares[i]!).toBeCloseTo(scoreOf.get(id)!, 9);
    }
    // Every row that is better with its share is there: none was cut off before.
    const most = Math.max(...shares);
    const last = found.scores.at(-1)!;
    for (const [i, id] of plain.ids.entries()) if (plain.scores[i]! > last + 1e-9) expect(found.ids).toContain(id);
    expect(most).toBeLessThanOrEqual(0.3);
  });

  test("a field that no row has changes no order; times and metadata come only where they are asked for", async () => {
    const plain = await notes.searchText(query, { topK: 9 });
    const recency = { field: "nothing", halfLifeDays: 1, weight: 0.3 };
    expect(await notes.searchText(query, { topK: 9, recency })).toEqual(plain);
    const own = await notes.searchText(query, { topK: 9, withTimes: true, recency: { ...recency, field: "updated" } });
    expect(own.ids).toEqual(plain.ids); // all of one call
    expect(own.updated).toHaveLength(9);
  });

  test("prefers what was updated last; equal scores are in the order of insertion", async () => {
    const twins = await store.createCollection("twins", { embedder: "multigram" });
    await twins.addTexts(["same words here", "same words here", "same words here"], { ids: ["a", "b", "c"] });
    const recency = { field: "updated", halfLifeDays: 1e-9, weight: 0.001 };
    expect((await twins.searchText("same words", { recency })).ids).toEqual(["a", "b", "c"]);
    const now = Date.now();
    while (Date.now() <= now + 1) await Bun.sleep(1);
    await twins.upsertTexts(["same words here"], { ids: ["b"] });
    expect((await twins.searchText("same words", { recency })).ids).toEqual(["b", "a", "c"]);
    const created = { ...recency, field: "created" };
    expect((await twins.searchText("same words", { recency: created })).ids).toEqual(["a", "b", "c"]);
    expect((await twins.searchText("same words", { recency, topK: 1 })).ids).toEqual(["b"]);
    await twins.save();
  });

  test("by vector alone, scores are brought to the fusion's scale first", async () => {
    const at = [NOW, NOW - 1000 * DAY];
    const lone = await store.createCollection("lone", { embedder: "multigram" });
    const metadata = texts.map((_, i) => ({ at: at[i % 2]! }));
    await lone.addTexts(texts, { ids: texts.map((_, i) => `${i}`), metadata });
    await lone.save();
    await lone.compact();
    const folder = join(dir, "lone");
    for (const name of readdirSync(folder)) if (name.startsWith("lexical-")) rmSync(join(folder, name));
    await using damaged = await localStore(dir);
    const collection = await damaged.openCollection("lone");
    const recency = { field: "at", halfLifeDays: 1, weight: 0.3 };
    const found = await collection.searchText(query, { topK: 20, explain: true, recency });
    expect([found.explain!.mode, found.notice]).toEqual(["exact", expect.stringContaining("word index")]);
    const plain = await collection.searchText(query, { topK: 100 });
    const mean = plain.scores.reduce((a, b) => a + b, 0) / 100;
    const deviation = Math.sqrt(plain.scores.reduce((a, b) => a + (b - mean) ** 2, 0) / 100);
    found.ids.forEach((id, i) => {
      const score = (plain.scores[plain.ids.indexOf(id)]! - mean) / deviation;
      expect(found.scores[i]).toBeCloseTo(score + (Number(id) % 2 === 0 ? 0.3 : 0), 6);
    });
    await collection.compact();
  });
});

test("svc_search takes it, with texts and times as asked for", async () => {
  const m = await TestMemory.open();
  const c = { collection: "log" };
  const at = ["2026-01-01", "2026-11-01", "2026-06-01"];
  await m.call("add", {
    ...c,
    ids: ["jan", "nov", "jun"],
    texts: at.map(() => "the plan"),
    metadata: at.map((at) => ({ at })),
  });
  const ask = { ...c, query: "plan", recency: { field: "at", half_life_days: 30, weight: 0.1 } };
  const { hits } = await m.call("search", ask);
  expect(hits).toEqual(
    ["nov", "jun", "jan"].map((id, i) => ({ id, metadata: { at: at[[1, 2, 0][i]!], scope: "default" } })),
  );
  const full = (await m.call("search", { ...ask, top_k: 1, with_text: true, with_times: true })).hits;
  expect(full).toEqual([{ ...hits[0], text: "the plan", created: expect.any(Number), updated: expect.any(Number) }]);
  const own = { field: "updated", half_life_days: 1, weight: 0.1 };
  expect(Object.keys((await m.call("search", { ...ask, recency: own })).hits[0])).toEqual(["id", "metadata"]);
  await expect(m.call("search", { ...ask, recency: { ...ask.recency, weight: 1 } })).rejects.toThrow("recency.weight");
});
