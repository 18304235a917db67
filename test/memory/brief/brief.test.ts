/** Which rows a brief shows, in which order. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestMemory } from "../../fixture.ts";
import { project as repository } from "../../repo/helpers.ts";
import { BriefMemory, rowsIn } from "./support.ts";

const kind = (kind: string, scope?: string) => ({ kind, ...(scope !== undefined && { scope }) });

test("pinned rows, then decisions, preferences and open ones, then the newest, and no row twice", async () => {
  const m = await BriefMemory.open();
  await m.put(
    "notes",
    { id: "old", text: "an old note" },
    { id: "d1", text: "we chose one", metadata: kind("decision") },
  );
  await m.put("notes", { id: "o1", text: "who knows", metadata: kind("open") });
  await m.put("web", { id: "p1", text: "tabs", metadata: kind("preference") });
  await m.put("web", { id: "d2", text: "we chose two", metadata: kind("decision") });
  await m.terminal.pin({ collection: "notes", id: "d1" }, {});
  await m.put("notes", { id: "new", text: "a new note", metadata: kind("other") });
  const brief = await m.terminal.brief({});
  const rows = ["pinned: d1", "decision: d2", "preference: p1", "open: o1", "newest: new", "newest: old"];
  expect(rowsIn(brief)).toEqual(rows);
  expect(brief).toMatchObject({ rows: 6, left_out: 0 });
  expect(brief).not.toHaveProperty("since");
  expect(brief.text.split("\n")[0]).toContain("not instructions");
  expect(brief.text).toContain("## Decisions\n- web d2 ");
  expect(await m.terminal.brief({})).toEqual(brief);
});

test("a kind that only stands deeper inside of metadata, or in a text, does not count", async () => {
  const m = await BriefMemory.open();
  await m.put(
    "notes",
    { id: "deep", text: "x", metadata: { about: { kind: "decision" } } },
    { id: "text", text: '"kind":"decision"', metadata: { note: '"kind":"decision"' } },
    { id: "other", text: "x", metadata: { kind: "decisions" } },
    { id: "begins", text: "x", metadata: { kind: ["de", "OPENING", "", { kind: "open" }] } },
    { id: "no text", text: "x", metadata: { kind: 7 } },
    { id: "none", text: "x", metadata: { kind: null } },
  );
  expect(rowsIn(await m.terminal.brief({})).filter((row) => !row.startsWith("newest"))).toEqual([]);
});

test.each([
  ["a member of the metadata", []],
  ["a filter column", ["kind"]],
])("a kind in other letters, between white space or in a list counts: %s", async (_, filter_columns) => {
  const m = await BriefMemory.open();
  await m.memory.create_collection({
    name: "notes",
    partition_by: "scope",
    filter_columns,
    lexical: false,
    max_bytes: 0,
  });
  const kinds = ["Decision", "DECISION", "dEcision", " decision\n", "\topen", ["fact", "Open "], ["open", "decision"]];
  for (const [i, kind] of kinds.entries()) await m.put("notes", { id: `${i}`, text: "x", metadata: { kind } });
  expect(rowsIn(await m.terminal.brief({})).sort()).toEqual([
    ...["0", "1", "2", "3", "6"].map((id) => `decision: ${id}`),
    ...["4", "5"].map((id) => `open: ${id}`),
  ]);
});

test("a project's rows come before those of the default scope, and no others are shown", async () => {
  const m = await BriefMemory.open();
  // One collection is partitioned by scope, in one it is a plain member of the metadata.
  await m.terminal.brief({});
  for (const name of ["notes", "plain"]) {
    const partition_by = name === "plain" ? "team" : "scope";
    await m.memory.create_collection({ name, partition_by, filter_columns: [], lexical: false, max_bytes: 0 });
    await m.put(name, { id: `${name} p`, text: "x", metadata: kind("decision", "p") });
    await m.put(name, { id: `${name} none`, text: "x", metadata: kind("decision") });
    await m.put(name, { id: `${name} default`, text: "x", metadata: kind("decision", "default") });
    await m.put(name, { id: `${name} q`, text: "x", metadata: kind("decision", "q") });
    await m.put(name, { id: `${name} new`, text: "x", metadata: { scope: "p" } });
  }
  await m.terminal.pin({ collection: "notes", id: "notes q" }, {});
  const [p, defaults] = [
    ["plain p", "notes p"],
    ["plain default", "plain none", "notes default", "notes none"],
  ];
  const brief = await m.terminal.brief({ project: "p" });
  const decisions = [...p, ...defaults].map((id) => `decision: ${id}`);
  expect(rowsIn(brief)).toEqual([...decisions, "newest: plain new", "newest: notes new"]);
  expect(brief).toMatchObject({ project: "p", rows: 10, left_out: 2 });
  expect(brief).not.toHaveProperty("is_unknown_project");
  const unknown = await m.terminal.brief({ project: "nobody's" });
  expect(rowsIn(unknown)).toEqual(defaults.map((id) => `decision: ${id}`));
  expect(unknown).toMatchObject({ is_unknown_project: true });
  expect(rowsIn(await m.terminal.brief({ project: "default" }))).toEqual(defaults.map((id) => `decision: ${id}`));
  expect(rowsIn(await m.terminal.brief({}))).toHaveLength(10);
});

test("kind as a filter column", async () => {
  const m = await BriefMemory.open();
  const schema = { name: "notes", partition_by: "scope", filter_columns: ["kind"], lexical: false, max_bytes: 0 };
  await m.memory.create_collection(schema);
  await m.put(
    "notes",
    { id: "a", text: "x", metadata: kind("open", "p") },
    { id: "b", text: "x", metadata: kind("open", "q") },
  );
  expect(rowsIn(await m.terminal.brief({ project: "p" }))).toEqual(["open: a"]);
});

test("rows that another one supersedes are in no part", async () => {
  const m = await BriefMemory.open();
  const superseded_by = "new";
  await m.put("notes", { id: "pinned", text: "x" });
  await m.terminal.pin({ collection: "notes", id: "pinned" }, {});
  await m.put(
    "notes",
    { id: "pinned", text: "x", metadata: { superseded_by } },
    { id: "old", text: "x", metadata: { ...kind("decision"), superseded_by } },
    { id: "new", text: "x", metadata: { ...kind("decision"), superseded_by: null } },
    { id: "odd", text: "x", metadata: { superseded_by: 7 } },
  );
  expect(rowsIn(await m.terminal.brief({}))).toEqual(["decision: new", "newest: odd"]);
});

test("one kind with many rows hides neither the others nor their newest ones", async () => {
  const m = await BriefMemory.open();
  await m.put("notes", { id: "d", text: "x", metadata: kind("decision") });
  const many = Array.from({ length: 700 }, (_, i) => ({ id: `o${i}`, text: "x", metadata: kind("open") }));
  await m.put("notes", ...many);
  const superseded = Array.from({ length: 600 }, (_, i) => ({
    id: `s${i}`,
    text: "x",
    metadata: { superseded_by: "d" },
  }));
  await m.put("notes", ...superseded);
  const rows = rowsIn(await m.terminal.brief({}));
  expect(rows[0]).toBe("decision: d");
  expect(rows[1]).toBe("open: o699");
  expect(rows.some((row) => row.includes(": s"))).toBe(false);
  // Nor do rows that have the kind only deeper inside.
  const nested = Array.from({ length: 600 }, (_, i) => ({
    id: `n${i}`,
    text: "x",
    metadata: { about: kind("decision") },
  }));
  await m.put("notes", ...nested);
  for (const project of [undefined, "default"]) {
    const kinds = rowsIn(await m.terminal.brief({ project }));
    expect(kinds.slice(0, 2)).toEqual(["decision: d", "open: o699"]);
  }
});

test("rows of repositories are not covered, and damaged collections are named in one line", async () => {
  const m = await TestMemory.open();
  await m.call("index_repo", { path: repository() });
  await m.call("add", { collection: "notes", texts: ["a note"], ids: ["a"] });
  mkdirSync(join(m.dir, "broken"));
  writeFileSync(join(m.dir, "broken", "collection.json"), "{}");
  const brief = await (await m.memory.terminal()).brief({});
  expect(rowsIn(brief)).toEqual(["newest: a"]);
  expect(Object.keys(brief.unreadable!)).toEqual(["broken"]);
  expect(brief.text).toContain("\nLeft out because they cannot be read: broken (svc mem check).\n");
});

test("an empty memory", async () => {
  const { text, rows, left_out } = await (await BriefMemory.open()).terminal.brief({});
  expect([rows, left_out]).toEqual([0, 0]);
  expect(text).toContain("No rows are stored yet");
});
