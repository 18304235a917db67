import { expect, test } from "bun:test";
import type { Size, TreeQuality } from "./figures.ts";
import { goals } from "./goals.ts";
import { marksTable, meansTable, sinceTable, sizesTable } from "./table.ts";

/** A tree whose questions of a kind all have one score. */
function treeOf(name: string, scores: Record<string, number>, { tokens = 900, line = 0.98 } = {}): TreeQuality {
  const kinds = Object.keys(scores).flatMap((kind) => [kind, kind]);
  const marks = kinds.map((kind) => scores[kind]!);
  const size: Size = { tokens: { mean: tokens, p95: tokens }, bytes: { mean: 5000, p95: 5900, most: 6000 }, line };
  return {
    name,
    files: 10,
    ids: kinds.map((kind, i) => `${kind}-${i}`),
    kinds,
    each: { ndcg: marks, at1: marks, at5: marks, at10: marks, any10: marks, mrr: marks },
    definitions: 2,
    sizes: { five: size, ten: size, windows: size },
  };
}

const verdicts = (trees: TreeQuality[]) => goals(trees).map(({ what, met }) => [what, met]);

test("kinds are counted in groups and alone, and trees count alike", () => {
  const [a, b] = [treeOf("a", { name: 1, where: 0.5 }), treeOf("b", { name: 0.5, test: 1 })];
  const cells = marksTable(a).map((line) => line.split(/ {2,}/));
  expect(cells[1]!.slice(0, 3)).toEqual(["identifier: name + where", "4", "0.750"]);
  expect(cells.map(([label]) => label)).toEqual(["a, 10 files", "identifier: name + where", "name", "where"]);
  const means = meansTable([a, b]).map((line) => line.split(/ {2,}/).slice(0, 2));
  expect(means).toContainEqual(["identifier: name + where", "0.625"]);
  expect(means).toContainEqual(["test", "1.000"]);
  expect(sizesTable([a])).toHaveLength(4);
});

test("goals are those of the kinds that were asked, and tokens only where they were counted", () => {
  const good = treeOf("a", { commit: 0.56, subject: 0.56, name: 1, part: 0.98, test: 0.84 });
  expect(verdicts([good])).toEqual([
    ["mean of 1 trees: message", true],
    ["mean of 1 trees: identifier", true],
    ["mean of 1 trees: path", true],
    ["mean of 1 trees: test", false],
    ["an answer, default form, five files", true],
    ["answers about a definition with its line, default form, five files", true],
    ["an answer, default form, ten files", true],
    ["answers about a definition with its line, default form, ten files", true],
  ]);
  const long = treeOf("b", { question: 1 }, { tokens: 1600, line: 0.97 });
  expect(verdicts([long])[0]).toEqual(["an answer, default form, five files", false]);
  for (const size of Object.values(long.sizes)) size.tokens = undefined;
  expect(verdicts([{ ...long, definitions: 0 }])).toEqual([]);
});

test("questions of two runs are paired by id", () => {
  const before = treeOf("a", { name: 0.5, test: 1 });
  const [head, a] = sinceTable([treeOf("a", { name: 0.75, test: 1 })], [before]);
  expect(head!.split(/ {2,}/).slice(1)).toEqual(["identifier: name + where", "name", "test"]);
  expect(a!.split(/ {2,}/).slice(1)).toEqual(["+0.2500 ± 0.0000", "+0.2500 ± 0.0000", "+0.0000 ± 0.0000"]);
  expect(sinceTable([treeOf("b", { name: 1 })], [before])[1]!.split(/ {2,}/)).toEqual(["b", "-", "-"]);
});
