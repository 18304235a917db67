/** The rows of a collection, newest first or by a search. */
import { expect, test } from "bun:test";
import { existsSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPO_COLLECTION } from "../../src/checks/names.ts";
import { scratchDir, TestMemory } from "../fixture.ts";
import { PAGE_BYTES_MAX, textOf, Visitor } from "./ui.ts";

const collection = "notes";

async function withNotes() {
  const v = await Visitor.open();
  const ids = ["deploy", "tea", "pager"];
  const texts = ["We deploy blue-green <b>.", "Green tea: 75 degrees.", "The pager rotates on Tuesdays."];
  const metadata = [{ scope: "ops", n: 1 }, { scope: "home" }, { scope: "ops" }];
  await v.memory.call("add", { collection, ids, texts, metadata });
  return v;
}

/** The ids of a list, in its order. */
function idsOf(body: string): string[] {
  return [...body.matchAll(/<li data-row><p class="head"><a href="[^"]*[?&]id=([^"&]*)"/g)].map(([, id]) =>
    decodeURIComponent(id!.replaceAll("+", " ")),
  );
}

test("a list has the rows that were changed last first, each with the beginning of its text", async () => {
  const v = await withNotes();
  await Bun.sleep(2);
  await v.memory.call("update", { collection, ids: ["tea"], texts: ["Green tea: 80 degrees."] });
  const { status, body } = await v.get("/c/notes");
  expect(status).toBe(200);
  expect(idsOf(body)).toEqual(["tea", "pager", "deploy"]);
  expect(body).toContain("We deploy blue-green &lt;b&gt;.");
  expect(textOf(body)).toContain("3 rows, the last changed first.");
  expect(textOf(body)).toContain("scope=ops n=1");
});

test("pages of a list have each row once, also where all rows have the same time", async () => {
  const v = await Visitor.open();
  const ids = Array.from({ length: 64 }, (_, i) => `row-${i}`);
  await v.memory.call("add", { collection, ids, texts: ids.map((id) => `text of ${id}`) });
  const seen: string[] = [];
  let pages = 0;
  for (let path: string | undefined = "/c/notes"; path !== undefined; pages++) {
    const { body } = await v.get(path);
    seen.push(...idsOf(body));
    path = /<a href="([^"]*)">Older rows/.exec(body)?.[1]?.replaceAll("&amp;", "&");
  }
  expect(pages).toBe(3);
  expect(seen).toEqual(ids.toReversed());
});

test("a filter takes a column as svc mem takes it, and days", async () => {
  const v = await withNotes();
  expect(idsOf((await v.get("/c/notes?column=scope&value=ops")).body)).toEqual(["pager", "deploy"]);
  expect(idsOf((await v.get("/c/notes?column=scope")).body)).toEqual([]);
  expect(idsOf((await v.get("/c/notes?until=2020-01-01")).body)).toEqual([]);
  expect(idsOf((await v.get("/c/notes?since=2020-01-01")).body)).toHaveLength(3);
  const wrong = await v.get("/c/notes?column=nothing&value=ops&since=2020-01-01");
  expect(wrong.status).toBe(400);
  expect(textOf(wrong.body)).toContain("nothing");
  expect(wrong.body).toContain('value="2020-01-01"');
  const column = await v.get("/c/notes?value=ops");
  expect(column.status).toBe(400);
  expect(textOf(column.body)).toContain("choose the column that has this value");
  const time = await v.get("/c/notes?since=yesterday");
  expect(time.status).toBe(400);
  expect(textOf(time.body)).toContain("is not a time");
});

test("a search is the answer of svc_search, with the words that were found marked, substitutes too", async () => {
  const v = await withNotes();
  const found = await v.memory.call("search", { collection, query: "deplyo green", top_k: 10, with_text: true });
  const { body } = await v.get("/c/notes?q=deplyo+green");
  expect(idsOf(body)).toEqual(found.hits.map(({ id }: { id: string }) => id));
  expect(body).toContain("We <mark>deploy</mark> blue-<mark>green</mark> &lt;b&gt;.");
  expect(textOf(body)).toContain("'deplyo' was searched as 'deploy'");
  const weak = found.hits.filter((hit: { weak?: boolean }) => hit.weak).length;
  expect(weak).toBeGreaterThan(0);
  expect(body.match(/Weak match: it has few/g)).toHaveLength(weak);
  const within = await v.get("/c/notes?q=deploy&column=scope&value=home");
  expect(idsOf(within.body)).toEqual(["tea"]);
  const timed = await v.get("/c/notes?q=deploy&since=2020-01-01");
  expect(textOf(timed.body)).toContain("The dates do not limit a search");
});

test("a search of all collections says which collection a row is of", async () => {
  const v = await withNotes();
  await v.memory.call("add", { collection: "other", ids: ["x"], texts: ["tea of another kind"] });
  expect((await v.get("/search")).status).toBe(200);
  const { body } = await v.get("/search?q=tea");
  const found = await v.memory.call("search", { collection: "*", query: "tea", top_k: 10 });
  expect(idsOf(body)).toEqual(found.hits.map(({ id }: { id: string }) => id));
  expect(body).toContain('href="/c/other/row?id=x"');
  expect(textOf(body)).toContain("in other");
});

test("a search finds more rows on request, and says that it found none", async () => {
  const v = await Visitor.open();
  const ids = Array.from({ length: 40 }, (_, i) => `row-${i}`);
  await v.memory.call("add", { collection, ids, texts: ids.map((id) => `tea number ${id}`) });
  const { body } = await v.get("/c/notes?q=tea");
  expect(idsOf(body)).toHaveLength(10);
  const more = /<a href="([^"]*)">More results/.exec(body)![1]!.replaceAll("&amp;", "&");
  expect(idsOf((await v.get(more)).body)).toHaveLength(40);
  const none = await v.get("/c/notes?q=%21%21");
  expect(textOf(none.body)).toContain("Nothing was found.");
  expect(textOf(none.body)).toContain("The query has no words");
});

test("rows that are as large as rows can be have a page of bounded size", async () => {
  const v = await Visitor.open();
  const ids = Array.from({ length: 60 }, (_, i) => `${i} `.padEnd(512, "<\u0001"));
  const texts = ids.map((id) => `tea ${"&'\"<\u0002".repeat(4_000)} ${id}`);
  const metadata = ids.map(() => ({ scope: "<".repeat(300), [">".repeat(200)]: "\u0003".repeat(9_000) }));
  await v.memory.call("add", { collection: "notes<", ids, texts, metadata });
  for (const path of [
    "",
    "?q=tea",
    "?q=tea&most=50",
    "/row",
    "/duplicates",
    "/history",
    "/undo",
    "/versions",
    "/delete",
  ]) {
    const id = path.startsWith("/") ? `?id=${encodeURIComponent(ids[0]!)}` : "";
    const { status, body } = await v.get(`/c/${encodeURIComponent("notes<")}${path}${id}`);
    expect([path, status]).toEqual([path, 200]);
    expect(body.length).toBeLessThan(PAGE_BYTES_MAX);
    expect(body).not.toMatch(/[^\P{Cc}\n\t]/u);
  }
  expect((await v.get("/search?q=tea")).status).toBe(200);
});

test("ids as long as they can be leave room for what a page says of them", async () => {
  const v = await Visitor.open();
  const ids = Array.from({ length: 40 }, (_, i) => `${i} `.padEnd(512, "'\u0001"));
  const texts = ids.map((_, i) => `The pager of team ${i % 20} rotates on Tuesdays at nine o'clock`);
  await v.memory.call("add", { collection, ids, texts });
  const duplicates = await v.get("/c/notes/duplicates");
  expect(textOf(duplicates.body)).toContain("more of these rows have no room here");
  expect(duplicates.body).toContain("Mark as replaced");
  // One save that added, replaced and deleted rows, of which later ones changed some.
  await v.memory.call("delete", { collection, ids: ids.slice(0, 20) });
  await v.memory.call("update", { collection, ids: ids.slice(20, 30), texts: texts.slice(0, 10) });
  for (const save of [1, 2, 3]) {
    for (const force of ["", "&force=1"]) {
      const { status, body } = await v.get(`/c/notes/undo?save=${save}${force}`);
      expect([save, status]).toEqual([save, 200]);
      expect(textOf(body)).toMatch(/and \d+ more|Nothing would change/);
    }
  }
  expect((await v.get("/c/notes/history")).status).toBe(200);
});

test("a collection that does not exist is a page that says so", async () => {
  const v = await withNotes();
  for (const path of ["/c/none", "/c/none/history", "/c/none/row?id=x", "/c/none/duplicates", "/c/none/add"]) {
    const { status, body } = await v.get(path);
    expect([path, status]).toEqual([path, 400]);
    expect(textOf(body)).toContain("none");
  }
});

test("the index of a repository is read, searched and not edited", async () => {
  const v = await Visitor.open();
  const root = realpathSync(scratchDir());
  writeFileSync(join(root, "a.ts"), "export const value = 1;\n");
  await v.memory.call("index_repo", { path: root });
  const path = `/c/${REPO_COLLECTION}`;
  const { body } = await v.get(path);
  expect(body).toContain("export const value = 1;");
  expect(body).not.toContain("Add a row");
  expect((await v.get(`${path}?q=value`)).body).toContain("<mark>value</mark>");
  const [id] = idsOf(body);
  const row = await v.get(`${path}/row?id=${encodeURIComponent(id!)}`);
  expect(textOf(row.body)).toContain("export const value = 1;");
  for (const action of ["Edit", "Pin", "Delete", "Undo"]) expect(row.body).not.toContain(`>${action}<`);
  const edit = await v.get(`${path}/edit?id=${encodeURIComponent(id!)}`);
  expect(edit.status).toBe(400);
  expect(textOf(edit.body)).toContain("holds the index of a repository");
});

test("what was done is said once, for collections with any name", async () => {
  const v = await Visitor.open();
  for (const name of ["it's (a) name!", "ü ~*", "a+b&c=d", "100%"]) {
    const path = `/c/${encodeURIComponent(name)}`;
    await v.memory.call("add", { collection: name, ids: ["first"], texts: ["text"] });
    const { location } = await v.post(`${path}/add`, { text: "another", metadata: "", id: "it's +?&#" });
    expect(textOf((await v.get(location!)).body)).toContain("Added.");
    expect(textOf((await v.get(location!)).body)).not.toContain("Added.");
  }
});

test("a memory elsewhere is listed by the tools' verbs, with the same pages", async () => {
  const m = await TestMemory.open();
  const here = await Visitor.open(m);
  const there = await Visitor.open(m, { local: undefined });
  const ids = Array.from({ length: 30 }, (_, i) => `row-${i}`);
  await m.call("add", { collection, ids, texts: ids.map((id) => `text of ${id}`) });
  const lists = await Promise.all([here, there].map((v) => v.get("/c/notes")));
  expect(idsOf(lists[1]!.body)).toEqual(idsOf(lists[0]!.body));
  const older = /<a href="([^"]*)">Older rows/.exec(lists[1]!.body)![1]!.replaceAll("&amp;", "&");
  expect(idsOf((await there.get(older)).body)).toEqual(idsOf((await here.get(older)).body));
  expect(lists[1]!.body).not.toContain("/history");
  expect((await there.get("/c/notes/row?id=row-1")).body).not.toContain("Versions");
  for (const page of ["history", "duplicates", "versions?id=row-1"]) {
    expect((await there.get(`/c/notes/${page}`)).status).toBe(404);
  }
});

test("a memory whose directory is gone has pages that say so", async () => {
  const v = await withNotes();
  await v.get("/c/notes");
  rmSync(v.memory.dir, { recursive: true });
  for (const path of ["", "?q=tea", "/row?id=tea", "/history", "/duplicates", "/edit?id=tea", "/add", "/undo"]) {
    const { status, body } = await v.get(`/c/notes${path}`);
    expect([path, status < 500, body.startsWith("<!doctype html>")]).toEqual([path, true, true]);
  }
  const added = await v.post("/c/notes/add", { text: "x", metadata: "", id: "" });
  // A call of a tool makes the directory again, too.
  expect(added.status).toBe(303);
  expect((await v.get(added.location!)).status).toBe(200);
  expect(existsSync(join(v.memory.dir, "notes/collection.json"))).toBe(true);
});
