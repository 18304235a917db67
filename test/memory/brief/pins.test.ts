/** Pinned rows: what keeps a pin, and what is refused. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { LocalStore } from "../../../src/api/local-store.ts";
import { native, scratchDir, TestMemory } from "../../fixture.ts";
import { project } from "../../repo/helpers.ts";
import { BriefMemory, rowsIn } from "./support.ts";

const notes = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `n${i}`, text: `note ${i}` }));

async function pinned(m: BriefMemory, name = "notes"): Promise<string[]> {
  return (await m.terminal.pin({ collection: name }, {})).pinned;
}

test("a pin outlives an update of the row, and not the row", async () => {
  const m = await BriefMemory.open();
  await m.put("notes", ...notes(3));
  const pin = (id: string, remove?: boolean) => m.terminal.pin({ collection: "notes", id, remove }, {});
  await pin("n1");
  expect(await pin("n0")).toEqual({ collection: "notes", pinned: ["n1", "n0"] });
  // Again: it keeps its place.
  expect((await pin("n1")).pinned).toEqual(["n1", "n0"]);
  await m.put("notes", { id: "n1", text: "another", metadata: { scope: "default" } });
  expect(rowsIn(await m.terminal.brief({})).slice(0, 2)).toEqual(["pinned: n1", "pinned: n0"]);
  await m.delete("notes", "n1");
  expect(await pinned(m)).toEqual(["n0"]);
  expect(m.collection("notes").note("pins")).toEqual(["n1", "n0"]);
  expect(rowsIn(await m.terminal.brief({}))[0]).toBe("pinned: n0");
  // The next pin drops it: a row of that id is not pinned.
  expect((await pin("n2")).pinned).toEqual(["n0", "n2"]);
  await m.put("notes", { id: "n1", text: "again" });
  expect(await pinned(m)).toEqual(["n0", "n2"]);
  expect((await pin("n0", true)).pinned).toEqual(["n2"]);
  expect((await pin("n2", true)).pinned).toEqual([]);
  expect(m.collection("notes").note("pins")).toBeUndefined();
});

test("the beginning of an id pins, and the pin of a deleted row can be removed", async () => {
  const m = await BriefMemory.open();
  await m.put(
    "notes",
    { id: "deploy-rules", text: "x" },
    { id: "deploy-rules-2", text: "x" },
    { id: "other", text: "x" },
  );
  const pin = (id: string, remove?: boolean) => m.terminal.pin({ collection: "notes", id, remove }, {});
  expect((await pin("oth")).pinned).toEqual(["other"]);
  await expect(pin("dep")).rejects.toThrow("2 ids of collection 'notes' begin with 'dep'");
  await pin("deploy-rules");
  await m.delete("notes", "deploy-rules");
  expect((await pin("deploy-rules", true)).pinned).toEqual(["other"]);
});

test("what is not live or not pinned, and a pin too many, is refused and changes nothing", async () => {
  const m = await BriefMemory.open();
  await m.put("notes", ...notes(21));
  const pin = (id: string, remove?: boolean) => m.terminal.pin({ collection: "notes", id, remove }, {});
  await expect(pin("none")).rejects.toThrow("collection 'notes' has no row 'none'");
  await expect(pin("n20", true)).rejects.toThrow("row 'n20' of collection 'notes' is not pinned");
  await expect(m.terminal.pin({ collection: "none", id: "n1" }, {})).rejects.toThrow("does not exist");
  for (let i = 0; i < 20; i++) await pin(`n${i}`);
  await expect(pin("n20")).rejects.toThrow("has 20 pinned rows, which is the limit");
  expect(await pinned(m)).toHaveLength(20);
  const { pinned: dropped } = await pin("n3", true);
  expect(dropped).toHaveLength(19);
  const generation = m.collection("notes").generation;
  await pin("n5");
  expect(m.collection("notes").generation).toBe(generation);
});

test("long and odd ids", async () => {
  const m = await BriefMemory.open();
  const ids = Array.from({ length: 20 }, (_, i) => `\u0001"${i}".padEnd(20)${"\u{1f600}".repeat(120)}`.slice(0, 250));
  const whole = ids.map((id) => (id.isWellFormed() ? id : id.slice(0, -1)));
  await m.put("notes", ...whole.map((id) => ({ id, text: "x" })));
  for (const id of whole) await m.terminal.pin({ collection: "notes", id }, {});
  expect(await pinned(m)).toEqual(whole);
});

test("rows of repositories cannot be pinned", async () => {
  const m = await TestMemory.open();
  await m.call("index_repo", { path: project() });
  const terminal = await m.memory.terminal();
  await expect(terminal.pin({ collection: "repo_symbols", id: "x" }, {})).rejects.toThrow(
    "holds the index of a repository",
  );
});

test("a purge removes the pin with the row", async () => {
  const m = await BriefMemory.open();
  await m.put("notes", ...notes(2));
  for (const id of ["n0", "n1"]) await m.terminal.pin({ collection: "notes", id }, {});
  await m.terminal.purge({ collection: "notes", ids: ["n0"] }, {});
  expect(m.collection("notes").note("pins")).toEqual(["n1"]);
});

test("compaction, alteration, rename and backup keep pins", async () => {
  const m = await BriefMemory.open();
  await m.put("notes", ...notes(3));
  await m.terminal.pin({ collection: "notes", id: "n2" }, {});
  await m.terminal.compact({ collection: "notes", keep_history: false }, {});
  expect(await pinned(m)).toEqual(["n2"]);
  await m.memory.close();
  const store = new LocalStore(m.dir, await native(), "0.0.0-test");
  const copy = join(scratchDir(), "copy");
  try {
    await store.alterCollection("notes", { addColumns: ["team"] });
    await store.renameCollection("notes", "renamed");
    await store.backup(copy);
  } finally {
    await store.close();
  }
  for (const dir of [m.dir, copy]) expect(await pinned(await BriefMemory.open(dir), "renamed")).toEqual(["n2"]);
});

test("a note that something else wrote counts as no pins", async () => {
  const m = await BriefMemory.open();
  await m.put("notes", ...notes(2));
  for (const value of [7, { a: 1 }, "n1", [7, null, "", "none", "n1"]]) {
    await m.collection("notes").change(async (t) => t.note("pins", value));
    expect(await pinned(m)).toEqual(Array.isArray(value) ? ["n1"] : []);
    expect(rowsIn(await m.terminal.brief({}))).toHaveLength(2);
  }
});
