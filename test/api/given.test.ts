/** Arguments of callers without types: a wrong kind is a TypeError that names it, a wrong value a ValueError. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { LocalStore } from "../../src/api/local-store.ts";
import { recallOf } from "../../src/checks/numbers.ts";
import { readStrings } from "../../src/checks/strings.ts";
import { readMatrix } from "../../src/checks/vectors.ts";
import { ArgumentTypeError, type SvcError, ValueError } from "../../src/errors.ts";
import { localStore } from "./fixture.ts";

let store: LocalStore;
beforeEach(async () => {
  store = await localStore();
});

const failureOf = (call: Promise<unknown>) => call.catch((error) => error) as Promise<SvcError>;

describe("a new collection", () => {
  const WRONG: [string, unknown, string][] = [
    ["dtype", 16, "dtype must be a string, got 16"],
    ["metric", false, "metric must be a string, got false"],
    ["dim", "8", "dim must be an integer from 1 to 65536, got the string '8'"],
    ["partitionBy", {}, "partitionBy must be a string, got an object"],
    ["filterColumns", "album", 'filterColumns must be an array of strings, as in ["a", "b"], got the string \'album\''],
    // biome-ignore lint/suspicious/noSparseArray: what is tested
    ["filterColumns", ["a", , "b"], "filterColumns[1] must be a string, got nothing"],
    ["lexical", "yes", "lexical must be true or false, got the string 'yes'"],
    ["embedder", 7, "embedder must be a name or an embedder, got 7"],
  ];
  test.each(WRONG)("%s of another kind is a TypeError", async (key, value, sentence) => {
    const error = await failureOf(store.createCollection("c", { dim: 2, [key]: value }));
    expect(error).toBeInstanceOf(ArgumentTypeError);
    expect(error.message).toBe(sentence);
  });

  test("a name of another kind is a TypeError, an unknown word a ValueError", async () => {
    expect(await failureOf(store.createCollection(7 as never, { dim: 2 }))).toBeInstanceOf(ArgumentTypeError);
    expect(await failureOf(store.openCollection(7 as never))).toBeInstanceOf(ArgumentTypeError);
    const error = await failureOf(store.createCollection("c", { dim: 2, dtype: "f64" }));
    expect(error).toBeInstanceOf(ValueError);
    expect(error.message).toMatch(/^dtype must be one of f32, .*got 'f64'$/);
  });

  test("null is as if it were left out", async () => {
    const nothing = {
      dtype: null,
      metric: null,
      partitionBy: null,
      filterColumns: null,
      embedder: null,
      lexical: null,
    };
    const { schema } = await store.createCollection("c", { dim: 2, ...(nothing as object) });
    expect(schema).toMatchObject({ dtype: "f32", metric: "inner_product", keyName: "scope", filterColumns: ["scope"] });
  });
});

describe("sparse arrays", () => {
  test("a hole is not a vector, and nothing is added", async () => {
    const c = await store.createCollection("c", { dim: 2 });
    // biome-ignore lint/suspicious/noSparseArray: what is tested
    const error = await failureOf(c.add([, [1, 1]] as never, { ids: ["a", "b"] }));
    expect(error).toBeInstanceOf(ArgumentTypeError);
    expect(error.message).toBe("vectors[0] must be an array of numbers, got nothing");
    expect(c.size).toBe(0);
    expect(() => readMatrix(new Array(2), "vectors", 2)).toThrow(ArgumentTypeError);
    // biome-ignore lint/suspicious/noSparseArray: what is tested
    expect(() => readMatrix([[1, , 3]], "vectors", 3)).toThrow("vectors[0][1] must be a number, got nothing");
  });

  test("a hole is not a string", () => {
    // biome-ignore lint/suspicious/noSparseArray: what is tested
    expect(() => readStrings(["a", , "c"], "ids")).toThrow("ids[1] must be a string, got nothing");
  });
});

describe("a recall", () => {
  test("is a number above 0 and at most 1, or not there", () => {
    expect([recallOf({}), recallOf({ targetRecall: undefined })]).toEqual([undefined, undefined]);
    expect([recallOf({ targetRecall: 1 }), recallOf({ targetRecall: 0.5 })]).toEqual([1, 0.5]);
    for (const [value, came] of [
      ["0.9", "the string '0.9'"],
      [true, "true"],
      [[0.9], "an array"],
    ]) {
      const sentence = `targetRecall must be a number above 0 and at most 1, got ${came}`;
      expect(() => recallOf({ targetRecall: value as never })).toThrow(new ArgumentTypeError(sentence));
    }
    for (const targetRecall of [0, -1, 1.1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => recallOf({ targetRecall })).toThrow(ValueError);
    }
  });

  test("of another kind is a TypeError wherever it is taken", async () => {
    const c = await store.createCollection("c", { embedder: "multigram" });
    const options = { targetRecall: "0.9" } as never;
    expect(await failureOf(c.buildIvf(options))).toBeInstanceOf(ArgumentTypeError);
    expect(await failureOf(c.searchText("x", options))).toBeInstanceOf(ArgumentTypeError);
  });
});
