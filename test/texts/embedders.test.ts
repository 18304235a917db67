/** Custom embedders: checked, registered, and found again by their profile. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { LocalStore } from "../../src/api/local-store.ts";
import { ArgumentTypeError, CancelledError, ValueError } from "../../src/errors.ts";
import { CallableEmbedder, type EmbedFunction } from "../../src/texts/callable.ts";
import { spaceId } from "../../src/texts/embedder.ts";
import { freshStore, localStore } from "../api/fixture.ts";

/** Counts vowels: texts with the same vowels mean the same. */
const vowels: EmbedFunction = (texts) => texts.map((text) => [..."aeiou"].map((vowel) => text.split(vowel).length - 1));

const embedder = (embed: EmbedFunction, more = {}) =>
  new CallableEmbedder(embed, { modelId: "vowels", dimension: 5, ...more });

describe("CallableEmbedder", () => {
  test("rows may be arrays, floats, or one matrix; the answer is a matrix of its own", async () => {
    const forms: EmbedFunction[] = [
      () => [
        [1, 2, 3, 4, 5],
        [6, 7, 8, 9, 10],
      ],
      async () => [Float32Array.of(1, 2, 3, 4, 5), Float32Array.of(6, 7, 8, 9, 10)],
      () => Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    ];
    for (const form of forms) {
      expect([...(await embedder(form).embedDocuments(["a", "b"]))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }
    const shared = new Float32Array(5);
    expect(await embedder(() => shared).embedDocuments(["a"])).not.toBe(shared);
  });

  test("normalizes where asked to, and leaves zeros", async () => {
    const unit = embedder(
      () => [
        [3, 4, 0, 0, 0],
        [0, 0, 0, 0, 0],
      ],
      { normalize: true },
    );
    const vectors = await unit.embedDocuments(["a", "b"]);
    expect(vectors[0]).toBeCloseTo(0.6, 6);
    expect(vectors[1]).toBeCloseTo(0.8, 6);
    expect([...vectors.subarray(5)]).toEqual([0, 0, 0, 0, 0]);
    expect(unit.profile).toMatchObject({ provider: "callable", normalization: "l2", dimension: 5 });
  });

  test("queries may have a function of their own, and no function is called for no texts", async () => {
    const asked: string[] = [];
    const say =
      (who: string): EmbedFunction =>
      (texts) => {
        asked.push(who);
        return new Float32Array(texts.length * 5);
      };
    const both = embedder(say("documents"), { queries: say("queries") });
    await both.embedDocuments(["a"]);
    await both.embedQueries(["a"]);
    expect(await both.embedDocuments([])).toHaveLength(0);
    expect(asked).toEqual(["documents", "queries"]);
  });

  test("a wrong answer of a function is refused by name", async () => {
    const wrong: [unknown, RegExp][] = [
      [undefined, /vectors must be an array of vectors, got nothing/],
      [{ data: [] }, /vectors must be an array of vectors, got an object/],
      [[[1, 2, 3, 4, 5]], /vectors has 1 row for 2 texts/],
      [
        [
          [1, 2, 3, 4, 5],
          [1, 2],
        ],
        /vectors\[1\] has 2 numbers; the dimension is 5/,
      ],
      [[[1, 2, 3, 4, 5], null], /vectors\[1\] must be an array of numbers, got null/],
      [
        [
          [1, 2, 3, 4, 5],
          [1, 2, Number.NaN, 4, 5],
        ],
        /vectors\[1\]\[2\] is NaN or infinite/,
      ],
      [
        [
          [1, 2, 3, 4, 5],
          [1, 2, 1e39, 4, 5],
        ],
        /vectors\[1\]\[2\] is NaN or infinite/,
      ],
      [
        [
          [1, 2, 3, 4, 5],
          [1, 2, "x", 4, 5],
        ],
        /vectors\[1\]\[2\] must be a number, got the string 'x'/,
      ],
      [new Float32Array(9), /vectors holds 9 numbers, which is not a multiple of the dimension 5/],
    ];
    for (const [answer, sentence] of wrong) {
      const error = await embedder(() => answer as never)
        .embedDocuments(["a", "b"])
        .catch((failure) => failure);
      expect(error).toBeInstanceOf(/must be/.test(error.message) ? ArgumentTypeError : ValueError);
      expect(error.message).toMatch(sentence);
      expect(error.message).toContain("'vowels'");
    }
  });

  test("its profile is checked", () => {
    expect(() => embedder("no function" as never)).toThrow(ArgumentTypeError);
    expect(() => embedder(vowels, { queries: 7 })).toThrow(ArgumentTypeError);
    expect(() => embedder(vowels, { modelId: "" })).toThrow(ValueError);
    expect(() => embedder(vowels, { modelVersion: "" })).toThrow(ValueError);
    for (const dimension of [0, 1.5, 65_537, undefined]) {
      expect(() => embedder(vowels, { dimension })).toThrow(/^dimension must be an integer from 1 to 65536, got /);
    }
    const space = (more: object) => spaceId(embedder(vowels, more).profile);
    expect(space({})).toBe(space({ modelVersion: "1" }));
    expect(space({})).not.toBe(space({ modelVersion: "2" }));
    expect(space({})).not.toBe(space({ normalize: true }));
  });
});

describe("collections with a custom embedder", () => {
  let dir: string;
  let store: LocalStore;

  beforeEach(async () => {
    ({ dir, store } = await freshStore());
  });

  test("an instance makes the collection, and a later process registers it", async () => {
    const c = await store.createCollection("c", { embedder: embedder(vowels) });
    await c.addTexts(["banana", "kiwi"], { ids: ["a", "i"] });
    const answer = { ids: ["a", "i"], explain: { mode: "fused", dense_scores: [9, 0], lexical_scores: [null, null] } };
    expect(await c.searchText("papaya", { explain: true })).toMatchObject(answer);
    await c.save();

    await using later = await localStore(dir);
    const again = await later.openCollection("c");
    await expect(again.searchText("papaya")).rejects.toThrow(/vowels version 1.*register that embedder/);
    expect(again.has("a")).toBe(true);
    later.registerEmbedder("mine", embedder(vowels));
    expect((await again.searchText("papaya", { topK: 1 })).ids).toEqual(["a"]);
    expect(() => later.registerEmbedder("mine", embedder(vowels))).toThrow(ValueError);
    expect(() => later.registerEmbedder("bigram", embedder(vowels))).toThrow(ValueError);
  });

  test("a failure of the function reaches the caller as it is, and nothing is written", async () => {
    const c = await store.createCollection("c", {
      embedder: embedder(() => {
        throw new Error("the model is on fire");
      }),
    });
    await c.save();
    await expect(c.addTexts(["text"])).rejects.toThrow("the model is on fire");
    await expect(c.searchText("text")).rejects.toThrow("the model is on fire");
    expect(await c.stats()).toMatchObject({ external_ids: 0, unsaved_changes: false });
  });

  test("a slow function can be cancelled; its signal is aborted", async () => {
    let heard = false;
    const slow = embedder(async (_, signal) => {
      await new Promise((resolve) => signal!.addEventListener("abort", resolve));
      heard = true;
      throw new Error("stopped");
    });
    const c = await store.createCollection("c", { embedder: slow });
    const add = c.addTexts(["text"], { signal: AbortSignal.timeout(20) });
    await expect(add).rejects.toBeInstanceOf(CancelledError);
    expect([heard, c.size]).toEqual([true, 0]);
  });
});
