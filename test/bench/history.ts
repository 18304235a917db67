/**
 * The history of 100,000 texts of which 10,000 were replaced: half of these changes before the last compaction, half
 * after it. What a collection pays for it is measured in turn with one that keeps none.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { withOrigin } from "../../src/origin.ts";
import type { Collection } from "../../src/store/collection.ts";
import { Store } from "../../src/store/store.ts";
import { Put } from "../../src/store/writer.ts";
import { savesOf, setHistoryRule, versionsOf } from "../../src/texts/history/history.ts";
import { undo } from "../../src/texts/history/undo.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { openBuiltNative } from "../native.ts";
import { scratchFolder } from "./home.ts";
import { type Line, median, timed } from "./measure.ts";
import { makeTexts } from "./texts.ts";

const ROWS = 100_000;
const CHANGED = 10_000;
const AT_ONCE = 1000;
/** Rows of a save that changes some. */
const A_SAVE = 10;
const WORDS = 30;
/** Rows that each of two collections gets, to compare them. */
const ADDED = 20_000;
const ROUNDS = 5;

const ORIGIN = { client: "bench", version: "1.0", tool: "svc_upsert", session: "01234567" };

export async function benchHistory(): Promise<Line[]> {
  using scratch = scratchFolder();
  const root = scratch.path;
  const { env, kernel } = await openBuiltNative();
  const embedder = new MultigramEmbedder(kernel);
  const store = new Store(root, env, "bench");
  const texts = makeTexts(ROWS, WORDS, 7);
  const make = (name: string) =>
    store.create(name, { dim: embedder.profile.dimension, embedderProfile: embedder.profile });
  const put = (c: Collection, from: number, count: number, version = 0) => {
    const at = Array.from({ length: count }, (_, i) => from + i);
    const rows = {
      ids: at.map((i) => `note-${i}`),
      texts: at.map((i) => texts[(i + version * 7919) % ROWS]!),
      model: embedder.kernelModel,
    };
    return withOrigin(ORIGIN, () => c.change((t) => t.put(Put.UPSERT, rows)));
  };
  try {
    const notes = make("notes");
    for (let at = 0; at < ROWS; at += AT_ONCE) await put(notes, at, AT_ONCE);
    await notes.compact(undefined, true);
    const began = Date.now() + 1;
    await Bun.sleep(2);
    for (let at = 0; at < CHANGED; at += A_SAVE) {
      if (at === CHANGED / 2) await notes.compact(undefined, true);
      await put(notes, at, A_SAVE, 1);
    }
    const lines = await reading(notes);
    lines.push(goal("a rollback of these changes", await timed(() => undo(notes, { since: began })), 3000));
    await put(notes, ROWS / 2, CHANGED, 2);
    lines.push(goal(`an undo of ${CHANGED} replaced rows`, await timed(() => undo(notes)), 2000));
    await withOrigin(ORIGIN, () => notes.delete(Array.from({ length: CHANGED }, (_, i) => `note-${i}`)));
    await notes.compact(undefined, true);
    lines.push(goal(`an undo of ${CHANGED} deleted rows, compacted`, await timed(() => undo(notes)), 2000));
    await notes.compact(undefined, true);
    lines.push(size(join(root, "notes")));
    lines.push(await cost(make, put));
    return lines;
  } finally {
    await store.close();
  }
}

async function reading(notes: Collection): Promise<Line[]> {
  const first = await timed(async () => versionsOf(notes, "note-31"));
  const others: number[] = [];
  for (let i = 0; i < 20; i++) others.push(await timed(async () => versionsOf(notes, `note-${i * 431}`)));
  const saves = await timed(async () => savesOf(notes).next());
  return [
    { what: "versions of a row, the first one after a compaction", value: first, unit: "ms" },
    goal("versions of a row", median(others), 5),
    { what: "the latest saves", value: saves, unit: "ms" },
  ];
}

/** CPU time of the same adds and compactions, with and without a history. */
async function cost(
  make: (name: string) => Collection,
  put: (c: Collection, from: number, count: number) => Promise<unknown>,
): Promise<Line> {
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const ms: number[] = [];
    for (const days of [30, 0]) {
      const c = make(`cost-${round}-${days}`);
      await c.change(async (t) => setHistoryRule(t, { days, percent: 25 }));
      const before = process.cpuUsage();
      for (let at = 0; at < ADDED; at += AT_ONCE) await put(c, at, AT_ONCE);
      await c.compact(undefined, true);
      const { user, system } = process.cpuUsage(before);
      ms.push((user + system) / 1000);
    }
    ratios.push(ms[0]! / ms[1]!);
  }
  const value = (median(ratios) - 1) * 100;
  return { what: `what the history costs ${ADDED} adds, compacted`, value, unit: "%", goal: "3 %", met: value <= 3 };
}

function size(folder: string): Line {
  const bytes = (kind: string) =>
    readdirSync(folder)
      .filter((name) => name.startsWith(kind))
      .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  const value = (bytes("history-") / (bytes("base-") + bytes("lexical-"))) * 100;
  return {
    what: "bytes of the history, of those of rows and indexes",
    value,
    unit: "%",
    goal: "25 %",
    met: value <= 25,
  };
}

function goal(what: string, value: number, most: number): Line {
  return { what, value, unit: "ms", goal: `${most} ms`, met: value <= most };
}
