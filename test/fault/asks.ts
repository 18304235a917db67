/** Every kind of call on a store, and what it says: the same calls on a damaged copy are judged by these. */
import { LocalStore } from "../../src/api/local-store.ts";
import type { GotRow } from "../../src/api/options.ts";
import { errorCode, errorLine } from "../../src/errors.ts";
import type { Manifest } from "../../src/store/schema.ts";
import type { Native } from "../../src/trust/runtime/libraries.ts";
import { random, unitVectors } from "../random.ts";
import { NAME, textOf } from "./stores.ts";

/** What a call came to: a value, or the line and code of its error. */
export interface Answer {
  value?: unknown;
  /** The hits' ids with their scores, of a search. */
  hits?: [id: string, score: number][];
  notice?: string;
  error?: string;
  code?: string;
}

/** By the name of the call. */
export type Answers = Record<string, Answer>;

const VERSION = "0.0.0-test";
const QUESTIONS = 3;
/** Rows that are got by themselves. */
const ALONE = 120;

async function answerOf(call: () => unknown): Promise<Answer> {
  try {
    const value = (await call()) as { ids?: string[]; scores?: number[]; notice?: string } | undefined;
    const { ids, scores, notice } = value ?? {};
    if (!scores || !ids) return { value };
    return { value: { ...value, notice: undefined }, hits: ids.map((id, i) => [id, scores[i]!]), notice };
  } catch (error) {
    return { error: errorLine(error), code: errorCode(error) };
  }
}

/**
 * Opens the store and reads all that there is to read.
 * @param rows ids of rows, some of which are got by themselves, and all in one call
 * @param meanwhile called when the collection is open and was asked something
 */
export async function askAll(
  dir: string,
  native: Native,
  rows: readonly string[],
  meanwhile?: () => void,
): Promise<Answers> {
  const out: Answers = {};
  const ask = async (name: string, call: () => unknown) => {
    out[name] = await answerOf(call);
  };
  const store = new LocalStore(dir, native, VERSION);
  try {
    await ask("open", () => void store.collection(NAME));
    if (out.open!.error !== undefined) return out;
    const notes = store.handle(NAME);
    if (meanwhile) {
      await answerOf(() => notes.get(rows.slice(0, 1)));
      meanwhile();
    }
    const { dim, embedderProfile } = notes.schema;
    const next = random(99);
    const { generation, totalRows, ...manifest } = notes.schema as Manifest;
    await ask("manifest", () => manifest);
    await ask("counters", () => ({ generation, totalRows }));
    await ask("ids", () => notes.ids());
    await ask("ids of a value", () => notes.ids({ kind: "k1" }));
    await ask("newest", () => notes.ids(undefined, { newest: 9 }));
    await ask("count", () => notes.count({ kind: "k2" }));
    await ask("count of a partition", () => notes.count({ scope: "part-1" }));
    await ask("count by number", () => notes.count({ place: 8 }));
    const all = { withVector: true, withTimes: true };
    const get = async (ids: readonly string[]) => (await notes.get(ids, all)).map(digested);
    const step = Math.ceil(rows.length / ALONE);
    for (let i = 0; i < rows.length; i += step) await ask(`get ${rows[i]}`, () => get([rows[i]!]));
    await ask("export", () => get(rows));
    const queries = unitVectors(QUESTIONS, dim, next);
    for (let i = 0; i < QUESTIONS; i++) {
      const query = queries.subarray(i * dim, (i + 1) * dim);
      const exact = { targetRecall: 1, withMetadata: true, topK: 10 };
      await ask(`vector ${i}`, () => notes.search(query, exact));
      await ask(`vector ${i}, every row`, () => notes.search(query, { ...exact, topK: 100_000 }));
      await ask(`vector ${i} of a value`, () => notes.search(query, { ...exact, where: { kind: "k1" } }));
      await ask(`vector ${i} of a partition`, () => notes.search(query, { ...exact, where: { scope: "part-2" } }));
      await ask(`vector ${i}, approximate`, () => notes.search(query, { ...exact, targetRecall: 0.5 }));
    }
    await ask("many vectors", async () => {
      const all = await notes.searchMany(queries, { targetRecall: 1 });
      return { ids: all.flatMap((r) => r.ids), scores: all.flatMap((r) => r.scores), notice: all[0]?.notice };
    });
    for (let i = 0; i < QUESTIONS; i++) {
      const query = textOf(next, 3);
      const asked = { withMetadata: true, topK: 10 };
      await ask(`words ${i}`, () => notes.searchLexical(query, { ...asked, withText: true }));
      await ask(`words ${i} of a partition`, () =>
        notes.searchLexical(query, { ...asked, where: { scope: "part-2" } }),
      );
      if (embedderProfile === null) continue;
      await ask(`text ${i}`, () => notes.searchText(query, asked));
      await ask(`text ${i} of a value`, () => notes.searchText(query, { ...asked, where: { kind: "k1" } }));
    }
  } finally {
    await store.close();
  }
  return out;
}

/** A row whose vector is shown by a digest of its bytes. */
function digested({ vector, ...row }: GotRow): object {
  return { ...row, vector: vector && String(Bun.hash(vector)) };
}

/** What `svc mem check` says of the collection. */
export async function checkAll(dir: string, native: Native): Promise<{ sound: boolean; said: string }> {
  const store = new LocalStore(dir, native, VERSION);
  try {
    const [found] = await store.check({ names: [NAME] });
    return { sound: found!.sound, said: JSON.stringify([found!.error, found!.newer, ...found!.damages]) };
  } catch (error) {
    return { sound: false, said: errorLine(error) };
  } finally {
    await store.close();
  }
}

/** Adds a row and deletes it, each with a save, then compacts: the rows are what they were. */
export async function changeAll(dir: string, native: Native): Promise<Answers> {
  const out: Answers = {};
  const store = new LocalStore(dir, native, VERSION);
  try {
    out.open = await answerOf(() => void store.collection(NAME));
    if (out.open.error !== undefined) return out;
    const notes = store.handle(NAME);
    const { dim, embedderProfile } = notes.schema;
    out.add = await answerOf(async () => {
      const options = { ids: ["late"], metadata: [{ scope: "part-1" }] };
      if (embedderProfile === null) await notes.add(unitVectors(1, dim, random(5)), options);
      else await notes.addTexts(["a late row"], options);
      await notes.save();
    });
    out["the added row"] = await answerOf(() => notes.has("late"));
    out.delete = await answerOf(async () => {
      await notes.delete(["late"]);
      await notes.save();
    });
    out.compact = await answerOf(() => notes.compact());
  } finally {
    await store.close();
  }
  return out;
}
