import { expect, test } from "bun:test";
import { SVC } from "../home.ts";
import { manyNotes } from "./costs.ts";
import type { DayCall } from "./data.ts";
import { judge, type Marks } from "./judge.ts";
import { dayOptions } from "./options.ts";
import { addLine, callTable, questionTable, replayLines } from "./table.ts";

const question: DayCall = {
  tool: "svc_search",
  arguments: { collection: "*", query: "Which tea?" },
  what: "shared",
  right: { n1: "green tea", n2: "Oolong" },
  isQuestion: true,
};
const letters = (text: string) => text.length;
const hit = (id: string) => ({ id });
const withText = '{"hits":[{"id":"n3","text":"coffee"},{"id":"n2","text":"Oolong at ninety"}]}';

test("a search is judged by its hits and by what its first answer shows", () => {
  const outcome = { answers: [withText], isRefused: false, lists: [[hit("n3"), hit("n2")]] };
  expect(judge(question, outcome, letters)).toEqual({
    what: "shared",
    isQuestion: true,
    isEverywhere: true,
    isRight: false,
    isInFive: true,
    isAtOneCall: true,
    isAnswered: true,
    noise: 1,
    calls: 1,
    bytes: withText.length,
    tokens: withText.length,
  });
});

test("ids without words do not answer, and the words of a later call do not count as those of one call", () => {
  const ids = '{"hits":[{"id":"n1"}]}';
  const outcome = { answers: [ids], isRefused: false, lists: [[hit("n1")]] };
  expect(judge(question, outcome, letters)).toMatchObject({ isRight: true, isAtOneCall: false, isAnswered: false });
  const read = { ...outcome, answers: [ids, '{"rows":[{"id":"n1","text":"green tea"}]}'] };
  expect(judge(question, read, letters)).toMatchObject({ isAtOneCall: false, isAnswered: true, calls: 2 });
  const others = { ...read, answers: ['{"rows":[{"id":"n2","text":"green tea"}]}'] };
  expect(judge(question, others, letters)).toMatchObject({ isAnswered: false });
});

test("a refusal does not answer a question, but may tell another call what it has to", () => {
  const refused = { answers: ["n1: green tea"], isRefused: true, lists: [] };
  expect(judge(question, refused, letters)).toMatchObject({ isRight: false, isAtOneCall: false });
  const { right: _, ...call } = { ...question, isQuestion: false, contains: ["tea", "green"] };
  expect(judge(call, refused, letters)).toMatchObject({ isRight: true, isAnswered: true, noise: 0 });
  expect(judge({ ...call, contains: ["tea", "black"] }, refused, letters).isRight).toBe(false);
});

test("tables have a line a kind and place, and a column a replay for the other calls", () => {
  const outcome = { answers: [withText], isRefused: false, lists: [[hit("n2"), hit("n3")]] };
  const asked = judge(question, outcome, letters);
  const other: Marks = { ...asked, what: "count", isQuestion: false };
  const marks = [asked, { ...asked, what: "other", isEverywhere: false, calls: 3 }, other];
  const split = (lines: string[]) => lines.map((line) => line.split(/ {2,}/));
  const replays = [{ name: "svc", marks }];
  expect(split(questionTable(replays)).map(([label, count]) => [label, count])).toEqual([
    ["questions", "asked"],
    ["svc: shared", "1"],
    ["svc: other", "1"],
    ["svc: in *", "1"],
    ["svc: in a collection", "1"],
    ["svc: all", "2"],
  ]);
  expect(split(callTable(replays)).slice(1)).toEqual(
    ["count", "all"].map((label) => [label, `1 of 1, ${withText.length} tokens, 1.0 calls`]),
  );
  expect(replayLines(replays)).toContainEqual({ what: "svc, all: calls", value: 2, unit: "a question" });
});

test("times of adds are compared pairwise", () => {
  expect(addLine([[1, 2, 3]], 100)).toMatchObject({ value: 2, unit: "ms" });
  expect(
    addLine(
      [
        [1, 2, 4],
        [3, 4, 8],
      ],
      100,
    ),
  ).toMatchObject({ value: 4, ratio: 2 });
});

test("notes are made of halves of notes, no two alike", () => {
  expect(new Set(manyNotes(10_200)).size).toBe(10_200);
  expect(() => manyNotes(100_000)).toThrow("there are 89700 such texts, not 100000");
});

test("options name flags, another executable and the number of notes", () => {
  const read = (...given: [string, string][]) => dayOptions({ given: new Map(given), isJson: false });
  const usual = [[], ["--with-text"], ["--with-text", "--project=auto"]];
  expect(read()).toEqual({ executables: [{ name: "svc", path: SVC }], flags: usual, notes: 10_000, isJson: false });
  expect(read(["--flags", "none,project=auto"]).flags).toEqual([[], ["--project=auto"]]);
  expect(read(["--against", import.meta.path]).executables.map(({ name }) => name)).toEqual(["against", "svc"]);
  expect(() => read(["--against", "/nowhere/svc"])).toThrow("/nowhere/svc is not there");
});
