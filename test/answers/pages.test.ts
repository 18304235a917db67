/**
 * Bounded answers of the verbs, as a client gets them: never above the bound, and their pages joined are everything,
 * once and in order.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { VerbName } from "../../src/memory/requests.ts";
import { TestMemory } from "../fixture.ts";
import { random } from "../random.ts";
import { randomText } from "./texts.ts";

let m: TestMemory;
beforeAll(async () => {
  m = await TestMemory.open();
});
afterAll(() => m.close());

/** One answer, which must keep to its bound. */
// biome-ignore lint/suspicious/noExplicitAny: a payload is JSON, and a test reads what it expects of it
async function bounded(verb: VerbName, args: Record<string, unknown>): Promise<any> {
  const text = await m.text(verb, args);
  const most = (args.max_bytes as number | undefined) ?? (verb === "repo_search" ? 6_000 : 24_000);
  if (most > 0)
    expect([verb, Buffer.byteLength(text) <= most, Buffer.byteLength(text)]).toEqual([verb, true, expect.any(Number)]);
  return JSON.parse(text);
}

/** All pages of a call. */
// biome-ignore lint/suspicious/noExplicitAny: see above
async function pages(verb: VerbName, args: Record<string, unknown>): Promise<any[]> {
  const all = [await bounded(verb, args)];
  while (all.at(-1).next !== undefined) {
    expect(all.length).toBeLessThan(5000);
    all.push(await bounded(verb, { ...args, after: all.at(-1).next }));
  }
  return all;
}

interface Note {
  id: string;
  text: string;
  metadata?: Record<string, unknown>;
}

/** Rows of odd sizes: ids up to 512 bytes, metadata to 64 KiB, texts to some 100 KB. */
function oddNotes(seed: number, count: number): Note[] {
  const next = random(seed);
  return Array.from({ length: count }, (_, i) => {
    const kind = next();
    const id = kind < 0.1 ? `${i}-`.padEnd(512, "i") : kind < 0.15 ? `${i}-`.padEnd(500, "\u0001") : `id ${i} "é漢😀"`;
    const pad = next() < 0.1 ? "m".repeat(60_000) : next() < 0.2 ? randomText(next, 60).slice(0, 3000) : "";
    const text = next() < 0.1 ? "" : randomText(next, next() < 0.1 ? 9000 : 30);
    const scope = { scope: "s", n: i, ...(next() < 0.7 ? { session: i % 3 } : {}) };
    return { id, text: `common ${text}`, ...(next() < 0.7 ? { metadata: pad ? { ...scope, pad } : scope } : {}) };
  });
}

async function put(collection: string, notes: readonly Note[]): Promise<void> {
  await m.call("create_collection", { name: collection, lexical: true });
  const { ids, texts } = { ids: notes.map(({ id }) => id), texts: notes.map(({ text }) => text) };
  await m.call("upsert", { collection, ids, texts, metadata: notes.map(({ metadata }) => metadata ?? null) });
  await m.call("build_lexical", { collection });
}

const ODD = oddNotes(7, 120);
beforeAll(() => put("odd", ODD));
// Each page is a question over all rows: half of them have pages of every kind at a quarter of the time.
const SOME = ODD.slice(0, 60);
beforeAll(() => put("some", SOME));
const byId = new Map(ODD.map((note) => [note.id, note]));

/** The id that a possibly shortened one stands for. */
const meant = (given: { id: string; id_truncated?: boolean }) =>
  given.id_truncated ? [...byId.keys()].find((id) => id.startsWith(given.id))! : given.id;

const BOUNDS = [1000, 1001, 1234, 2500, 6000, 24_000, 100_000, 16 * 1024 * 1024];

describe("searches", () => {
  test.each(BOUNDS)(
    "all hits once, in order, within %d bytes",
    async (max_bytes) => {
      for (const verb of ["search", "search_lexical"] as const) {
        const args = { collection: "some", query: "common", top_k: 1000 };
        const whole = await m.call(verb, { ...args, max_bytes: 0 });
        expect(whole.hits.length).toBe(SOME.length);
        const kept = new Map(whole.hits.map(({ id, metadata }: Note) => [id, metadata]));
        const beside = (await m.call(verb, { ...args, with_neighbours: true, max_bytes: 0 })).hits.map(
          ({ neighbours }: { neighbours?: object }) => neighbours,
        );
        const scored = verb === "search" ? { with_score: true } : { explain: true };
        const forms = [{}, { with_text: true }, scored, { with_neighbours: true, with_text: true }];
        // Half of the forms for each bound, the other half for the next bound.
        for (const more of forms.filter((_, i) => i % 2 === BOUNDS.indexOf(max_bytes) % 2)) {
          const all = await pages(verb, { ...args, ...more, max_bytes });
          const hits = all.flatMap((page) => page.hits);
          expect(hits.map(meant)).toEqual(whole.hits.map(({ id }: Note) => id));
          for (const page of all) expect(page.hits.length).toBeGreaterThan(0);
          for (const [i, hit] of hits.entries()) {
            if (!("with_neighbours" in more)) expect(hit).not.toHaveProperty("neighbours");
            else if (hit.neighbours_bytes === undefined) expect(hit.neighbours).toEqual(beside[i]);
            else expect(hit.neighbours_bytes).toBe(Buffer.byteLength(JSON.stringify(beside[i])));
            const { metadata, text } = byId.get(meant(hit))!;
            const written = metadata && kept.get(meant(hit));
            if (hit.metadata_bytes === undefined) expect(hit.metadata).toEqual(written);
            else expect(hit.metadata_bytes).toBe(Buffer.byteLength(JSON.stringify(written)));
            if (!("with_text" in more)) expect(hit).not.toHaveProperty("text");
            else if (hit.truncated) {
              const at = Buffer.from(text).subarray(hit.start, hit.start + Buffer.byteLength(hit.text));
              expect(at.toString()).toBe(hit.text);
            } else expect([hit.text, hit.start]).toEqual([text, undefined]);
            expect("score" in hit).toBe(verb === "search_lexical" || "with_score" in more);
          }
        }
      }
    },
    60_000,
  );

  test("top_k bounds all pages together", async () => {
    const args = { collection: "odd", query: "common", top_k: 17 };
    const all = await pages("search", { ...args, max_bytes: 1000 });
    expect(all.length).toBeGreaterThan(2);
    const whole = await m.call("search", { ...args, max_bytes: 0 });
    expect(all.flatMap((page) => page.hits).map(meant)).toEqual(whole.hits.map(({ id }: Note) => id));
  });

  test("metadata of 64 KiB is a number where it alone does not fit, and whole where it does", async () => {
    const pad = "\u0001".repeat(10_900);
    await put("heavy", [{ id: "a", text: "common", metadata: { scope: "x", pad } }]);
    const ask = (max_bytes: number) => bounded("search", { collection: "heavy", query: "common", max_bytes });
    const [hit] = (await ask(24_000)).hits;
    expect(hit).toEqual({ id: "a", metadata_bytes: Buffer.byteLength(JSON.stringify({ scope: "x", pad })) });
    expect((await ask(70_000)).hits[0].metadata.pad).toBe(pad);
    const { rows } = await bounded("get", { collection: "heavy", ids: ["a"] });
    expect(rows[0]).toMatchObject({ id: "a", found: true, metadata_bytes: hit.metadata_bytes, text: "common" });
    expect(rows[0]).not.toHaveProperty("metadata");
  });

  test("texts share the answer: short ones are whole, long ones get the same", async () => {
    const long = (word: string) =>
      `${"other words here. ".repeat(5000)}the quokka is ${word}. ${"and so on. ".repeat(5000)}`;
    await put("shared", [
      { id: "short", text: "a quokka" },
      { id: "one", text: long("one") },
      { id: "two", text: long("two") },
      { id: "three", text: long("three") },
    ]);
    const { hits } = await bounded("search", { collection: "shared", query: "quokkas", with_text: true, top_k: 4 });
    const texts = new Map<string, string>(hits.map((hit: Note) => [hit.id, hit.text]));
    expect(texts.get("short")).toBe("a quokka");
    for (const word of ["one", "two", "three"]) {
      expect(texts.get(word)).toContain(`the quokka is ${word}`);
      expect(texts.get(word)!.length).toBeWithin(6_500, 8_000);
    }
    // svc_get goes on where an excerpt is.
    const { start } = hits.find((hit: Note) => hit.id === "two");
    const [row] = (await bounded("get", { collection: "shared", ids: ["two"], offset: start })).rows;
    expect(row.text).toStartWith(texts.get("two")!);
  });

  test("more hits than texts are read with: they are found all the same", async () => {
    const args = { collection: "odd", query: "common", top_k: 101, with_text: true, max_bytes: 0 };
    for (const { id, text } of (await bounded("search", args)).hits) expect(text).toBe(byId.get(id)!.text);
  });

  test("a question is repeated to 2 KiB", async () => {
    const query = "é".repeat(1025);
    const answer = await bounded("search", { collection: "odd", query });
    expect([answer.query, answer.query_truncated]).toEqual(["é".repeat(1024), true]);
    expect((await bounded("search", { collection: "odd", query: "é".repeat(1024) })).query_truncated).toBeUndefined();
    const huge = await bounded("search_lexical", {
      collection: "odd",
      query: `common ${"\u0001é\n".repeat(40_000)}`,
      max_bytes: 1000,
    });
    expect([huge.query_truncated, huge.notice.length > 50, huge.hits.length > 0]).toEqual([true, true, true]);
  });
});

describe("cursors", () => {
  const args = { collection: "cursors", query: "common", top_k: 100, max_bytes: 1000 };
  const ids = Array.from({ length: 60 }, (_, i) => `row-${String(i).padStart(3, "0")}`);
  // By words each ranks after the one before it, whatever the statistics: its text is longer.
  const rows = () => ids.map((id, i) => ({ id, text: `common ${"other ".repeat(i * 3)}`, metadata: { scope: "x" } }));
  const hitIds = (page: { hits: Note[] }) => page.hits.map(({ id }) => id);

  test("after deletes of what was given nothing is passed over", async () => {
    for (const gone of ["last", "all", "half", "next"] as const) {
      await put("cursors", rows());
      const whole = await m.call("search_lexical", { ...args, max_bytes: 0 });
      const first = await bounded("search_lexical", args);
      const second = await bounded("search_lexical", { ...args, after: first.next });
      const given = [...hitIds(first), ...hitIds(second)];
      const rest = hitIds(whole).slice(given.length);
      expect([given.length > 8, rest.length > 15]).toEqual([true, true]);
      const deleted = {
        last: given.slice(-1),
        all: given,
        half: given.filter((_, i) => i % 2 === 1),
        next: [given.at(-1)!, ...(gone === "next" ? rest.splice(0, 3) : [])],
      }[gone];
      await m.call("delete", { collection: "cursors", ids: deleted });
      const later = (await pages("search_lexical", { ...args, after: second.next })).flatMap(hitIds);
      expect(later.filter((id) => !given.includes(id))).toEqual(rest);
      const again = later.filter((id) => given.includes(id));
      expect([gone, again.length <= (gone === "half" ? 2 : 0)]).toEqual([gone, true]);
    }
  });

  test("everything deleted is an answer without hits", async () => {
    await put("cursors", rows());
    const { next } = await bounded("search", args);
    await m.call("delete", { collection: "cursors", ids });
    expect(await bounded("search", { ...args, after: next })).toEqual({
      collection: "cursors",
      query: "common",
      hits: [],
    });
  });

  test("of another question, or none: a sentence", async () => {
    await put("cursors", rows());
    const { next } = await bounded("search", args);
    expect(next.length).toBeLessThanOrEqual(80);
    const refused = (more: Record<string, unknown>, verb: VerbName = "search") =>
      bounded(verb, { ...args, after: next, ...more }).then(
        () => "accepted",
        (error) => `${error.name}: ${error.message}`,
      );
    expect(await refused({})).toBe("accepted");
    expect(await refused({ top_k: 50, max_bytes: 2000, with_text: true, with_score: true })).toBe("accepted");
    for (const more of [{ query: "other" }, { collection: "odd" }, { where: { scope: "x" } }]) {
      expect(await refused(more)).toMatch(/^ValueError: after 'c1-.*' belongs to another question: /);
    }
    expect(await refused({}, "search_lexical")).toMatch(/^ValueError: after .* belongs to another question/);
    for (const after of [
      "",
      "garbage",
      "c1-",
      "row-001",
      "c1-0-x-",
      `c1-${"z".repeat(5000)}-a-aaaaaa`,
      next + "x",
      "c1-1-\u0000-aaaaaa",
    ]) {
      expect(await refused({ after })).toMatch(
        /^ValueError: after '.*' is not a cursor: pass the 'next' of the answer before/,
      );
    }
    const get = { collection: "cursors", ids: ["row-001", "row-002"] };
    expect(bounded("get", { ...get, after: next })).rejects.toThrow(/belongs to another question/);
  });
});

describe("svc_get", () => {
  test.each(BOUNDS)(
    "all rows once, in order, within %d bytes; texts to their ends",
    async (max_bytes) => {
      const ids = [...ODD.map(({ id }) => id), "not there", ODD[3]!.id, ODD[3]!.id];
      const all = await pages("get", { collection: "odd", ids, max_bytes });
      const rows = all.flatMap((page) => page.rows);
      expect(rows.length).toBe(ids.length);
      const whole = (await m.call("get", { collection: "odd", ids, max_bytes: 0 })).rows;
      for (const [i, row] of rows.entries()) {
        const { text, metadata, ...rest } = whole[i];
        expect(row.found).toBe(rest.found);
        if (row.id_truncated) expect(rest.id).toStartWith(row.id);
        else expect(row.id).toBe(rest.id);
        if (row.metadata_bytes === undefined) expect(row.metadata).toEqual(metadata);
        else expect(row.metadata_bytes).toBe(Buffer.byteLength(JSON.stringify(metadata)));
        if (!row.truncated) expect(row.text).toBe(text);
        else expect(row.text_bytes).toBe(Buffer.byteLength(text));
      }
      if (max_bytes < 6000) return;
      for (const [i, row] of rows.entries()) {
        let joined = row.text;
        let piece = row;
        while (piece.truncated) {
          expect(piece.text).not.toBe("");
          piece = (await bounded("get", { collection: "odd", ids: [ids[i]], offset: piece.next_offset, max_bytes }))
            .rows[0];
          joined += piece.text;
        }
        expect(joined).toBe(whole[i].text);
      }
    },
    60_000,
  );

  test("text from any byte: inside a character from its start, beyond the end nothing", async () => {
    const text = "aé漢😀z";
    await put("bytes", [{ id: "a", text }]);
    for (let offset = 0; offset < 14; offset++) {
      const [row] = (await bounded("get", { collection: "bytes", ids: ["a"], offset })).rows;
      let start = Math.min(offset, 11);
      while ((Buffer.from(text)[start] ?? 0) >> 6 === 2) start--;
      expect(row).toMatchObject({ id: "a", found: true, text: Buffer.from(text).subarray(start).toString() });
      expect([row.truncated, row.next_offset]).toEqual([undefined, undefined]);
    }
    const far = await bounded("get", { collection: "bytes", ids: ["a"], offset: Number.MAX_SAFE_INTEGER });
    expect(far.rows[0].text).toBe("");
  });

  test.each([1000, 24_000])("random texts joined from pieces of %d bytes", async (max_bytes) => {
    const next = random(max_bytes);
    const notes = Array.from({ length: 6 }, (_, i) => ({ id: `${i}`, text: randomText(next, max_bytes / 4) || "x" }));
    await put("pieces", notes);
    for (const { id, text } of notes) {
      const pieces: string[] = [];
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const answer = await bounded("get", { collection: "pieces", ids: [id], offset, max_bytes });
        const row: { text: string; truncated?: true; text_bytes: number; next_offset?: number } = answer.rows[0];
        if (row.truncated) expect(row.text_bytes).toBe(Buffer.byteLength(text));
        pieces.push(row.text);
        offset = row.next_offset;
      }
      expect(pieces.join("")).toBe(text);
      for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
    }
  });

  test("a text of control characters gets what fits, not a sixth of it", async () => {
    await put("controls", [{ id: "a", text: "\n".repeat(30_000) }]);
    const [row] = (await bounded("get", { collection: "controls", ids: ["a"] })).rows;
    expect(row.text.length).toBeGreaterThan(11_900);
  });
});

describe("lists", () => {
  test("10,000 ids, and ids of 512 bytes, page by page", async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => `${i}`);
    await m.call("add", { collection: "many", ids: many, texts: many });
    const all = await pages("ids", { collection: "many" });
    expect(all.flatMap((page) => page.ids)).toEqual(many);
    for (const page of all.slice(0, -1)) {
      expect(page.next).toBe(page.ids.at(-1));
      expect(JSON.stringify(page).length).toBeGreaterThan(23_900);
    }
    expect((await bounded("ids", { collection: "many", limit: 3 })).ids).toEqual(["0", "1", "2"]);
    for (const max_bytes of [1000, 1500, 24_000]) {
      const plain = ODD.map(({ id }) => id).filter((id) => !id.includes("\u0001"));
      await m.call("upsert", { collection: "plain", ids: plain, texts: plain.map(() => "x") });
      const given = (await pages("ids", { collection: "plain", max_bytes })).flatMap((page) => page.ids);
      expect(given).toEqual(plain);
    }
    const odd = (await pages("ids", { collection: "odd", max_bytes: 4000 })).flatMap((page) => page.ids);
    expect(odd).toEqual(ODD.map(({ id }) => id));
    // Ids of 3 KB as JSON: their beginnings, and the pages go on.
    const small = (await pages("ids", { collection: "odd", max_bytes: 1000 })).flatMap((page) => page.ids);
    for (const [i, { id }] of ODD.entries()) expect(id).toStartWith(small[i]);
    expect(small.length).toBe(ODD.length);
  }, 60_000);

  test("the newest ids, page by page", async () => {
    const whole = await bounded("ids", { collection: "plain", newest: 100, max_bytes: 0 });
    expect(whole.ids.length).toBe(100);
    const all = await pages("ids", { collection: "plain", newest: 100, max_bytes: 2000 });
    expect(all.length).toBeGreaterThan(2);
    expect(all.flatMap((page) => page.ids)).toEqual(whole.ids);
    const other = bounded("ids", { collection: "plain", newest: 51, after: all[0].next });
    expect(other).rejects.toThrow(/belongs to another question/);
    const id = bounded("ids", { collection: "plain", newest: 51, after: whole.ids[0] });
    expect(id).rejects.toThrow(/newest and after exclude each other/);
  });

  test("an id to go on after that was deleted is a sentence", async () => {
    await m.call("add", { collection: "gone", ids: ["a", "b", "c"], texts: ["a", "b", "c"] });
    await m.call("delete", { collection: "gone", ids: ["b"] });
    expect(bounded("ids", { collection: "gone", after: "b" })).rejects.toThrow(/is not live: 'b'; start again/);
  });

  test("collections", async () => {
    const apart = await TestMemory.open();
    const names = Array.from({ length: 30 }, (_, i) => `${String(i).padStart(2, "0")}-${"é".repeat(60)}`);
    for (const collection of names) await apart.call("add", { collection, texts: ["x"] });
    const found: string[] = [];
    for (let after: string | undefined; ; ) {
      const text = await apart.text("list_collections", { after, max_bytes: 1000 });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000);
      const { collections, next } = JSON.parse(text);
      found.push(...collections);
      if (next === undefined) break;
      after = next;
    }
    expect(found).toEqual(names);
    const all = await apart.call("list_collections");
    expect(all.collections).toEqual(names);
    expect(all.details).toHaveLength(30);
    expect(all.details[0]).toMatchObject({ name: names[0], rows: 1, scopes: { default: 1 } });
  });
});

describe("writes", () => {
  test("10,000 rows with generated ids: written, and as many ids as fit", async () => {
    const texts = Array.from({ length: 10_000 }, (_, i) => `t${i}`);
    for (const [verb, count] of [
      ["add", "added"],
      ["upsert", "upserted"],
    ] as const) {
      const args = { collection: `made-${verb}`, texts, ...(verb === "upsert" ? { ids: null } : {}) };
      const answer = await bounded(verb, args);
      expect(answer[count]).toBe(10_000);
      expect(answer.ids.length).toBeGreaterThan(600);
      expect(answer.ids.length + answer.ids_omitted).toBe(10_000);
      const { ids } = await bounded("ids", { collection: `made-${verb}`, max_bytes: 0 });
      expect(answer.ids).toEqual(ids.slice(0, answer.ids.length));
    }
  }, 60_000);

  test("what cannot be cut is shortened, and what is refused keeps to the bound", async () => {
    const filter_columns = Array.from({ length: 31 }, (_, i) => `${i}`.padEnd(120, "c"));
    await m.call("create_collection", { name: "columns", filter_columns });
    const stats = await bounded("stats", { collection: "columns", max_bytes: 1000 });
    expect(stats).toMatchObject({ collection: "columns", shortened: expect.arrayContaining(["stats.filter_columns"]) });
    expect(await bounded("stats", { collection: "columns" })).not.toHaveProperty("shortened");
    const name = `${'"'.repeat(127)}x`;
    await m.call("add", { collection: name, ids: ["a"], texts: ["common"], metadata: [{ scope: "x".repeat(300) }] });
    for (const [verb, args] of [
      ["search", { query: "\u0001".repeat(3000), with_text: true, with_score: true }],
      ["get", { ids: ["a", "b"] }],
      ["ids", {}],
      ["count", {}],
      ["compact", {}],
      ["tune", { dry_run: true }],
      ["delete", { ids: ["a"] }],
    ] as [VerbName, object][]) {
      await bounded(verb, { collection: name, max_bytes: 1000, ...args });
    }
  });
});
