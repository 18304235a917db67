/** `svc mem undo`: what it asks for, and what a person reads. */
import { expect, test } from "bun:test";
import { FAKE_GATE, type RunOptions, svc } from "../support.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", "undo", ...words], { ...options, preload: [FAKE_GATE] });

test("flags are arguments of the verb", async () => {
  const called = async (...words: string[]) => JSON.parse((await fake([...words, "--json"])).stdout).args;
  expect(await called("notes")).toEqual({ collection: "notes", force: false, dry_run: false });
  expect(await called("notes", "--yes")).toEqual({ collection: "notes", force: false, dry_run: false });
  expect(await called("notes", "--dry-run", "--force")).toEqual({ collection: "notes", force: true, dry_run: true });
  for (const words of [[], ["notes", "more"]]) {
    expect((await fake(words, { env: { FAKE_CLOSED: "1" } })).code).toBe(2);
  }
});

test("a line for each row, of many the first ones", async () => {
  const saved = Date.UTC(2026, 10, 22, 18, 40);
  const restored = ["a", "li\nne", ...Array.from({ length: 20 }, (_, i) => `r${i}`)];
  const undone = {
    collection: "notes",
    undone: 23,
    saved,
    restored,
    reverted: ["b"],
    changed: ["c"],
    left: ["d"],
    left_omitted: 7,
  };
  const shown = async (answer: object, ...words: string[]) =>
    (await fake(["notes", ...words], { env: { FAKE_UNDO: JSON.stringify(answer) } })).stdout.split("\n");
  const lines = await shown({ ...undone, dry_run: true }, "--dry-run");
  expect(lines.slice(0, 3)).toEqual([
    "would put back 23 rows of notes, as before the save of 2026-11-22T18:40:00.000Z",
    "  a  was deleted",
    "  li\\x0ane  was deleted",
  ]);
  expect(lines.slice(21)).toEqual([
    "  and 2 more: was deleted",
    "  b  was replaced",
    "  c  was added again since: --force replaces it",
    "  d  was added by that save or later, and stays",
    "  and 7 more: was added by that save or later, and stays",
    "",
  ]);
  const forced = await shown({ ...undone, restored: [], undone: 2 }, "--force");
  expect(forced[0]).toStartWith("put back 2 rows of notes");
  expect(forced[2]).toBe("  c  was added again since, and is replaced");
});
