/** The data are what `test/data/day/README.md` says. */
import { expect, test } from "bun:test";
import { dayCalls, dayNotes, dayQuestions } from "./data.ts";
import { sharedStems } from "./stems.ts";

const notes = new Map(dayNotes().map((note) => [note.id, note]));

test("300 notes of 100 to 300 bytes, in four collections, of five projects and none", () => {
  expect(notes.size).toBe(300);
  const all = [...notes.values()];
  const sizes = all.map(({ text }) => Buffer.byteLength(text));
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(100);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(300);
  const count = (of: (note: (typeof all)[number]) => string | undefined) =>
    Object.fromEntries([...Map.groupBy(all, of)].map(([value, own]) => [value ?? "none", own.length]));
  expect(count(({ collection }) => collection)).toEqual({ notes: 133, decisions: 72, people: 40, journal: 55 });
  const scopes = { harbor: 55, lumen: 44, quill: 37, atlas: 39, finch: 40, none: 85 };
  expect(count(({ metadata }) => metadata?.scope)).toEqual(scopes);
  expect(count(({ metadata }) => metadata?.kind)).toEqual({ decision: 30, preference: 9, open: 7, none: 254 });
});

test("each right note has the words that an answer has to show", () => {
  for (const { right } of dayQuestions())
    for (const [id, words] of Object.entries(right)) expect(notes.get(id)?.text).toContain(words);
});

test("half of the questions share words of content with their notes, half share none", () => {
  const shares = dayQuestions().flatMap(({ id, kind, text, right }) =>
    Object.keys(right).map((note) => ({ id, kind, note, shared: sharedStems(text, notes.get(note)!.text) })),
  );
  expect(shares.filter(({ kind, shared }) => (kind === "shared") !== shared.length > 0)).toEqual([]);
  expect(dayQuestions().filter(({ kind }) => kind === "shared")).toHaveLength(30);
  expect(dayQuestions()).toHaveLength(60);
});

test("the calls ask every question once, where its right notes are", () => {
  const calls = dayCalls();
  expect(calls).toHaveLength(92);
  const asked = calls.filter(({ isQuestion }) => isQuestion);
  expect(asked.map(({ arguments: { query } }) => query).toSorted()).toEqual(
    dayQuestions()
      .map(({ text }) => text)
      .toSorted(),
  );
  for (const { arguments: given, right } of asked) {
    for (const note of Object.keys(right!).map((id) => notes.get(id)!)) {
      expect(["*", note.collection]).toContain(given.collection as string);
      expect(note.metadata ?? {}).toMatchObject((given.where ?? {}) as object);
    }
  }
});
