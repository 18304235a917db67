import { expect, test } from "bun:test";
import { countKinds, halfOf, kindGoals, kindTable } from "./kinds.ts";
import { loadSet, TINY } from "./sets.ts";

const relevant = new Map(["1", "2", "3", "4"].map((id) => [id, new Map([["right", 1]])]));
const queries = ["1", "2", "3", "4"].map((id) => ({ id, text: "", kind: id === "4" ? "typo" : "shared" }));
const [right, wrong, none] = [["right", "x"], ["x", "right"], []];

test("what counts is the first document, by kind and half", () => {
  const rankings = {
    dense: [right, right, wrong, right],
    lexical: [none, none, none, none],
    fused: [right, wrong, right, none],
    FTS5: [wrong, wrong, wrong, wrong],
  };
  const kinds = countKinds({ queries, relevant }, rankings)!;
  expect(kinds).toEqual([
    { kind: "shared", half: "choose", questions: 1, first: { dense: 1, lexical: 0, fused: 0, FTS5: 0 } },
    { kind: "shared", half: "keep", questions: 2, first: { dense: 1, lexical: 0, fused: 2, FTS5: 0 } },
    { kind: "typo", half: "choose", questions: 1, first: { dense: 1, lexical: 0, fused: 0, FTS5: 0 } },
    { kind: "typo", half: "keep", questions: 0, first: { dense: 0, lexical: 0, fused: 0, FTS5: 0 } },
  ]);
  const both = kindTable("tiny", kinds).map((line) => line.split(/ {2,}/));
  expect(both[3]).toEqual(["shared, both", "3", "2", "0", "2", "0"]);
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
  const rankings = { dense: [], lexical: [], fused: [], FTS5: [] };
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
  for (const { id, group } of set.queries) {
    const notes = [...set.relevant.get(id)!.keys()];
    expect(notes.map((note) => groups.get(note))).toEqual([group]);
  }
});
