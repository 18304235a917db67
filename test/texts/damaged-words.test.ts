/**
 * A lexical index that is damaged or missing costs a search its ranking by words, and the answer says so; a search by
 * words alone is answered from the texts. No flipped bit changes an answer that does not say so.
 */
import { beforeAll, expect, test } from "bun:test";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileWith } from "../collection-files.ts";
import { damaged } from "../complete-check.ts";
import { notes, scratchDir, TestMemory } from "../fixture.ts";
import { random } from "../random.ts";

const FILE = "lexical-0000000000000002.slab";
const DAMAGED = `the word index of 'notes' is damaged (${FILE})`;
const REMEDY = "'svc mem check notes --repair' mends it";
const NOTICE = `${DAMAGED}: the answer is by vectors alone; ${REMEDY}`;
const NOTICE_WORDS = `${DAMAGED}: the answer is made from the texts, and takes longer; ${REMEDY}`;
const asked = { collection: "notes", query: "what is the temperature of the water for a deploy of bread", top_k: 40 };
const HEAD = 64;
const FOOT = 64;

let healthy: string;
let byBoth: string[];
let byVector: string[];
let byWords: unknown[];
const idsOf = ({ hits }: { hits: { id: string }[] }) => hits.map(({ id }) => id);

/** Two rows in the base and the others after it, so that both lists of a term are read. */
beforeAll(async () => {
  healthy = scratchDir();
  const memory = await TestMemory.open(healthy);
  await memory.call("create_collection", { name: "notes", lexical: true });
  const rows = notes();
  for (const part of [rows.slice(0, -2), rows.slice(-2)]) {
    await memory.call("add", { collection: "notes", ids: part.map((r) => r.id), texts: part.map((r) => r.text) });
    if (part.length > 2) await memory.call("build_lexical", { collection: "notes", k1: 1, b: 0.5 });
  }
  byBoth = idsOf(await memory.call("search", asked));
  byWords = (await memory.call("search_lexical", asked)).hits;
  await memory.close();
  byVector = idsOf(await search(without(() => undefined)));
  expect(byVector).not.toEqual(byBoth);
});

/** The index in its slab: where it begins, and its parts. */
function partsOf(file: Buffer): Record<string, Buffer> {
  const section = (entry: number) => {
    const at = Number(file.readBigUInt64LE(entry + 8));
    return file.subarray(at, at + Number(file.readBigUInt64LE(entry + 16)));
  };
  const index = section(64);
  const foot = index.length - FOOT;
  const number = (offset: number) => Number(index.readBigUInt64LE(offset));
  const [rows, terms, lists] = [number(16), number(foot + 8), number(foot + 16)];
  const lengths = Math.ceil((HEAD + lists) / 64) * 64;
  const fences = lengths + 4 * rows;
  const entries = fences + 8 * Math.ceil(terms / 64);
  return {
    header: file.subarray(0, 64),
    "section table": file.subarray(64, 128),
    head: index.subarray(0, HEAD),
    lists: index.subarray(HEAD, HEAD + lists),
    lengths: index.subarray(lengths, fences),
    fences: index.subarray(fences, entries),
    entries: index.subarray(entries, foot),
    foot: index.subarray(foot),
    sums: section(96),
  };
}

/** A copy of the memory, whose lexical file becomes what `change` makes of it. */
function without(change: (file: Buffer) => Buffer | undefined): string {
  const dir = scratchDir();
  cpSync(healthy, dir, { recursive: true });
  damaged(dir);
  const path = fileWith(join(dir, "notes"), "lexical-");
  const changed = change(readFileSync(path));
  if (changed) writeFileSync(path, changed);
  else rmSync(path);
  return dir;
}

async function search(dir: string) {
  const memory = await TestMemory.open(dir);
  const answer = await memory.call("search", asked);
  await memory.close();
  return answer;
}

const filled = (part: string) => (file: Buffer) => {
  partsOf(file)[part]!.fill(0xff);
  return file;
};
const DAMAGE: Record<string, (file: Buffer) => Buffer | undefined> = {
  missing: () => undefined,
  empty: () => Buffer.alloc(0),
  short: (file) => file.subarray(0, file.length / 2),
  "all ones": (file) => file.fill(0xff),
};
for (const part of ["header", "section table", "head", "lists", "lengths", "fences", "entries", "foot"])
  DAMAGE[part] = filled(part);

test.each(Object.keys(DAMAGE))("%s", async (what) => {
  const dir = without(DAMAGE[what]!);
  const memory = await TestMemory.open(dir);
  const answer = await memory.call("search", asked);
  expect(answer.notice).toBe(NOTICE);
  expect(idsOf(answer)).toEqual(byVector);
  // k1 and b are kept where they could be read.
  const isKnown = ["lists", "lengths", "fences", "entries"].includes(what);
  const words = await memory.call("search_lexical", asked);
  expect(words.notice).toStartWith(NOTICE_WORDS);
  if (isKnown) expect(words.hits).toEqual(byWords);
  else expect(new Set(idsOf(words))).toEqual(new Set(idsOf({ hits: byWords as { id: string }[] })));
  const { stats: before } = await memory.call("stats", { collection: "notes" });
  expect(before.damaged).toMatchObject({ count: 1, first: [{ file: FILE }] });
  expect(before.lexical_index).toBeNull();

  // Rows are added as ever, and found.
  await memory.call("add", { collection: "notes", ids: ["late"], texts: [asked.query] });
  expect(idsOf(await memory.call("search", asked))[0]).toBe("late");
  expect(idsOf(await memory.call("search_lexical", asked))[0]).toBe("late");
  await memory.call("delete", { collection: "notes", ids: ["late"] });
  if (isKnown) expect((await memory.call("search_lexical", asked)).hits).toEqual(byWords);

  await memory.call("compact", { collection: "notes" });
  const mended = await memory.call("search", asked);
  expect(mended.notice ?? "").not.toContain("damaged");
  expect(new Set(idsOf(mended))).toEqual(new Set(byBoth));
  const { stats } = await memory.call("stats", { collection: "notes" });
  const parameters = isKnown ? { k1: 1, b: 0.5 } : { k1: 1.2, b: 0.6 };
  expect(stats.lexical_index).toEqual({ ...parameters, terms: stats.lexical_terms });
  expect(stats.damaged).toBeUndefined();
  if (isKnown) expect(idsOf(mended)).toEqual(byBoth);
});

test("damaged checksums cost nothing: what they are of is whole", async () => {
  const memory = await TestMemory.open(without(filled("sums")));
  const answer = await memory.call("search", asked);
  expect(idsOf(answer)).toEqual(byBoth);
  expect(answer.notice ?? "").not.toContain("damaged");
  expect((await memory.call("stats", { collection: "notes" })).stats.damaged.count).toBe(1);
});

/** Each in a memory of its own: what was compared once is not read again. */
test.each(["lists", "lengths", "fences", "entries"])("single bits of the %s", async (part) => {
  const next = random(part.length);
  for (let i = 0; i < 12; i++) {
    const dir = without((file) => {
      const bytes = partsOf(file)[part]!;
      bytes[Math.floor(next() * bytes.length)]! ^= 1 << Math.floor(next() * 8);
      return file;
    });
    const memory = await TestMemory.open(dir);
    const answer = await memory.call(i % 2 === 0 ? "search" : "search_lexical", asked);
    expect(answer.notice).toStartWith(i % 2 === 0 ? NOTICE : NOTICE_WORDS);
    if (i % 2 === 0) expect(idsOf(answer)).toEqual(byVector);
    else expect(answer.hits).toEqual(byWords);
    await memory.close();
  }
});

test("a long question has both notices", async () => {
  const memory = await TestMemory.open(without(DAMAGE.missing!));
  const { notice } = await memory.call("search", { ...asked, query: "green tea ".repeat(10_000) });
  expect(notice).toStartWith("the query is longer than");
  expect(notice).toEndWith(`; ${NOTICE}`);
});
