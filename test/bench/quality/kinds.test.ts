import { expect, test } from "bun:test";
import { countKinds, halfOf, kindGoals, kindTable } from "./kinds.ts";
import { ANSWERS, type DataSet, loadSet, TINY } from "./sets.ts";
import { byRanking, COMPARED, MEASURED, type SetQuality } from "./table.ts";

const relevant = new Map(["1", "2", "3", "4"].map((id) => [id, new Map([["right", 1]])]));
const queries = ["1", "2", "3", "4"].map((id) => ({ id, text: "", kind: id === "4" ? "typo" : "shared" }));
const [right, wrong, none] = [["right", "x"], ["x", "right"], []];

test("what counts is the first document, by kind and half", () => {
  const rankings = {
    dense: [right, right, wrong, right],
    lexical: [none, none, none, none],
    "without meaning": [wrong, right, wrong, wrong],
    fused: [right, wrong, right, none],
    FTS5: [wrong, wrong, wrong, wrong],
  };
  const kinds = countKinds({ queries, relevant }, rankings)!;
  const first = (...counts: number[]) => byRanking((key) => counts[COMPARED.indexOf(key)]!);
  expect(kinds).toEqual([
    { kind: "shared", half: "choose", questions: 1, first: first(1, 0, 1, 0, 0) },
    { kind: "shared", half: "keep", questions: 2, first: first(1, 0, 0, 2, 0) },
    { kind: "typo", half: "choose", questions: 1, first: first(1, 0, 0, 0, 0) },
    { kind: "typo", half: "keep", questions: 0, first: first(0, 0, 0, 0, 0) },
  ]);
  const scores = Object.fromEntries(MEASURED.map((key) => [key, { ndcg: 0.5, recall: 1 }])) as SetQuality["scores"];
  const both = kindTable({ name: "tiny", scores }, kinds).map((line) => line.split(/ {2,}/));
  expect(both[3]).toEqual(["shared, both", "3", "2", "0", "1", "2", "0"]);
  expect(both.at(-1)).toEqual(["all, nDCG@10", "4", ...Array(5).fill("0.500")]);
  expect(kindGoals("tiny", kinds).map(({ what, met }) => [what, met])).toEqual([
    ["tiny: shared, fused", false],
    ["tiny: typo, fused", false],
  ]);
  const [goal] = kindGoals(
    "tiny",
    countKinds({ queries, relevant }, { ...rankings, fused: queries.map(() => right) })!,
  );
  expect(goal).toMatchObject({ value: 1, met: true });
});

test("a set without kinds, or with others, is not counted by kind", () => {
  const without = [...queries.slice(1), { id: "1", text: "" }];
  const others = [...queries.slice(1), { id: "1", text: "", kind: "multi-hop" }];
  const rankings = byRanking(() => []);
  for (const some of [without, others]) expect(countKinds({ queries: some, relevant }, rankings)).toBeUndefined();
});

test("the tiny memories are what their README says", () => {
  const set = loadSet(TINY);
  const groups = new Map(set.documents.map(({ id, group }) => [id, group]));
  expect(groups.size).toBe(100);
  expect(Map.groupBy(set.documents, ({ group }) => group).size).toBe(4);
  const counts = [...Map.groupBy(set.queries, ({ kind }) => kind)].map(([kind, own]) => {
    return [kind, own.length, own.filter(({ id }) => halfOf(id) === "choose").length];
  });
  expect(counts).toEqual([
    ["shared", 70, 35],
    ["typo", 35, 17],
    ["other", 30, 15],
    ["language", 15, 8],
  ]);
  expectOneInGroup(set);
});

test("the chats are what their README says", () => {
  const set = loadSet(ANSWERS);
  expect(set.documents).toHaveLength(108);
  const lengths = (isAnswer: boolean) =>
    set.documents.filter(({ id }) => isAnswerId(id) === isAnswer).map(({ text }) => text.length);
  expect(Math.max(...lengths(false))).toBeLessThan(110);
  expect(Math.min(...lengths(true))).toBeGreaterThan(900);
  expect(Math.max(...lengths(true))).toBeLessThan(3_100);
  for (const [kind, count] of [
    ["line", 30],
    ["answer", 10],
  ] as const) {
    const own = set.queries.filter((query) => query.kind === kind);
    expect([own.length, own.filter(({ id }) => halfOf(id) === "choose").length]).toEqual([count, count / 2]);
    for (const { id } of own) expect(isAnswerId([...set.relevant.get(id)!.keys()][0]!)).toBe(kind === "answer");
  }
  expectOneInGroup(set);
});

/** Turns are counted from 1: those of the assistant are even. */
const isAnswerId = (id: string) => Number(id.split(":")[1]) % 2 === 0;

/** Each question has one right row, in its own group. */
function expectOneInGroup({ documents, queries, relevant }: DataSet): void {
  const groups = new Map(documents.map(({ id, group }) => [id, group]));
  for (const { id, group } of queries) {
    expect([...relevant.get(id)!.keys()].map((row) => groups.get(row))).toEqual([group]);
  }
}
