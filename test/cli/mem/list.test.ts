/** The table of `svc mem list`: what it shows, and in how many columns. */
import { describe, expect, test } from "bun:test";
import { tableFor } from "../../../src/cli/mem/list.ts";
import { ago } from "../../../src/cli/mem/render/text.ts";
import type { CollectionOverview } from "../../../src/store/overview.ts";
import { FAKE_GATE, svc } from "../support.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const one = (name: string, more: Partial<CollectionOverview> = {}): CollectionOverview => ({
  name,
  rows: 2,
  bytes: 123_456,
  lexical: false,
  ivf: false,
  filter_columns: ["scope"],
  partition_by: "scope",
  last_write: NOW - 5 * 60_000,
  ...more,
});

describe("the table", () => {
  const many = [
    one("notes", {
      lexical: true,
      ivf: true,
      rows: 1_234_567,
      bytes: 2.5e9,
      description: "decisions of the team ".repeat(9).trim(),
    }),
    one(`a-name-${"x".repeat(113)}`, { last_write: NOW - 80 * 24 * 3600_000 }),
    one("日本語のメモ", { description: "メモ".repeat(60) }),
    one("repo_symbols", { lexical: true, partition_by: "repo_id" }),
    { name: "lost", bytes: 900, damaged: "collection.json is missing" },
    one("evil\u001b[2J\nname", { description: "two\nlines" }),
  ];

  test.each([60, 80, 100, 120, 200])("fits %d columns", (columns) => {
    const lines = tableFor(many, columns, NOW).split("\n");
    expect(lines).toHaveLength(many.length + 1);
    expect(Math.max(...lines.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(columns);
    expect(lines[1]).toMatch(/^notes +1234567 +2\.5 GB +lexical, ivf +5 min ago/);
    expect(lines[1]!.endsWith("…")).toBe(columns > 60);
    expect(lines[2]).toContain("2026-09-04");
  });

  test("nothing is cut where there is no terminal", () => {
    const lines = tableFor(many, undefined, NOW).split("\n");
    expect(lines[2]).toContain("x".repeat(113));
    expect(lines[1]).toEndWith("decisions of the team");
    expect(lines[4]).toMatch(/^repo_symbols +2 +124 KB +repository +5 min ago$/);
    expect(lines[5]).toMatch(/^lost +\? +1 KB +damaged +\? +collection\.json is missing$/);
    expect(lines[6]).toMatch(/^evil\\x1b\[2J name .*two lines$/);
  });

  test("with a database it has the generations, and what the copy lacks of them", () => {
    const collections = { notes: { generation: 41, behind: 0 }, docs: { generation: 7, behind: 2 } };
    const replication = { collections, node: crypto.randomUUID() };
    const [header, ...lines] = tableFor([one("notes"), one("docs"), one("repo")], 80, NOW, replication).split("\n");
    expect(header).toMatch(/^NAME +ROWS +SIZE +GENERATION +LAST WRITE$/);
    expect(lines.map((line) => line.split(/ {2,}/)[3])).toEqual(["41", "7 of 9", "5 min ago"]);
  });

  test("columns that would be empty are left out", () => {
    expect(tableFor([one("a"), one("bcd", { rows: 10 })], 80, NOW)).toBe(
      "NAME  ROWS  SIZE    LAST WRITE\na     2     124 KB  5 min ago\nbcd   10    124 KB  5 min ago",
    );
  });
});

test("how long ago", () => {
  const minutes = [0, 1, 59, 60, 47 * 60 + 59, 48 * 60, 31 * 24 * 60, 32 * 24 * 60];
  expect(minutes.map((n) => ago(NOW - n * 60_000, NOW))).toEqual([
    "just now",
    "1 min ago",
    "59 min ago",
    "1 h ago",
    "47 h ago",
    "2 days ago",
    "31 days ago",
    "2026-10-22",
  ]);
});

test("--json has the tool's answer and the details; with --max-bytes the answer alone", async () => {
  const answer = { collections: ["a"], unreadable: { b: "why" } };
  const replication = { collections: { a: { generation: 3, behind: 0 } }, node: "n", nodes: ["n"] };
  const env = {
    FAKE_LIST_COLLECTIONS: JSON.stringify(answer),
    FAKE_OVERVIEW: JSON.stringify([one("a")]),
    FAKE_REPLICATION: JSON.stringify(replication),
  };
  const run = async (...words: string[]) =>
    JSON.parse((await svc(["mem", "list", "--json", ...words], { preload: [FAKE_GATE], env })).stdout);
  expect(await run()).toEqual({ ...answer, details: [one("a")], replication });
  expect(await run("--max-bytes", "1000")).toEqual(answer);
});

test("with a bound, a collection whose name every object has is listed", async () => {
  const answer = { collections: ["constructor", "lost"], unreadable: { lost: "damaged" } };
  const env = { FAKE_LIST_COLLECTIONS: JSON.stringify(answer) };
  const { stdout } = await svc(["mem", "list", "--max-bytes", "1000"], { preload: [FAKE_GATE], env });
  expect(stdout).toBe("constructor\nlost: damaged\n");
});
