/** What a brief tells of changes since the last marked one, and the file of these marks. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { lastMarkOf, markBrief } from "../../../src/memory/brief/marks.ts";
import { scratchDir } from "../../fixture.ts";
import { BriefMemory, rowsIn } from "./support.ts";

const kinds = (added: number, replaced: number, deleted: number) => ({ added, replaced, deleted });

/** A memory with two rows whose brief is marked. */
async function marked(): Promise<BriefMemory> {
  const m = await BriefMemory.open();
  await m.put("notes", { id: "a", text: "first" }, { id: "b", text: "second" });
  await m.put("web", { id: "w", text: "other" });
  // A save in the millisecond of the mark is new to the next brief.
  await Bun.sleep(2);
  await m.terminal.brief({ mark: true });
  await Bun.sleep(2);
  return m;
}

test("only a marked brief moves the mark", async () => {
  const m = await marked();
  const { since } = await m.terminal.brief({});
  await m.put("notes", { id: "c", text: "third" });
  for (let i = 0; i < 2; i++) {
    const brief = await m.terminal.brief({});
    expect(brief).toMatchObject({ since, changes: { notes: kinds(1, 0, 0) } });
    expect(rowsIn(brief)).toEqual(["changed: added c", "newest: w", "newest: b", "newest: a"]);
    expect(brief.text).toMatch(/\nSince the last brief \(\d{4}-\d\d-\d\d\): notes 1 added\.\n/);
  }
  await Bun.sleep(2);
  expect(await m.terminal.brief({ mark: true })).toMatchObject({ changes: { notes: kinds(1, 0, 0) } });
  await Bun.sleep(2);
  const next = await m.terminal.brief({});
  expect(next.changes).toEqual({});
  expect(next.since).toBeGreaterThan(since!);
  expect(next.text).toContain(": no changes.\n");
});

test("rows that were added, replaced and deleted, each once, with what they come to", async () => {
  const m = await marked();
  await m.put("notes", { id: "b", text: "second again" }, { id: "c", text: "third" });
  await m.put("notes", { id: "c", text: "third again" }, { id: "gone", text: "not for long" });
  await m.delete("notes", "a", "gone");
  await m.delete("web", "w");
  await m.put("web", { id: "w", text: "back" });
  const brief = await m.terminal.brief({});
  expect(brief.changes).toEqual({ notes: kinds(1, 1, 1), web: kinds(0, 1, 0) });
  expect(rowsIn(brief).sort()).toEqual([
    "changed: added c",
    "changed: deleted a",
    "changed: replaced b",
    "changed: replaced w",
  ]);
  expect(brief).toMatchObject({ rows: 3, left_out: 0 });
  expect(brief.text).toMatch(/\n- deleted notes a \S+\n/);
});

test("an undo is a change of the rows that come back, and an import with old times is one", async () => {
  const m = await marked();
  await m.put("notes", { id: "c", text: "third" });
  await m.delete("notes", "a");
  for (let i = 0; i < 2; i++) await m.terminal.undo({ collection: "notes", force: false, dry_run: false }, {});
  await Bun.sleep(2);
  expect((await m.terminal.brief({ mark: true })).changes).toEqual({ notes: kinds(0, 1, 0) });
  await Bun.sleep(2);
  const rows = [
    { where: "line 1", id: "old", text: "from another program", metadata: null, created: 1000, updated: 2000 },
  ];
  await m.terminal.import_rows({ collection: "notes", rows, schema: {}, times: true }, {});
  const brief = await m.terminal.brief({});
  expect(brief.changes).toEqual({ notes: kinds(1, 0, 0) });
  expect(rowsIn(brief)[0]).toBe("changed: added old");
});

test("each project has a mark of its own, and counts its rows only", async () => {
  const m = await marked();
  await m.terminal.brief({ project: "p", mark: true });
  await Bun.sleep(2);
  await m.put(
    "notes",
    { id: "p1", text: "x", metadata: { scope: "p" } },
    { id: "q1", text: "x", metadata: { scope: "q" } },
  );
  expect((await m.terminal.brief({ project: "p" })).changes).toEqual({ notes: kinds(1, 0, 0) });
  expect(await m.terminal.brief({ project: "q" })).not.toHaveProperty("since");
  expect((await m.terminal.brief({})).changes).toEqual({ notes: kinds(2, 0, 0) });
  await m.delete("notes", "q1", "p1");
  expect((await m.terminal.brief({ project: "p" })).changes).toEqual({});
});

test("without a history, rows that were put count", async () => {
  const m = await marked();
  await m.put("notes", { id: "c", text: "third" }, { id: "a", text: "first again" });
  await m.terminal.compact({ collection: "notes", keep_history: false }, {});
  expect((await m.terminal.brief({})).changes).toEqual({ notes: kinds(1, 1, 0) });
});

test("many changes are counted as at least so many", async () => {
  const m = await marked();
  const many = Array.from({ length: 1200 }, (_, i) => ({ id: `n${i}`, text: "x" }));
  await m.put("notes", ...many);
  const { changes, text } = await m.terminal.brief({});
  expect(changes).toEqual({ notes: { ...kinds(2000, 0, 0), added: changes!.notes!.added, more: true } });
  expect(changes!.notes!.added).toBeGreaterThanOrEqual(1000);
  expect(text).toContain("notes at least 1");
});

test("a file of marks that is damaged or no file counts as none, and is written again", async () => {
  const m = await marked();
  for (const content of [
    "",
    "{",
    "[]",
    '{"marks":7}',
    '{"marks":[{"memory":1}]}',
    "\u0000".repeat(100),
    "x".repeat(2e6),
  ]) {
    writeFileSync(m.marksFile, content);
    expect(await m.terminal.brief({})).not.toHaveProperty("since");
  }
  expect(await m.terminal.brief({ mark: true })).not.toHaveProperty("unmarked");
  expect(await m.terminal.brief({})).toHaveProperty("since");
  rmSync(m.marksFile);
  mkdirSync(m.marksFile);
  const brief = await m.terminal.brief({ mark: true });
  expect(brief).not.toHaveProperty("since");
  expect(brief.unmarked).toContain("briefs.json");
  expect(rowsIn(brief)).toHaveLength(3);
});

test("a home that cannot be written does not fail the brief", async () => {
  const m = await marked();
  const before = readFileSync(m.marksFile, "utf8");
  // A file in the place of the folder: root may write into any folder.
  const home = join(scratchDir(), "file");
  writeFileSync(home, "");
  const other = await BriefMemory.open(undefined, join(home, "briefs.json"));
  await other.put("notes", { id: "a", text: "x" });
  const brief = await other.terminal.brief({ mark: true });
  expect(rowsIn(brief)).toEqual(["newest: a"]);
  expect(brief.unmarked).toBeDefined();
  chmodSync(dirname(m.marksFile), 0o500);
  await m.terminal.brief({ mark: true });
  chmodSync(dirname(m.marksFile), 0o700);
  expect(existsSync(m.marksFile)).toBe(true);
  expect(before).toContain('"marks"');
});

test("200 marks are kept, those of each memory and project apart", () => {
  const file = join(scratchDir(), "new", "briefs.json");
  expect(markBrief(file, "/memory", "p0", 0)).toBeUndefined();
  const marks = Array.from({ length: 200 }, (_, i) => ({ memory: "/memory", project: `p${204 - i}`, time: 204 - i }));
  writeFileSync(file, JSON.stringify({ marks }));
  markBrief(file, "/memory", "p10", 1000);
  markBrief(file, "/other", "p10", 2000);
  markBrief(file, "/memory", undefined, 3000);
  expect(JSON.parse(readFileSync(file, "utf8")).marks).toHaveLength(200);
  expect(["p5", "p6", "p7", "p204", "p10", undefined].map((project) => lastMarkOf(file, "/memory", project))).toEqual([
    undefined,
    undefined,
    7,
    204,
    1000,
    3000,
  ]);
  expect(lastMarkOf(file, "/other", "p10")).toBe(2000);
});
