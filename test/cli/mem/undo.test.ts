/** `svc mem undo`: what it asks for, and what a person reads. */
import { expect, test } from "bun:test";
import { FAKE_GATE, type RunOptions, svc } from "../support.ts";
import { Screen, svcCommand } from "../terminal.ts";

const fake = (words: string[], options: RunOptions = {}) =>
  svc(["mem", "undo", ...words], { ...options, preload: [FAKE_GATE] });

test("flags are arguments of the verb", async () => {
  const called = async (...words: string[]) => JSON.parse((await fake([...words, "--json"])).stdout).args;
  expect(await called("notes")).toEqual({ collection: "notes", force: false, dry_run: false });
  expect(await called("notes", "--yes")).toEqual({ collection: "notes", force: false, dry_run: false });
  expect(await called("notes", "--dry-run", "--force")).toEqual({ collection: "notes", force: true, dry_run: true });
  expect(await called("notes", "--save", "7", "--id", "a")).toMatchObject({ save: 7, id: "a" });
  expect(await called("notes", "--client", "c")).toEqual({
    ...{ collection: "notes", client: "c", force: false, dry_run: false },
  });
  expect(await called("notes", "--since", "2026-11-22")).toMatchObject({ since: Date.UTC(2026, 10, 22) });
  expect(await called("notes", "--since=1700000000000")).toMatchObject({ since: 17e11 });
  for (const words of [
    [],
    ["notes", "more"],
    ["notes", "--save", "1", "--since", "2026-11-22"],
    ["notes", "--since", "yesterday"],
    ["notes", "--save", "x"],
    ["notes", "--client", "c", "--save", "1"],
    ["notes", "--client", "c", "--since", "2026-11-22"],
  ]) {
    expect((await fake(words, { env: { FAKE_CLOSED: "1" } })).code).toBe(2);
  }
});

const UNDONE = {
  collection: "notes",
  undone: 24,
  first: 7,
  last: 7,
  saved: Date.UTC(2026, 10, 22, 18, 40),
  restored: ["a", "li\nne", ...Array.from({ length: 20 }, (_, i) => `r${i}`)],
  reverted: ["b"],
  removed: ["n"],
  changed: ["c"],
  lost: ["d"],
};
const shown = async (answer: object, ...words: string[]) =>
  (await fake(["notes", ...words], { env: { FAKE_UNDO: JSON.stringify(answer) } })).stdout.split("\n");

test("a line for each row, of many the first ones", async () => {
  const lines = await shown({ ...UNDONE, dry_run: true }, "--dry-run");
  expect(lines.slice(0, 3)).toEqual([
    "would undo save 7 of notes, from 2026-11-22 18:40Z: 24 rows",
    "  a  was deleted, and would be back",
    "  li\\x0ane  was deleted, and would be back",
  ]);
  expect(lines.slice(21)).toEqual([
    "  and 2 more: was deleted, and would be back",
    "  b  was replaced, and would be as before",
    "  n  was added, and would be deleted",
    "  c  was changed by a later save, and stays: --force undoes that too",
    "  d  is damaged in the history, and stays as it is",
    "",
  ]);
  const forced = await shown({ ...UNDONE, first: 3, restored: [], removed: [], undone: 2 }, "--force");
  expect(forced).toEqual([
    "undid saves 3 to 7 of notes, from 2026-11-22 18:40Z: 2 rows",
    "  b  was replaced, and is as before",
    "  c  was changed by a later save, which is undone too",
    "  d  is damaged in the history, and stays as it is",
    "",
  ]);
});

test("nothing that a terminal would obey gets there, and no line is wider than it", async () => {
  const evil = "\u001b[31mred\u0007 and \u009b2J, 漢字".repeat(2);
  const answer = { ...UNDONE, collection: `no${evil}tes`, restored: [evil, "漢 字 ".repeat(40)], changed: [evil] };
  for (const columns of [60, 120]) {
    const env = { FAKE_UNDO: JSON.stringify(answer), COLUMNS: String(columns) };
    using screen = new Screen(svcCommand(["mem", "undo", "notes", "--yes"], [FAKE_GATE]), env);
    expect(await screen.ended).toBe(0);
    const lines = Bun.stripANSI(screen.text).split("\r\n");
    for (const line of lines) expect([line, Bun.stringWidth(line) <= columns]).toEqual([line, true]);
    for (const code of ["\u001b[31m", "\u0007", "\u009b"]) expect(screen.text).not.toContain(code);
  }
});
