/** Import, backup and export through the pages. */
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";
import { type Browsing, browsing } from "./opened.ts";

const PAGE_BYTES_MAX = 60 * 1024;

let m: TestMemory;
let person: Browsing;
beforeEach(async () => {
  m = await TestMemory.open();
  person = await browsing(m);
});

const ticks = { lenient: "1", times: "1" };

/** What a form with this file sends. */
function form(name: string, content: string | Uint8Array<ArrayBuffer>, fields: Record<string, string> = {}): FormData {
  const data = new FormData();
  data.set("file", new File([content], name));
  for (const [key, value] of Object.entries({ collection: "notes", from: "", ...ticks, ...fields }))
    data.set(key, value);
  return data;
}

/** What an import has left where temporary files are. */
function left(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("svc-import-"));
}

describe("an import", () => {
  test("of JSON lines stores the rows, and a second one leaves them alone", async () => {
    const before = left();
    const lines = ['{"text":"one","id":"a"}', '{"text":"two","metadata":{"scope":"ops"}}'].join("\n");
    const first = await person.post("/files/import", form("notes.jsonl", lines));
    expect(first.status).toBe(200);
    expect(first.body).toContain("Imported 2 rows from notes.jsonl into notes.");
    expect((await m.call("get", { collection: "notes", ids: ["a"] })).rows[0].text).toBe("one");
    const second = await person.post("/files/import", form("notes.jsonl", lines));
    expect(second.body).toContain("<dt>There already</dt><dd>2</dd>");
    expect(left()).toEqual(before);
  });

  test.each([
    ["vault.md", "# A note\n\nwith a paragraph\n", "with a paragraph"],
    ["rows.csv", "text,team\nfrom a table,red\n", "from a table"],
    ["list.json", '[{"text":"from a list"}]', "from a list"],
  ])("recognises %s", async (name, content, text) => {
    const { status, body } = await person.post("/files/import", form(name, content));
    expect({ status, body: status === 200 ? "" : body }).toEqual({ status: 200, body: "" });
    const { ids } = await m.call("ids", { collection: "notes" });
    expect((await m.call("get", { collection: "notes", ids })).rows[0].text).toContain(text);
  });

  test("of a gzip file is unpacked", async () => {
    const packed = Bun.gzipSync(new TextEncoder().encode('{"text":"packed"}\n'));
    const { body } = await person.post("/files/import", form("notes.jsonl.gz", packed));
    expect(body).toContain("Imported 1 row");
  });

  test("leaves bad rows out and names them by line, without the folder that the file was in", async () => {
    const bad = '{"text":"one"}\n{"text":7}\nnonsense <b>\n';
    const { status, body } = await person.post("/files/import", form("notes.jsonl", bad));
    expect(status).toBe(200);
    expect(body).toContain("<dt>Rows left out</dt><dd>2</dd>");
    expect(body).toContain("notes.jsonl&#39;, line 2");
    expect(body).not.toContain("svc-import-");
  });

  test("that stops says how many rows are stored", async () => {
    const rows = [...Array.from({ length: 5000 }, (_, i) => `{"text":"row ${i}"}`), "nonsense"];
    const data = form("notes.jsonl", rows.join("\n"));
    data.delete("lenient");
    const { status, body } = await person.post("/files/import", data);
    expect(status).toBe(400);
    expect(body).toContain("The import stopped:");
    expect(body).toContain("5,000 rows before that are stored");
    expect((await m.call("count", { collection: "notes" })).count).toBe(5000);
  });

  test("of a hostile file stays a small page without its markup", async () => {
    const line = `{"text":7,"<script>alert(1)</script>${"\u202e".repeat(400)}":1}`;
    const name = `<img src=x>\u202e${"é".repeat(200)}.jsonl`;
    const { body } = await person.post("/files/import", form(name, Array(60).fill(line).join("\n")));
    expect(body).not.toMatch(/<script>alert|<img|\u202e/);
    expect(Buffer.byteLength(body)).toBeLessThan(PAGE_BYTES_MAX);
  });

  test("of what no format reads, without a file or into an impossible name shows the form again", async () => {
    const binary = await person.post("/files/import", form("a.bin", new Uint8Array([0, 1, 2, 255])));
    expect(binary.status).toBe(400);
    expect(binary.body).toContain("in none of the known formats: choose its format");
    expect(binary.body).toContain('value="notes"');
    const none = new FormData();
    none.set("collection", "notes");
    expect((await person.post("/files/import", none)).body).toContain("choose a file");
    const name = await person.post("/files/import", form("a.jsonl", '{"text":"x"}', { collection: "a/b" }));
    expect(name.status).toBe(400);
    expect(name.body).toContain("path separator");
    expect(name.body).toContain('value="a/b"');
    expect((await m.call("list_collections")).collections).toEqual([]);
  });

  test("of a body that is not a form is an error", async () => {
    const headers = { origin: person.origin, cookie: person.cookie, "content-type": "multipart/form-data; boundary=x" };
    const answer = await fetch(`${person.origin}/files/import`, { method: "POST", body: "--y\r\n", headers });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain("not a whole form");
  });
});

describe("a backup", () => {
  test("copies all collections, and says how it is used", async () => {
    await m.call("add", { collection: "notes", texts: ["one", "two"] });
    const to = join(scratchDir(), "copies of <monday>");
    const { status, body } = await person.post("/files/backup", { folder: to });
    expect(status).toBe(200);
    expect(body).toContain("Copied 1 collection to");
    expect(body).toContain("svc mem restore");
    const copy = await TestMemory.open(to);
    expect((await copy.call("count", { collection: "notes" })).count).toBe(2);
    const again = await person.post("/files/backup", { folder: to });
    expect(again.status).toBe(400);
    expect(again.body).toContain("copies of &lt;monday&gt;");
  });

  test("into a folder that cannot be is refused, with what was typed", async () => {
    await m.call("add", { collection: "notes", texts: ["one"] });
    const file = join(scratchDir(), "file");
    writeFileSync(file, "");
    for (const folder of ["", "backups", "https://example.org/x", join(m.dir, "inside"), join(file, "inside")]) {
      const { status, body } = await person.post("/files/backup", { folder });
      expect({ folder, status }).toEqual({ folder, status: 400 });
      expect(body).toContain('aria-invalid="true"');
      expect(body).toContain(`value="${folder}"`);
    }
  });
});

describe("an export of all collections", () => {
  test("writes a file for each, which imports read", async () => {
    await m.call("add", { collection: "notes", texts: ["one", "two"] });
    await m.call("add", { collection: "other", texts: ["three"] });
    const to = join(scratchDir(), "files");
    const { status, body } = await person.post("/files/export", { to });
    expect(status).toBe(200);
    expect(body).toContain("Copied 2 collections to");
    expect(readdirSync(to).sort()).toEqual(["notes.jsonl", "other.jsonl"]);
    const lines = readFileSync(join(to, "notes.jsonl"), "utf8");
    const back = await person.post("/files/import", form("notes.jsonl", lines, { collection: "copy" }));
    expect(back.body).toContain("Imported 2 rows");
  });

  test("replaces no file, and writes nothing then", async () => {
    await m.call("add", { collection: "a", texts: ["one"] });
    await m.call("add", { collection: "b", texts: ["one"] });
    const to = scratchDir();
    writeFileSync(join(to, "b.jsonl"), "mine");
    const { status, body } = await person.post("/files/export", { to });
    expect(status).toBe(400);
    expect(body).toContain("exists already");
    expect(existsSync(join(to, "a.jsonl"))).toBe(false);
    expect(readFileSync(join(to, "b.jsonl"), "utf8")).toBe("mine");
  });

  test("leaves out a collection that is damaged, and says so", async () => {
    await m.call("add", { collection: "notes", texts: ["one"] });
    mkdirSync(join(m.dir, "broken"));
    writeFileSync(join(m.dir, "broken/collection.json"), "{");
    const to = join(scratchDir(), "files");
    const { status, body } = await person.post("/files/export", { to });
    expect(status).toBe(200);
    expect(body).toContain("1 collection left out.");
    expect(readdirSync(to)).toEqual(["notes.jsonl"]);
  });
});

test("with --read-only there is no form, and none is taken", async () => {
  const reader = await browsing(m, { readOnly: true });
  expect((await reader.get("/files")).body).not.toContain("<form");
  for (const path of ["/files/import", "/files/backup", "/files/export"]) {
    expect((await reader.post(path, form("a.jsonl", '{"text":"x"}'))).status).toBe(403);
  }
  expect((await m.call("list_collections")).collections).toEqual([]);
});
