import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { buildProgram } from "../../src/build/compile.ts";
import { platformTag } from "../../src/paths.ts";
import { DENSE_WEIGHT } from "../../src/texts/ranking.ts";
import { random } from "../random.ts";
import { type Ranked, fuse as reference } from "./reference.ts";

const ROOT = join(import.meta.dir, "../..");
let program: string;

beforeAll(async () => {
  const options = { root: ROOT, cache: join(ROOT, ".build"), tag: platformTag()! };
  program = await buildProgram(options, "test/native/fuse.c");
}, 120_000);

interface Case {
  dense: readonly Ranked[];
  lexical: readonly Ranked[];
  weight: number;
}

/** The fusion that ships, of several cases. */
function fuseAll(cases: readonly Case[]): { birth: number; score: number }[][] {
  const input = new DataView(
    new ArrayBuffer(cases.reduce((n, c) => n + 24 + 16 * (c.dense.length + c.lexical.length), 0)),
  );
  let at = 0;
  const put = (birth: number, score: number) => {
    input.setBigUint64(at, BigInt(birth), true);
    input.setFloat64(at + 8, score, true);
    at += 16;
  };
  for (const { dense, lexical, weight } of cases) {
    input.setBigUint64(at, BigInt(dense.length), true);
    input.setBigUint64(at + 8, BigInt(lexical.length), true);
    input.setFloat64(at + 16, weight, true);
    at += 24;
    for (const { birth, score } of [...dense, ...lexical]) put(birth, score);
  }
  const { stdout, exitCode } = Bun.spawnSync([program], { stdin: new Uint8Array(input.buffer) });
  expect(exitCode).toBe(0);
  const out = new DataView(stdout.buffer, stdout.byteOffset, stdout.byteLength);
  at = 0;
  return cases.map(() => {
    const count = Number(out.getBigUint64(at, true));
    at += 8;
    return Array.from({ length: count }, () => {
      const row = { birth: Number(out.getBigUint64(at, true)), score: out.getFloat64(at + 8, true) };
      at += 32;
      return row;
    });
  });
}

/** Born in the order in which ids are first named in a test. */
const births = new Map<string, number>();
const birthOf = (id: string) => {
  if (!births.has(id)) births.set(id, births.size);
  return births.get(id)!;
};
const ranked = (...scores: [string, number][]) => scores.map(([id, score]) => ({ id, score, birth: birthOf(id) }));

function fuse(dense: readonly Ranked[], lexical: readonly Ranked[], topK: number): Ranked[] {
  const ids = new Map([...dense, ...lexical].map(({ id, birth }) => [birth, id]));
  const [rows] = fuseAll([{ dense, lexical, weight: DENSE_WEIGHT }]);
  return rows!.slice(0, topK).map((row) => ({ ...row, id: ids.get(row.birth)! }));
}

describe("fused", () => {
  test("a candidate that is high in both rankings beats one that is high in only one", () => {
    const dense = ranked(["both", 0.8], ["dense", 0.81], ["x", 0.1], ["y", 0.1]);
    const lexical = ranked(["lexical", 9], ["both", 8.9], ["z", 1]);
    expect(fuse(dense, lexical, 3)[0]?.id).toBe("both");
  });

  test("one empty ranking leaves the other's order", () => {
    const list = ranked(["a", 3], ["b", 2], ["c", 1]);
    expect(fuse(list, [], 10).map((hit) => hit.id)).toEqual(["a", "b", "c"]);
    expect(fuse([], list, 2).map((hit) => hit.id)).toEqual(["a", "b"]);
    expect(fuse([], [], 5)).toEqual([]);
  });

  test("equal scores are ordered by insertion, whatever their ids and the order of the rankings", () => {
    const list = [3, 1, 2].map((birth) => ({ id: `${9 - birth}`, score: 1, birth }));
    for (const fused of [fuse(list, [], 3), fuse([], list, 3), fuse(list, list, 3)]) {
      expect(fused.map((hit) => hit.birth)).toEqual([1, 2, 3]);
    }
  });

  test("the only row that holds a word is first, whatever the other ranking says", () => {
    const dense = Array.from({ length: 100 }, (_, i): [string, number] => [`row ${i}`, 1 - i / 100]);
    expect(fuse(ranked(...dense), ranked(["row 70", 9]), 5)[0]?.id).toBe("row 70");
    expect(fuse(ranked(...dense), ranked(["elsewhere", 9]), 5)[0]?.id).toBe("elsewhere");
    const three = fuse(ranked(...dense), ranked(["row 60", 9], ["row 70", 9], ["row 80", 9]), 3);
    expect(three.map((hit) => hit.id).sort()).toEqual(["row 60", "row 70", "row 80"]);
  });

  test("the first hits do not depend on how many were asked for", () => {
    const list = (step: number) =>
      ranked(...Array.from({ length: 300 }, (_, i): [string, number] => [`${(i * step) % 307}`, 1 / (i + 1)]));
    const first = (depth: number) => fuse(list(7).slice(0, depth), list(11).slice(0, depth), 5).map((hit) => hit.id);
    expect(first(100)).toEqual(first(300));
    const few = (depth: number) => fuse(list(7).slice(0, depth), list(11).slice(0, 10), 8).map((hit) => hit.id);
    expect(few(300)).toEqual(few(100));
    expect(few(150)).toEqual(few(100));
  });
});

/** A ranking of distinct rows, best first, of scores that are far apart, near, or equal. */
function randomRanking(next: () => number, most: number): Ranked[] {
  const length = Math.floor(next() ** 2 * (most + 1));
  const scale = 10 ** Math.floor(next() * 40 - 20);
  const steps = [1, 4, 1e9][Math.floor(next() * 3)]!;
  const rows = new Set(Array.from({ length }, () => Math.floor(next() * most * 1.5)));
  return [...rows]
    .map((birth) => ({ id: `${birth}`, birth, score: (Math.floor((next() - 0.3) * steps) / steps) * scale }))
    .sort((a, b) => b.score - a.score || a.birth - b.birth);
}

test.each([1, 2, 3])("as the fusion in TypeScript, to the bit (seed %d)", (seed) => {
  const next = random(seed);
  const cases = Array.from({ length: 1000 }, (): Case => {
    const most = [3, 30, 99, 101, 300][Math.floor(next() * 5)]!;
    const weight = [DENSE_WEIGHT, 0, 1, next()][Math.floor(next() * 4)]!;
    return { dense: randomRanking(next, most), lexical: randomRanking(next, most), weight };
  });
  const answers = fuseAll(cases);
  cases.forEach(({ dense, lexical, weight }, i) => {
    const expected = reference(dense, lexical, Number.POSITIVE_INFINITY, weight);
    expect(answers[i]).toEqual(expected.map(({ birth, score }) => ({ birth, score })));
  });
});
