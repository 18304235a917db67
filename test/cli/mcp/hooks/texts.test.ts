/** What hooks say: bounded, quoted, and in two sentences. */
import { describe, expect, test } from "bun:test";
import { noteLines, reminder } from "../../../../src/cli/mcp/hooks/texts.ts";

const NOTE = { collection: "notes", id: "a", updated: Date.UTC(2026, 2, 14, 12), text: "Marek owns\n the cron." };

describe("notes", () => {
  test("have their id, collection and day, on one line each", () => {
    expect(noteLines([])).toBeUndefined();
    expect(
      noteLines([NOTE, { ...NOTE, id: "b c", updated: undefined }])!
        .split("\n")
        .slice(1),
    ).toEqual([
      '- id a, collection notes, 2026-03-14: "Marek owns the cron."',
      '- id "b c", collection notes: "Marek owns the cron."',
    ]);
  });

  test.each([
    ["long", "word ".repeat(1000)],
    ["full of quotes", '"'.repeat(5000)],
    ["of wide characters", "🙂".repeat(2000)],
    ["of lone surrogates", "\ud800".repeat(2000)],
    ["without spaces", "x".repeat(16_000)],
  ])("of a text %s take 500 bytes at most", (_, text) => {
    for (const id of ["a", "i".repeat(512), "\n\u202e<x>".repeat(80)]) {
      const lines = noteLines([{ ...NOTE, id, text, collection: "c".repeat(128) }])!.split("\n");
      expect(lines).toHaveLength(2);
      expect(Buffer.byteLength(lines[1]!)).toBeLessThanOrEqual(500);
    }
  });
});

test("a note whose id and collection leave no room is left out", () => {
  expect(noteLines([{ ...NOTE, id: '"'.repeat(512), collection: "\\".repeat(128) }])).toBeUndefined();
});

describe("a reminder", () => {
  test("is two sentences, and what was stored", () => {
    const rows = [{ collection: "notes", id: "a", text: "One\ntwo" }];
    for (const isCompacted of [true, false]) {
      expect(reminder(isCompacted, undefined).match(/\.(\s|$)/g)).toHaveLength(2);
      expect(reminder(isCompacted, { rows: [], total: 0 }).split("\n")[1]).toBe(
        "This client has stored nothing since the session began.",
      );
      expect(reminder(isCompacted, { rows, total: 3 }).split("\n").slice(1)).toEqual([
        "Stored by this client since the session began:",
        '- id a, collection notes: "One two"',
        "and 2 more",
      ]);
    }
  });
});
