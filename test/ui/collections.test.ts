/** The pages about whole collections: the list, settings and figures, a new one, a download. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestMemory } from "../fixture.ts";
import { type Browsing, browsing } from "./opened.ts";

const PAGE_BYTES_MAX = 60 * 1024;
const EVIL = `<script>alert("x")</script> & 'q' \u202egpj`;

async function filled(): Promise<TestMemory> {
  const m = await TestMemory.open();
  const texts = ["the deploy needs a key", "blue for staging", "green for production"];
  await m.call("add", { collection: "notes", texts, metadata: texts.map((_, i) => ({ scope: i ? "ops" : EVIL })) });
  await m.call("add", { collection: "other", texts: ["one"] });
  return m;
}

describe("the list of collections", () => {
  test("has each with its size, a plot of the sizes, and a page for each fifty", async () => {
    const m = await filled();
    const person = await browsing(m);
    const { body, status } = await person.get("/");
    expect(status).toBe(200);
    expect(body).toContain("2 collections");
    expect(body).toContain('<svg role="img" aria-labelledby="bytes-title" aria-describedby="bytes-about"');
    expect(body).toContain("Rows of all collections by the day in which they were created");
    expect(body).toContain(`<td role="cell" data-column="Rows"><span>4</span>`);
    expect(body).not.toContain("style=");
    expect(body).not.toContain("First page");
    for (let i = 0; i < 60; i++) await m.call("add", { collection: `c${String(i).padStart(2, "0")}`, texts: ["x"] });
    const first = await person.get("/");
    expect(first.body).toMatch(/62 collections, \d+ on this page/);
    expect(first.body).toContain("53 others");
    expect(Buffer.byteLength(first.body)).toBeLessThan(PAGE_BYTES_MAX);
    const second = await person.get("/?after=c49");
    expect(second.body).toContain('href="/c/notes"');
    expect(second.body).not.toContain('href="/c/c49"');
    expect(second.body).toContain("First page");
  });

  test("stays small with names and descriptions that are long", async () => {
    const m = await TestMemory.open();
    for (let i = 0; i < 55; i++) {
      const name = `${i}${"\u202e".repeat(42)}`;
      await m.call("add", { collection: name, texts: ["x"] });
      const description = "<&>\u202e".repeat(500);
      await (await m.memory.terminal()).describe({ collection: name, description }, {});
    }
    const person = await browsing(m);
    for (const path of ["/", `/c/${encodeURIComponent(`0${"\u202e".repeat(42)}`)}/settings`]) {
      const { body, status } = await person.get(path);
      expect(status).toBe(200);
      expect(Buffer.byteLength(body)).toBeLessThan(PAGE_BYTES_MAX);
    }
  });

  test("of an empty memory says what to do, and offers none to change where nothing may be changed", async () => {
    const m = await TestMemory.open();
    const { body } = await (await browsing(m, { readOnly: true })).get("/");
    expect(body).toContain("Nothing is stored yet");
    expect(body).not.toContain("/new");
    const { status } = await (await browsing(m, { readOnly: true })).get("/new");
    expect(status).toBe(403);
  });

  test("names one that is damaged, whose settings offer a command and the drop", async () => {
    const m = await filled();
    await m.close();
    truncateSync(join(m.dir, "notes/collection.json"), 10);
    const other = await TestMemory.open(m.dir);
    const person = await browsing(other);
    const list = await person.get("/");
    expect(list.body).toContain("is not a manifest");
    expect(list.body).toContain('href="/c/notes/settings"');
    const { body, status } = await person.get("/c/notes/settings");
    expect(status).toBe(200);
    expect(body).toContain("svc mem check notes --repair");
    expect(body).not.toContain('value="rename"');
    const dropped = await person.post("/c/notes/settings", { do: "drop", confirm: "notes" });
    expect(dropped.path).toBe("/");
    expect(dropped.body).toContain("Dropped notes.");
  });

  test("of which one turns out to be damaged still leads to its drop", async () => {
    const m = await filled();
    await m.call("compact", { collection: "notes" });
    await m.close();
    const folder = join(m.dir, "notes");
    for (const name of readdirSync(folder).filter((one) => /^(base|delta|lexical|texts)/.test(one))) {
      const bytes = readFileSync(join(folder, name));
      for (let at = 64; at < bytes.length; at += 97) bytes[at]! ^= 0x55;
      writeFileSync(join(folder, name), bytes);
    }
    const person = await browsing(await TestMemory.open(m.dir));
    expect((await person.get("/c/notes/export")).status).toBe(400);
    const { status, body } = await person.get("/c/notes/settings");
    expect(status).toBe(200);
    expect(body).toMatch(/cannot be read: .*is damaged: base-.*svc mem check notes --repair/);
    expect(body).not.toContain('value="compact"');
    const dropped = await person.post("/c/notes/settings", { do: "drop", confirm: "notes" });
    expect(dropped.body).toContain("Dropped notes");
  });

  test("of a memory whose directory is gone says so", async () => {
    const m = await filled();
    const person = await browsing(m);
    rmSync(m.dir, { recursive: true });
    const { status, body } = await person.get("/");
    expect(status).toBe(200);
    expect(body).toContain("There is no folder at the path of this memory.");
    expect((await person.get("/c/notes/settings")).status).toBe(400);
  });
});

describe("the settings of a collection", () => {
  let m: TestMemory;
  let person: Browsing;
  beforeAll(async () => {
    m = await filled();
    person = await browsing(m);
  });

  test("show figures, and plots with their figures in tables", async () => {
    const { body } = await person.get("/c/notes/settings");
    expect(body).toContain("<dt>Rows</dt><dd>3</dd>");
    expect(body).toContain("Rows by scope");
    expect(body).toContain("Rows by the day in which they were created");
    expect(body).toContain(`<td role="cell" data-column="Rows"><span>3</span>`);
    expect(body).toContain("external_ids");
    expect(body).not.toContain("<script>alert");
    expect(body).not.toContain("\u202e");
    expect(Buffer.byteLength(body)).toBeLessThan(PAGE_BYTES_MAX);
  });

  test("describe", async () => {
    const saved = await person.post("/c/notes/settings", { do: "describe", description: EVIL });
    expect(saved.path).toBe("/c/notes/settings");
    expect(saved.body).toContain("Saved the description.");
    expect(saved.body).not.toContain("<script>alert");
    const again = await person.get("/c/notes/settings");
    expect(again.body).not.toContain("Saved the description.");
    const long = await person.post("/c/notes/settings", { do: "describe", description: "x".repeat(5000) });
    expect(long.status).toBe(400);
    expect(long.body).toContain("4096");
    expect(long.body).toContain("x".repeat(5000));
    const removed = await person.post("/c/notes/settings", { do: "describe", description: "" });
    expect(removed.body).toContain("Removed the description.");
  });

  test("turn meaning off and on", async () => {
    const off = await person.post("/c/notes/settings", { do: "meaning", meaning: "off" });
    expect(off.body).toContain("Search by meaning is off.");
    expect(off.body).toContain("Turn it on");
    const on = await person.post("/c/notes/settings", { do: "meaning", meaning: "on" });
    expect(on.body).toContain("Turn it off");
  });

  test("compact, with the history or without it", async () => {
    await m.call("delete", {
      collection: "notes",
      ids: (await m.call("ids", { collection: "notes" })).ids.slice(0, 1),
    });
    const terminal = await m.memory.terminal();
    const kept = await person.post("/c/notes/settings", { do: "compact", history: "keep" });
    expect(kept.body).toContain("Compacted:");
    expect((await terminal.history({ collection: "notes", limit: 9 })).saves?.length).toBe(2);
    await person.post("/c/notes/settings", { do: "compact" });
    expect((await terminal.history({ collection: "notes", limit: 9 })).saves).toEqual([]);
  });

  test("rename, and say where the name is taken", async () => {
    const taken = await person.post("/c/notes/settings", { do: "rename", to: "other" });
    expect(taken.status).toBe(400);
    expect(taken.body).toContain('aria-invalid="true"');
    expect(taken.body).toContain('value="other"');
    const done = await person.post("/c/notes/settings", { do: "rename", to: "decisions" });
    expect(done.path).toBe("/c/decisions/settings");
    expect(done.body).toContain("Renamed notes to decisions.");
    expect((await m.call("count", { collection: "decisions" })).count).toBe(2);
    expect((await person.get("/c/notes/settings")).status).toBe(400);
  });

  test("drop only what is named", async () => {
    const page = await person.get("/c/decisions/settings");
    expect(page.body).toContain("<strong>2 rows</strong>");
    const wrong = await person.post("/c/decisions/settings", { do: "drop", confirm: "decision" });
    expect(wrong.status).toBe(400);
    expect(wrong.body).toContain("nothing was dropped");
    expect((await m.call("list_collections")).collections).toEqual(["decisions", "other"]);
    const done = await person.post("/c/decisions/settings", { do: "drop", confirm: "decisions" });
    expect(done.path).toBe("/");
    expect(done.body).toContain("Dropped decisions with 2 rows.");
    expect((await m.call("list_collections")).collections).toEqual(["other"]);
  });

  test("refuse what is not a form, and an action that does not exist", async () => {
    expect((await person.post("/c/other/settings", { do: "explode" })).status).toBe(400);
    expect((await person.get("/c/none/settings")).status).toBe(400);
  });

  test("have no form where nothing may be changed, and a form that is sent anyway is refused", async () => {
    const reader = await browsing(m, { readOnly: true });
    const { body } = await reader.get("/c/other/settings");
    expect(body).not.toContain('method="post"');
    expect(body).toContain("Download");
    expect((await reader.post("/c/other/settings", { do: "drop", confirm: "other" })).status).toBe(403);
    expect((await m.call("list_collections")).collections).toEqual(["other"]);
  });
});

describe("a new collection", () => {
  test("is made with its filters, and is there for other processes", async () => {
    const m = await TestMemory.open();
    const person = await browsing(m);
    const fields = { name: "plans", description: "what comes next", columns: "team, kind,", lexical: "1" };
    const made = await person.post("/new", fields);
    expect(made.path).toBe("/c/plans");
    const { body } = await person.get("/c/plans/settings");
    expect(body).toContain("<dt>Filters</dt><dd><bdi>scope</bdi>, <bdi>team</bdi>, <bdi>kind</bdi></dd>");
    expect(body).toContain("what comes next");
    await person.post("/new", { name: "bare" });
    const other = await TestMemory.open(m.dir);
    expect((await other.call("list_collections")).collections).toEqual(["bare", "plans"]);
  });

  test("with a name that is taken or not possible keeps what was typed", async () => {
    const m = await TestMemory.open();
    const person = await browsing(m);
    await person.post("/new", { name: "plans" });
    for (const [name, why] of [
      ["plans", "already"],
      ["a/b", "path separator"],
      ["", "is empty"],
    ]) {
      const { status, body } = await person.post("/new", { name: name!, columns: "team" });
      expect({ name, status }).toEqual({ name, status: 400 });
      expect(body).toContain(why!);
      expect(body).toContain('value="team"');
    }
  });
});

describe("a download", () => {
  test("has a line for the collection and one for each row, and can be imported", async () => {
    const m = await filled();
    const { body, response } = await (await browsing(m)).get("/c/notes/export");
    expect(response.headers.get("content-disposition")).toBe(
      `attachment; filename="notes.jsonl"; filename*=UTF-8''notes.jsonl`,
    );
    const lines = body
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(4);
    expect(lines.slice(1).map(({ text }) => text)).toContain("blue for staging");
    expect(lines[1].vector).toBeUndefined();
    const withVectors = await (await browsing(m)).get("/c/notes/export?vectors=1");
    expect(JSON.parse(withVectors.body.split("\n")[1]!).vector.f32).toBeString();
  });

  test("of a name in another script has it whole and in ASCII; one that does not exist is an error", async () => {
    const m = await TestMemory.open();
    await m.call("add", { collection: "メモ'1", texts: ["x"] });
    const person = await browsing(m);
    const { response } = await person.get(`/c/${encodeURIComponent("メモ'1")}/export`);
    expect(response.headers.get("content-disposition")).toBe(
      `attachment; filename="___1.jsonl"; filename*=UTF-8''%E3%83%A1%E3%83%A2%271.jsonl`,
    );
    expect((await person.get("/c/none/export")).status).toBe(400);
  });
});
