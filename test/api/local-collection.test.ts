/** What a collection of this process can do beyond the contract. */
import { beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Eq } from "../../src/api/eq.ts";
import type { LocalCollection } from "../../src/api/local-collection.ts";
import type { LocalStore } from "../../src/api/local-store.ts";
import { ArgumentTypeError, CancelledError, RuntimeError, ValueError } from "../../src/errors.ts";
import { scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { localStore } from "./fixture.ts";

const TEXTS = ["we deploy blue green on Tuesdays", "the cat sat on the mat", "invoices are paid within thirty days"];
const IDS = ["deploy", "cat", "invoice"];

let dir: string;
let store: LocalStore;
let notes: LocalCollection;

beforeEach(async () => {
  dir = scratchDir();
  store = await localStore(dir);
  notes = await store.createCollection("notes", { embedder: "multigram", lexical: true, filterColumns: ["kind"] });
  await notes.addTexts(TEXTS, { ids: IDS, metadata: [{ kind: "ops" }, { kind: "pet", scope: "home" }, null] });
});

test("a small search is answered without a promise, and its errors are thrown", async () => {
  const rows = await store.createCollection("rows", { dim: 4 });
  const vectors = unitVectors(5, 4, random(3));
  await rows.add(vectors);
  await rows.save();
  const query = vectors.subarray(0, 4);
  const answer = rows.searchAtOnce(query, { topK: 2 });
  expect(answer).not.toBeInstanceOf(Promise);
  expect(answer).toEqual(await rows.search(query, { topK: 2 }));
  expect(() => rows.searchAtOnce(vectors, {})).toThrow("the dimension is 4");
  rmSync(join(dir, "rows"), { recursive: true });
  expect(() => rows.searchAtOnce(query, {})).toThrow("does not exist");
});

describe("looking up", () => {
  test("has, size and count see unsaved changes at once", async () => {
    expect([notes.size, notes.has("cat"), notes.has("dog")]).toEqual([3, true, false]);
    await notes.delete(["cat"]);
    expect([notes.size, notes.has("cat")]).toEqual([2, false]);
    expect(await notes.count()).toBe(2);
    expect(await notes.count(Eq("scope", "default"))).toBe(2);
    expect(await notes.count(Eq("kind", "pet"))).toBe(0);
    await expect(notes.count(Eq("color", 1))).rejects.toThrow(ValueError);
    expect(await notes.count({})).toBe(2);
    expect(() => notes.has(7.5)).toThrow(ArgumentTypeError);
  });

  test("an integer stands for its decimal string wherever an id is taken", async () => {
    await notes.addTexts(["seven"], { ids: [7] });
    expect([notes.has(7), notes.has("7"), notes.has(8)]).toEqual([true, true, false]);
    expect(await notes.updateTexts(["eight"], { ids: [7] })).toBe(1);
    expect(await notes.get([7, 8, "7"], { withMetadata: false })).toEqual([
      { id: "7", found: true, text: "eight" },
      { id: "8", found: false },
      { id: "7", found: true, text: "eight" },
    ]);
    expect(() => notes.has(2 ** 53)).toThrow(ValueError);
    expect(notes.get([2 ** 53])).rejects.toThrow(ValueError);
    expect(notes.updateTexts(["nine"], { ids: [2 ** 53] })).rejects.toThrow(ValueError);
  });

  test("get answers in the order asked, with what was asked for", async () => {
    expect(await notes.get(["invoice", "nobody", "cat"])).toEqual([
      { id: "invoice", found: true, text: TEXTS[2]! },
      { id: "nobody", found: false },
      { id: "cat", found: true, metadata: { kind: "pet", scope: "home" }, text: TEXTS[1]! },
    ]);
    const [bare] = await notes.get(["cat"], { withMetadata: false, withText: false });
    expect(bare).toEqual({ id: "cat", found: true });
    const [row] = await notes.get(["cat"], { withVector: true });
    expect(row!.vector).toHaveLength(notes.schema.dim);
    expect((await notes.search(row!.vector!, { topK: 1 })).ids).toEqual(["cat"]);
  });
});

describe("updateTexts", () => {
  test("replaces text and vector, and keeps metadata where none is given", async () => {
    await notes.save();
    const updated = await notes.updateTexts(["the dog barks", "we deploy on Fridays"], {
      ids: ["cat", "deploy"],
      metadata: [null, { kind: "risk" }],
    });
    expect(updated).toBe(2);
    expect(await notes.get(["cat", "deploy"])).toEqual([
      { id: "cat", found: true, metadata: { kind: "pet", scope: "home" }, text: "the dog barks" },
      { id: "deploy", found: true, metadata: { kind: "risk", scope: "default" }, text: "we deploy on Fridays" },
    ]);
    expect((await notes.searchText("dog", { topK: 1 })).ids).toEqual(["cat"]);
    expect(await notes.stats()).toMatchObject({ unsaved_changes: true, generation: 1 });
  });

  test("an unknown id is a ValueError, and nothing changes", async () => {
    await notes.save();
    const update = notes.updateTexts(["x", "y"], { ids: ["cat", "nobody"] });
    await expect(update).rejects.toThrow(/1 of 2 ids, among them 'nobody'/);
    expect((await notes.get(["cat"]))[0]!.text).toBe(TEXTS[1]);
    expect(await notes.stats()).toMatchObject({ unsaved_changes: false });
    await expect(notes.updateTexts(["x"], { ids: ["cat", "deploy"] })).rejects.toThrow(ValueError);
    await expect(notes.updateTexts(["x"], {} as never)).rejects.toThrow(ArgumentTypeError);
  });
});

describe("searching by words", () => {
  test("needs an index; once built it follows later rows", async () => {
    await expect(notes.searchLexical("cat")).rejects.toThrow(RuntimeError);
    await notes.buildLexical();
    await notes.addTexts(["another cat"], { ids: ["late"] });
    expect((await notes.searchLexical("cat")).ids.toSorted()).toEqual(["cat", "late"]);
    const none = { ids: [], scores: [], notice: "none of the query's words is in 'notes'" };
    expect(await notes.searchLexical("aardvark")).toEqual(none);
  });

  test("answers with what was asked for; the words' shares add up to the score", async () => {
    await notes.buildLexical({ k1: 1.5, b: 0 });
    const answer = await notes.searchLexical("paid invoices", {
      topK: 1,
      where: Eq("scope", "default"),
      explain: true,
      withMetadata: true,
      withText: true,
    });
    expect(answer).toMatchObject({ ids: ["invoice"], metadata: [null], texts: [TEXTS[2]!] });
    const shares = answer.explain![0]!;
    expect(shares.length).toBeGreaterThan(0);
    expect(shares.reduce((sum, { score }) => sum + score, 0)).toBeCloseTo(answer.scores[0]!, 6);
  });

  test("searchText fuses both rankings, with no build, and explains each", async () => {
    const { ids, explain } = await notes.searchText("cat on a mat", { explain: true, topK: 2 });
    expect(ids[0]).toBe("cat");
    expect(explain!.mode).toBe("fused");
    expect(explain!.dense_scores![0]).toBeGreaterThan(0);
    expect(explain!.lexical_scores![0]).toBeGreaterThan(0);
  });

  test("a collection without lexical, and parameters outside their range", async () => {
    const plain = await store.createCollection("plain", { dim: 4 });
    await expect(plain.buildLexical()).rejects.toThrow(/'svc mem alter plain --lexical'/);
    await expect(notes.buildLexical({ k1: -1 })).rejects.toThrow(/^k1 must be a number of at least 0, got -1$/);
    await expect(notes.buildLexical({ b: 2 })).rejects.toThrow(/^b must be a number from 0 to 1, got 2$/);
  });
});

describe("approximate search", () => {
  const DIM = 32;
  const vectors = unitVectors(3000, DIM, random(7));

  test("an index is used below a recall of 1, also by default, and finds later rows", async () => {
    const c = await store.createCollection("vectors", { dim: DIM });
    await c.add(vectors);
    expect(await c.buildIvf({ minRows: 1000, targetRecall: 0.9 })).toBe(1);
    expect(await c.stats()).toMatchObject({ default_target_recall: 0.9, unsaved_changes: false });
    const mode = async (targetRecall?: number) =>
      (await c.search(vectors.subarray(0, DIM), { explain: true, targetRecall })).explain!.mode;
    expect(await mode()).toBe("ivf");
    expect(await mode(1)).toBe("exact");
    expect(await mode(0.99)).toBe("exact");
    await c.add(vectors.subarray(0, DIM), { ids: ["late"] });
    expect((await c.search(vectors.subarray(0, DIM), { topK: 2 })).ids).toContain("late");
    await expect(c.search(vectors.subarray(0, DIM), { targetRecall: 1.5 })).rejects.toThrow(ValueError);
  });

  test("options outside their range are ValueErrors", async () => {
    await expect(notes.buildIvf({ minRows: -1 })).rejects.toThrow(/^minRows must be an integer of at least 0, got -1$/);
    await expect(notes.buildIvf({ minRows: 1.5 })).rejects.toThrow(
      /^minRows must be an integer of at least 0, got 1.5$/,
    );
    await expect(notes.buildIvf({ targetRecall: 0 })).rejects.toThrow(
      /^targetRecall must be a number above 0 and at most 1, got 0$/,
    );
    await expect(notes.buildIvf({ targetRecall: 1.01 })).rejects.toThrow(ValueError);
  });

  test("without a large enough partition no index is built, old ones stay, staged changes are saved", async () => {
    expect(await notes.buildIvf({ minRows: 1000 })).toBe(0);
    expect(await notes.stats()).toMatchObject({ default_target_recall: 1, generation: 1, unsaved_changes: false });
    expect(await notes.buildIvf({ minRows: 1000 })).toBe(0);
    expect((await notes.stats()).generation).toBe(1);

    const c = await store.createCollection("vectors", { dim: DIM });
    await c.add(vectors);
    expect(await c.buildIvf({ minRows: 1000, targetRecall: 0.9 })).toBe(1);
    const { generation } = await c.stats();
    expect(await c.buildIvf({ minRows: 5000, targetRecall: 0.8 })).toBe(1);
    expect(await c.stats()).toMatchObject({ generation, ivf_partitions: 1, default_target_recall: 0.9 });
    const empty = await store.createCollection("empty", { dim: DIM });
    expect(await empty.buildIvf({ minRows: 0 })).toBe(0);
    expect((await empty.stats()).default_target_recall).toBe(1);
  });

  test("rows whose add is still queued count", async () => {
    const c = await store.createCollection("vectors", { dim: DIM });
    const added = c.add(vectors);
    expect(await c.buildIvf({ minRows: 3000, targetRecall: 0.9 })).toBe(1);
    await added;
  });

  test("long work reports how far it is", async () => {
    const c = await store.createCollection("vectors", { dim: DIM });
    await c.add(vectors);
    let last: [number, number] | undefined;
    await c.compact({ onProgress: (done, total) => (last = [done, total]) });
    expect(last).toBeDefined();
    expect(last![0]).toBeWithin(1, last![1] + 1);
  });
});

describe("cancelling", () => {
  const signal = AbortSignal.abort();

  test("an aborted call is a CancelledError and changes nothing", async () => {
    await notes.save();
    const calls: (() => Promise<unknown>)[] = [
      () => notes.addTexts(["x"], { signal }),
      () => notes.upsert([new Float32Array(notes.schema.dim)], { signal }),
      () => notes.updateTexts(["x"], { ids: ["cat"], signal }),
      () => notes.searchText("x", { signal }),
      () => notes.delete(["cat"], { signal }),
      () => notes.compact({ signal }),
      () => notes.buildIvf({ signal }),
      () => notes.buildLexical({ signal }),
      () => notes.tune({ signal }),
      () => notes.snapshot("/nowhere", { signal }),
    ];
    for (const call of calls) {
      const error = await call().catch((failure) => failure);
      expect(error).toBeInstanceOf(CancelledError);
    }
    expect(await notes.ids()).toEqual(IDS);
    expect(await notes.stats()).toMatchObject({ generation: 1, unsaved_changes: false });
  });

  test("a write that waits for another process's save can be cancelled", async () => {
    await notes.save();
    const other = await localStore(dir);
    await notes.delete(["cat"]);
    const theirs = await other.openCollection("notes");
    const error = await theirs.delete(["deploy"], { signal: AbortSignal.timeout(50) }).catch((failure) => failure);
    expect(error).toBeInstanceOf(CancelledError);
    await notes.save();
    expect(await theirs.delete(["deploy"])).toBe(1);
  });
});
