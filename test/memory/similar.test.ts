/** What an answer says of stored rows that nearly have a new text. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { SIMILAR_ADVICE } from "../../src/answers/similar.ts";
import { changeFile, fileWith } from "../collection-files.ts";
import { TestMemory } from "../fixture.ts";

const collection = "notes";
const RETRO = "The retro is every Friday at 15:00.";
const LATER = "The retro is every Friday at 16:30.";
const OTHERS = [
  "We deploy blue-green.",
  "Maria owns the billing service.",
  "Never run migrations on Friday afternoon.",
];

async function withNotes(metadata?: object): Promise<TestMemory> {
  const m = await TestMemory.open();
  const texts = [RETRO, ...OTHERS];
  const rows = { texts, ids: texts.map((_, i) => `r${i}`) };
  await m.call("add", { collection, ...rows, ...(metadata && { metadata: texts.map(() => metadata) }) });
  return m;
}

test("a near copy is named with the stored row and what to do; the text itself is stored", async () => {
  const m = await withNotes();
  const added = await m.call("add", { collection, texts: ["User likes tea.", LATER] });
  expect(added).toEqual({
    ...{ added: 2, collection, ids: added.ids, notice: SIMILAR_ADVICE },
    similar: [{ index: 1, id: added.ids[1], of: "r0", text: RETRO }],
  });
  expect((await m.call("count", { collection })).count).toBe(6);
  const upserted = await m.call("upsert", { collection, texts: [`${OTHERS[1]} Ask her first.`], ids: ["new"] });
  expect(upserted.similar).toEqual([{ index: 0, id: "new", of: "r2", text: OTHERS[1] }]);
});

test("a row is not similar to itself, nor to one that the call replaces", async () => {
  const m = await withNotes();
  for (const verb of ["upsert", "update"] as const) {
    const one = await m.call(verb, { collection, texts: [LATER], ids: ["r0"] });
    expect(one).not.toContainKeys(["similar"]);
    const both = await m.call(verb, { collection, texts: [RETRO, LATER], ids: ["r0", "r1"] });
    expect(both).not.toContainKeys(["similar"]);
    // Another row nearly has it.
    const other = await m.call(verb, { collection, texts: [RETRO.replace("15", "17")], ids: ["r2"] });
    expect(["r0", "r1"]).toContain(other.similar[0].of);
    await m.call("upsert", { collection, texts: [RETRO, ...OTHERS], ids: ["r0", "r1", "r2", "r3"] });
  }
});

test("exact duplicates are listed as such alone", async () => {
  const m = await withNotes();
  const same = await m.call("add", { collection, texts: [RETRO, LATER] });
  expect(same.duplicates).toEqual([{ index: 0, id: same.ids[0], of: "r0" }]);
  expect(same.similar).toEqual([{ index: 1, id: same.ids[1], of: "r0", text: RETRO }]);
  const skipped = await m.call("add", { collection, texts: [RETRO], skip_duplicates: true });
  expect(skipped).toEqual({ added: 0, collection, skipped: 1, duplicates: [{ index: 0, of: "r0" }], ids: ["r0"] });
});

test("only rows of the same partition are named", async () => {
  const m = await withNotes({ scope: "ours" });
  let minute = 10;
  const one = async (metadata?: object) => {
    const texts = [RETRO.replace("00", `${minute++}`)];
    return (await m.call("add", { collection, texts, ...(metadata && { metadata: [metadata] }) })).similar?.length;
  };
  expect(await one({ scope: "theirs" })).toBeUndefined();
  expect(await one()).toBeUndefined();
  expect(await one({ scope: 5 })).toBeUndefined();
  expect(await one({ scope: null })).toBeUndefined();
  expect(await one({ scope: { no: "value of a column" } })).toBeUndefined();
  expect(await one({ scope: "ours" })).toBe(1);
  // An update keeps the partition where it has no metadata.
  await m.call("add", { collection, texts: ["x"], ids: ["x"], metadata: [{ scope: "ours" }] });
  expect((await m.call("update", { collection, texts: [LATER], ids: ["x"] })).similar).toBeUndefined();
  const another = LATER.replace("16:30", "18:00");
  expect((await m.call("update", { collection, texts: [another], ids: ["x"] })).similar).toHaveLength(1);
});

test("superseded rows and turns of conversations are left out, on both sides", async () => {
  const m = await withNotes({ superseded_by: "r9" });
  expect(await m.call("add", { collection, texts: [LATER], ids: ["a"] })).toEqual({ added: 1, collection });
  const old = { texts: [RETRO.replace("15", "12")], metadata: [{ superseded_by: "a" }] };
  expect(await m.call("upsert", { collection, ids: ["old"], ...old })).toEqual({ upserted: 1, collection });
  const turn = { texts: [RETRO.replace("15", "11")], metadata: [{ session: "s", turn: 1 }] };
  expect(await m.call("add", { collection, ids: ["turn"], ...turn })).toEqual({ added: 1, collection });
  const talks = { collection: "talks", ids: ["t1"], texts: [RETRO], metadata: [{ session: "s", turn: 1 }] };
  await m.call("add", talks);
  expect(await m.call("add", { collection: "talks", ids: ["n"], texts: [LATER] })).toEqual({
    added: 1,
    collection: "talks",
  });
});

test("eight texts are looked at, nine are not; empty, long and odd texts are stored without it", async () => {
  const m = await withNotes();
  const filler = Array.from({ length: 7 }, (_, i) => `${"abcdefg"[i]}`);
  expect((await m.call("add", { collection, texts: [...filler, LATER] })).similar).toHaveLength(1);
  expect(await m.call("add", { collection, texts: [...filler, "", LATER].map((t) => `${t} `) })).not.toContainKey(
    "similar",
  );
  for (const text of ["", " ", "\0", "\ud800", "\u{1f512}\u{1f512}", "\u0301", "?!", `${LATER} `.repeat(500_000)]) {
    const ids = [`odd ${text.length} ${text.codePointAt(0)}`];
    const answer = await m.call("add", { collection, texts: [text], ids }).catch((error) => error.message);
    expect(JSON.stringify(answer)).not.toContain("similar");
  }
  const accented = "R\u00e9union chaque vendredi \u00e0 15 h dans la grande salle";
  await m.call("add", { collection, texts: [accented], ids: ["fr"] });
  expect((await m.call("add", { collection, texts: [accented.replace("15", "17")] })).similar[0].of).toBe("fr");
});

test("new and empty collections have none, nor do texts of one call", async () => {
  const m = await TestMemory.open();
  const first = { collection, texts: [RETRO, LATER], ids: ["a", "b"] };
  expect(await m.call("add", first)).toEqual({ added: 2, collection });
  await m.call("delete", { collection, ids: ["a", "b"] });
  expect(await m.call("add", first)).toEqual({ added: 2, collection });
  await m.call("create_collection", { name: "empty", partition_by: "project" });
  expect(await m.call("add", { ...first, collection: "empty" })).toEqual({ added: 2, collection: "empty" });
  const more = await m.call("add", { collection: "empty", texts: [RETRO.replace("15", "9")] });
  expect(more.similar).toHaveLength(1);
});

test("a failed put names the same error as before", async () => {
  const m = await withNotes();
  await expect(m.call("add", { collection, texts: [LATER], ids: ["r0"] })).rejects.toThrow("r0");
  await expect(m.call("update", { collection, texts: [LATER], ids: ["none"] })).rejects.toThrow(
    "cannot update 1 of 1 ids",
  );
  expect((await m.call("count", { collection })).count).toBe(4);
});

test("a search that fails does not keep a text from being stored", async () => {
  const before = await withNotes({ scope: "ours", note: "damaged below" });
  await before.call("compact", { collection });
  await before.close();
  changeFile(fileWith(join(before.dir, collection), "base-"), (bytes) => {
    const at = bytes.indexOf('{"scope":"ours"');
    expect(at).toBeGreaterThan(0);
    bytes.write("x", at);
  });
  const m = await TestMemory.open(before.dir);
  const rows = { texts: [LATER], ids: ["a"], metadata: [{ scope: "ours" }] };
  await expect(m.call("search", { collection, query: RETRO })).rejects.toThrow("the metadata of row 'r0'");
  expect(await m.call("add", { collection, ...rows })).toEqual({ added: 1, collection });
});

test("the answer has at most max_bytes", async () => {
  const m = await TestMemory.open();
  const texts = Array.from({ length: 8 }, (_, i) => `${RETRO} Team ${"abcdefgh"[i]?.repeat(5)} takes the notes of it.`);
  const ids = texts.map((_, i) => `${"x".repeat(400)}${i}`);
  await m.call("add", { collection, texts, ids });
  const again = texts.map((text) => text.replace("15:00", "16:45"));
  const whole = await m.call("add", { collection, texts: again, max_bytes: 0 });
  expect(whole.similar).toHaveLength(8);
  for (const max_bytes of [24_000, 4_000, 1_000]) {
    const text = await m.text("upsert", { collection, texts: again, ids: whole.ids, max_bytes });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max_bytes);
    const { similar, similar_omitted = 0 } = JSON.parse(text);
    expect(similar.length + similar_omitted).toBe(8);
  }
});
