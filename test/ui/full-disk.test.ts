/** An import on a full disk: of the memory, and of the folder in which the file is kept meanwhile. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { TestMemory } from "../fixture.ts";
import { SmallDisk } from "../small-disk.ts";
import { browsing } from "./opened.ts";

const disk = new SmallDisk("8m");
const need = "(needs mount)";

function form(rows: number): FormData {
  const data = new FormData();
  const lines = Array.from({ length: rows }, (_, i) => `{"text":"row ${i} ${"and more ".repeat(20)}"}`);
  data.set("file", new File([lines.join("\n")], "notes.jsonl"));
  data.set("collection", "notes");
  return data;
}

test.skipIf(!disk.isPossible)(
  `the memory has no room: the page says so, and it goes on with room ${need}`,
  async () => {
    const m = await TestMemory.open(join(disk.path, "memory"));
    const person = await browsing(m);
    expect((await person.post("/files/import", form(3))).status).toBe(200);
    const free = disk.fill();
    const { status, body } = await person.post("/files/import", form(2000));
    expect(status).toBe(400);
    expect(body).toContain("free some space and try again");
    expect(body).toContain("0 rows before that are stored");
    expect((await person.get("/c/notes/settings")).status).toBe(200);
    free();
    expect((await person.post("/files/import", form(2000))).body).toContain("Imported 1,997 rows");
    await m.close();
  },
);

test.skipIf(!disk.isPossible)(`the folder for temporary files has no room ${need}`, async () => {
  const m = await TestMemory.open();
  const person = await browsing(m);
  const free = disk.fill();
  const before = process.env.TMPDIR;
  process.env.TMPDIR = disk.path;
  try {
    const { status, body } = await person.post("/files/import", form(2000));
    expect(status).toBe(400);
    expect(body).toContain("free some space and try again");
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    free();
  }
  expect(readdirSync(disk.path).filter((name) => name.startsWith("svc-import-"))).toEqual([]);
  expect((await m.call("list_collections")).collections).toEqual([]);
});
