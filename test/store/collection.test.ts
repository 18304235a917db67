/** A collection through the real library: what changes do, what queries see, what is on disk. */
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { KeyError, ValueError } from "../../src/errors.ts";
import type { Collection } from "../../src/store/collection.ts";
import type { Store } from "../../src/store/store.ts";
import { Put } from "../../src/store/writer.ts";
import { fileWith, flipBits } from "../collection-files.ts";
import { openStore } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";

const DIM = 16;
let store: Store;
let notes: Collection;

beforeEach(async () => {
  store = await openStore();
  notes = store.create("notes", { dim: DIM, filterColumns: ["kind"], lexical: true });
});

function rows(ids: string[], seed = 1, metadata?: Record<string, unknown>[]) {
  return {
    ids,
    vectors: unitVectors(ids.length, DIM, random(seed)),
    texts: ids.map((id) => `text of ${id}`),
    metadata,
  };
}

describe("saving", () => {
  test("nothing is on disk before the first save, and the manifest is the commit point", async () => {
    expect(existsSync(join(store.dir, "notes"))).toBe(false);
    expect(store.list()).toEqual([]);
    await notes.add(rows(["a", "b"]));
    expect(store.list()).toEqual(["notes"]);
    const names = readdirSync(join(store.dir, "notes")).sort();
    expect(names).toContain("collection.json");
    expect(names).toContain("id_map.npy");
    expect(names.some((name) => name.startsWith("base-"))).toBe(true);
  });

  test("a note is saved with the rows of its change, or not at all", async () => {
    const given = { file: "x", bytes: 3 };
    await notes.change(async (t) => {
      await t.put(Put.ADD, rows(["a"]));
      t.note("repo-1", given);
      expect(notes.note("repo-1")).toEqual(given);
    });
    expect(notes.note("repo-1")).toEqual(given);
    const failed = notes.change(async (t) => {
      await t.put(Put.ADD, rows(["b"]));
      t.note("repo-1", { file: "y" });
      throw new Error("stopped");
    });
    expect(failed).rejects.toThrow("stopped");
    await failed.catch(() => {});
    expect([notes.note("repo-1"), notes.count()]).toEqual([given, 1]);
    await notes.compact();
    const { generation } = notes;
    await notes.change(async (t) => t.note("other", null));
    expect([notes.note("repo-1"), notes.note("other"), notes.generation]).toEqual([given, null, generation + 1]);
    const wrong = notes.change(async (t) => t.note("a b", 1));
    expect(wrong).rejects.toThrow(ValueError);
    await wrong.catch(() => {});
    await notes.change(async (t) => {
      for (const name of ["repo-1", "other", "none"]) t.note(name, undefined);
    });
    expect(notes.manifest().notes).toEqual({});
    expect(notes.note("constructor")).toBeUndefined();
  });

  test("the manifest has its keys in their order", async () => {
    await notes.add(rows(["a"]));
    const manifest = JSON.parse(readFileSync(join(store.dir, "notes/collection.json"), "utf8"));
    expect(Object.keys(manifest).slice(0, 11)).toEqual([
      "name",
      "dim",
      "dtype",
      "key_name",
      "filter_columns",
      "id_map",
      "telys_version",
      "default_target_recall",
      "applied_tuner",
      "lexical",
      "embedder_profile",
    ]);
    expect(manifest).toMatchObject({ name: "notes", dim: DIM, dtype: "f32", key_name: "scope", live_rows: 1 });
    expect(manifest.filter_columns).toEqual(["scope", "kind"]);
  });

  test("a directory without a manifest is not a collection", async () => {
    mkdirSync(join(store.dir, "half"), { recursive: true });
    writeFileSync(join(store.dir, "half/notes.txt"), "mine");
    expect(store.list()).toEqual([]);
    expect(() => store.open("half")).toThrow(/'half' does not exist \(create it first\)/);
  });

  test("what was saved is there for every process that opens the directory", async () => {
    await notes.add(rows(["a", "b"], 1, [{ scope: "x", n: 1 }, { scope: "y" }]));
    await notes.upsert(rows(["b", "c"], 2));
    await notes.delete(["a"]);
    const other = await openStore(store.dir);
    const again = other.open("notes");
    expect(again.ids()).toEqual(["b", "c"]);
    expect(again.get(["a", "b"]).map((row) => row.found)).toEqual([false, true]);
    expect(again.get(["c"])[0]!.text).toBe("text of c");
  });
});

describe("rows", () => {
  test("adding an id that exists is a KeyError and writes nothing of the batch", async () => {
    await notes.add(rows(["a"]));
    const generation = notes.generation;
    await expect(notes.add(rows(["x", "a", "y"]))).rejects.toThrow(KeyError);
    await expect(notes.add(rows(["x", "x"]))).rejects.toThrow(/: 'x'$/);
    expect(notes.ids()).toEqual(["a"]);
    expect(notes.generation).toBe(generation);
  });

  test("NaN and numbers beyond f32 are refused by their place, and nothing is written", async () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 1e39]) {
      const put = rows(["a", "b"]);
      put.vectors[DIM + 3] = bad;
      await expect(notes.add(put)).rejects.toThrow(/^vectors\[1\]\[3\] is NaN or infinite/);
    }
    expect(notes.count()).toBe(0);
  });

  test("upsert replaces, keeps the place, and the last of a repeated id wins", async () => {
    await notes.add(rows(["a", "b"]));
    const put = rows(["a", "c", "a"], 3);
    put.texts = ["first", "new", "last"];
    expect(await notes.upsert(put)).toEqual({ inserted: 1, replaced: 1 });
    expect(notes.ids()).toEqual(["a", "b", "c"]);
    expect(notes.get(["a"])[0]!.text).toBe("last");
    expect(notes.count()).toBe(3);
  });

  test("delete counts what was live and passes over the rest", async () => {
    await notes.add(rows(["a", "b"]));
    expect(await notes.delete(["b", "nobody", "b"])).toBe(1);
    expect(await notes.delete(["b"])).toBe(0);
    expect(notes.ids()).toEqual(["a"]);
    expect(await notes.add(rows(["b"]))).toBe(1);
    expect(notes.ids()).toEqual(["a", "b"]);
  });

  test("ids page in insertion order", async () => {
    const all = Array.from({ length: 25 }, (_, i) => `id-${i}`);
    for (let i = 0; i < 25; i += 5) await notes.add(rows(all.slice(i, i + 5), i));
    const pages: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = notes.ids({ after, limit: 7 });
      if (page.length === 0) break;
      pages.push(...page);
      after = page.at(-1);
    }
    expect(pages).toEqual(all);
    expect(() => notes.ids({ after: "nobody" })).toThrow(ValueError);
  });

  test("filters see typed values, null and missing alike", async () => {
    const metadata = [{ kind: 1 }, { kind: "1" }, { kind: true }, { kind: null }, {}, { kind: [1] }];
    await notes.add(rows(["num", "str", "bool", "null", "none", "arr"], 1, metadata));
    expect(notes.ids({ where: { column: "kind", value: 1.0 } })).toEqual(["num"]);
    expect(notes.ids({ where: { column: "kind", value: "1" } })).toEqual(["str"]);
    expect(notes.ids({ where: { column: "kind", value: true } })).toEqual(["bool"]);
    expect(notes.ids({ where: { column: "kind", value: null } })).toEqual(["null", "none"]);
    expect(notes.count({ column: "kind", value: "nothing" })).toBe(0);
  });

  test("metadata comes back as it went in", async () => {
    const metadata = JSON.parse('{"scope":"s","deep":{"a":[1,2,{"b":null}]},"__proto__":{"x":1},"e":"é\\u0000"}');
    await notes.add(rows(["a"], 1, [metadata]));
    expect(JSON.stringify(notes.get(["a"])[0]!.metadata)).toBe(JSON.stringify(metadata));
  });
});

describe("searching", () => {
  /** The oracle: every inner product, sorted. */
  function bruteForce(query: Float32Array, vectors: Float32Array, ids: string[], k: number): string[] {
    const scores = ids.map((id, row) => {
      let sum = 0;
      for (let i = 0; i < DIM; i++) sum += query[i]! * vectors[row * DIM + i]!;
      return { id, sum };
    });
    return scores
      .sort((a, b) => b.sum - a.sum)
      .slice(0, k)
      .map(({ id }) => id);
  }

  test("exact search is brute force, over base and delta, before and after compaction", async () => {
    const seed = 42;
    const next = random(seed);
    const ids = Array.from({ length: 300 }, (_, i) => `r${i}`);
    const vectors = unitVectors(300, DIM, next);
    for (let i = 0; i < 300; i += 60) {
      await notes.add({ ids: ids.slice(i, i + 60), vectors: vectors.slice(i * DIM, (i + 60) * DIM) });
    }
    const queries = unitVectors(20, DIM, next);
    const answers = async () => {
      const lists: string[][] = [];
      for (let q = 0; q < 20; q++) {
        const answer = await notes.search(queries.slice(q * DIM, (q + 1) * DIM), { topK: 10 });
        lists.push(answer.rows.map((row) => row.id));
      }
      return lists;
    };
    const truth = Array.from({ length: 20 }, (_, q) =>
      bruteForce(queries.slice(q * DIM, (q + 1) * DIM), vectors, ids, 10),
    );
    expect(await answers()).toEqual(truth);
    await notes.compact();
    expect(await answers()).toEqual(truth);
    expect(notes.stats().delta_rows).toBe(0);
  });

  test("a query of the wrong length is a ValueError", async () => {
    await expect(notes.search(new Float32Array(3), { topK: 1 })).rejects.toThrow(
      /^vector has 3 numbers; the dimension is 16$/,
    );
  });

  test("top_k beyond the rows gives all of them", async () => {
    await notes.add(rows(["a", "b", "c"]));
    const answer = await notes.search(unitVectors(1, DIM, random(5)), { topK: 1000 });
    expect(answer.rows.length).toBe(3);
  });
});

describe("upkeep", () => {
  test("compaction reclaims rows and changes no answer", async () => {
    await notes.add(rows(["a", "b", "c"]));
    await notes.upsert(rows(["a"], 9));
    await notes.delete(["b"]);
    expect(await notes.compact()).toEqual({ reclaimedRows: 2, liveRows: 2 });
    expect(notes.ids()).toEqual(["a", "c"]);
    expect(notes.stats()).toMatchObject({ live_rows: 2, base_rows: 2, delta_rows: 0 });
  });

  test("the lexical index sees rows that come and go afterwards", async () => {
    await notes.add(rows(["a", "b"]));
    await expect(notes.searchLexical("text", { topK: 5 })).rejects.toThrow(/not built/);
    await notes.buildLexical(1.2, 0.75);
    const put = rows(["c"]);
    put.texts = ["an aardvark"];
    await notes.add(put);
    expect((await notes.searchLexical("aardvark", { topK: 5 })).map((row) => row.id)).toEqual(["c"]);
    await notes.delete(["c"]);
    expect(await notes.searchLexical("aardvark", { topK: 5 })).toEqual([]);
  });

  test("a cancelled rewrite leaves the last saved state", async () => {
    await notes.add(rows(["a", "b"]));
    const signal = AbortSignal.abort();
    await expect(notes.compact({ signal })).rejects.toThrow(/cancelled/);
    expect(notes.ids()).toEqual(["a", "b"]);
    expect(await notes.add(rows(["c"]))).toBe(1);
  });

  test("verify names what is damaged", async () => {
    await notes.add(rows(["a", "b"]));
    await notes.verify();
    const path = fileWith(join(store.dir, "notes"), "base-");
    const { vector } = notes.get(["b"], { vector: true })[0]!;
    flipBits(path, readFileSync(path).indexOf(Buffer.from(vector!.buffer)));
    const other = await openStore(store.dir);
    const check = async () => other.open("notes").verify();
    await expect(check()).rejects.toThrow(new RegExp(`damaged: .*${basename(path)}`));
  });
});

describe("names and schemas", () => {
  test("creating again agrees or says how it differs", async () => {
    expect(store.create("notes", { dim: DIM, filterColumns: ["kind"], lexical: true })).toBe(notes);
    expect(() => store.create("notes", { dim: DIM, filterColumns: ["other"], lexical: true })).toThrow(
      /filter_columns/,
    );
    expect(() => store.create("notes", { dim: 8 })).toThrow(/its dim is 16, not 8/);
  });

  test("a name that differs only in case is refused", () => {
    expect(() => store.create("Notes", { dim: DIM })).toThrow(/only in case from 'notes'/);
  });
});

describe("weighted queries", () => {
  /** The first dimension is large in all rows. */
  const tilted = (n: number) => {
    const vectors = unitVectors(n, DIM, random(3));
    for (let i = 0; i < n; i++) vectors[i * DIM] = 0.9;
    return vectors;
  };

  test("are divided by the smoothed mean squares, the same one by one, together and compacted", async () => {
    const n = 50;
    const vectors = tilted(n);
    await notes.add({ ...rows(Array.from({ length: n }, (_, i) => `r${i}`)), vectors });
    await notes.delete(["r7"]);
    const live = Array.from({ length: n }, (_, i) => i).filter((i) => i !== 7);
    const squares = Array.from({ length: DIM }, (_, d) => live.reduce((sum, i) => sum + vectors[i * DIM + d]! ** 2, 0));
    const mean = squares.reduce((sum, x) => sum + x, 0) / DIM / live.length;
    const query = unitVectors(1, DIM, random(9));
    const divided = Array.from(query, (x, d) => x / ((squares[d]! + 20 * mean) / (live.length + 20) + 2 * mean));
    const length = Math.hypot(...divided);
    const wanted = live
      .map((i) => divided.reduce((sum, x, d) => sum + (x / length) * vectors[i * DIM + d]!, 0))
      .sort((a, b) => b - a)
      .slice(0, 5);
    const options = { topK: 5, weighted: true };
    const { rows: hits } = await notes.search(query, options);
    hits.forEach((hit, i) => {
      expect(hit.score).toBeCloseTo(wanted[i]!, 5);
    });
    const scores = hits.map(({ score }) => score);
    const many = await notes.searchMany(new Float32Array([...query, ...query]), options);
    for (const answer of many) expect(answer.rows.map(({ score }) => score)).toEqual(scores);
    await notes.compact();
    expect((await notes.search(query, options)).rows.map(({ score }) => score)).toEqual(scores);
    expect((await notes.search(query, { topK: 5 })).rows.map(({ score }) => score)).not.toEqual(scores);
  });

  test("are refused where rows are not ranked by inner product", async () => {
    const profile = { provider: "vectors", distance: "cosine" };
    const other = store.create("other", { dim: DIM, embedderProfile: profile });
    await other.add(rows(["a"]));
    const query = unitVectors(1, DIM, random(9));
    await expect(other.search(query, { topK: 1, weighted: true })).rejects.toThrow(ValueError);
    await expect(other.searchMany(query, { topK: 1, weighted: true })).rejects.toThrow(/inner product/);
  });
});
