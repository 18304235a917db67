/** One collection of a kind: filled, opened and used in processes of its own. */
import { join } from "node:path";
import { checkCollection } from "../../../src/api/check.ts";
import type { Collection } from "../../../src/store/collection.ts";
import { Store } from "../../../src/store/store.ts";
import { undo } from "../../../src/texts/history/undo.ts";
import { MultigramEmbedder } from "../../../src/texts/kernel.ts";
import { putTexts } from "../../../src/texts/put.ts";
import { searchTexts } from "../../../src/texts/search.ts";
import { openBuiltNative } from "../../native.ts";
import { secondsSince, status, usage } from "../cost.ts";
import { median } from "../measure.ts";
import { COMMIT } from "../text/fts5.ts";
import type { Job, Works } from "../text/job.ts";
import { KEY, scopesOf } from "../text/scopes.ts";
import { bytesBelow } from "../text/sizes.ts";
import type { Life, Opened, Size } from "./figures.ts";
import type { Kind } from "./options.ts";
import { DIM, questionVector, type Source, sourceOf } from "./rows.ts";

/** What a process is given. */
export interface GrowthJob extends Job {
  kind: Kind;
  rows: number;
}

const NAME = "bench";
/** Operations of each kind; their median counts. */
const REPEATS = 9;
const TOP = 10;

export const ours: Works<GrowthJob> = {
  /**
   * As the tools put them: in commits of 500 by a process that compacts in the background. A commit is called for while the
   * one before is saved, as by an import.
   */
  async import(job): Promise<Pick<Size, "import" | "anonymous" | "compaction" | "disk">> {
    const used = await Used.create(job);
    const before = status("RssAnon");
    const imported = await usage(async (look) => {
      let before: Promise<unknown> = Promise.resolve();
      for (let from = 0; from < job.rows; from += COMMIT) {
        const next = used.put(from, Math.min(COMMIT, job.rows - from));
        await before;
        before = next;
        look();
      }
      await before;
    });
    const compaction = await usage(() => used.collection.compact(undefined, true));
    await used.close();
    const disk = bytesBelow(join(job.dir, NAME));
    return { import: imported, anonymous: imported.anonymous - before, compaction, disk };
  },

  async open(job): Promise<Opened> {
    const used = await Used.open(job);
    const question = used.question(0);
    const start = performance.now();
    const open = await cpu(async () => used.collection);
    const first = await cpu(() => used.ask(question));
    const wall = performance.now() - start;
    await used.close();
    return { open, first, wall };
  },

  async life(job): Promise<Life> {
    const used = await Used.open(job);
    const { collection } = used;
    const repeated = async (work: (i: number) => Promise<unknown>) => {
      const times: number[] = [];
      for (let i = 0; i < REPEATS; i++) times.push(await cpu(() => work(i)));
      return median(times);
    };
    const questions = Array.from({ length: REPEATS + 1 }, (_, i) => used.question(i));
    await used.ask(questions[REPEATS]!);
    const later = await repeated((i) => used.ask(questions[i]!));
    const add = await repeated((i) => used.put(job.rows + i, 1));
    const undone = await cpu(() => undo(collection));
    const deleted = await repeated((i) => collection.delete([idOf(i * 31)]));
    const check = await cpu(() => checkCollection(used.store, NAME, {}));
    await used.close();
    return { later, add, undo: undone, delete: deleted, check };
  },
};

const idOf = (row: number) => `row-${row}`;

/** CPU milliseconds. */
async function cpu(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return secondsSince(before) * 1000;
}

/** The collection in use. */
class Used {
  private opened: Collection | undefined;

  private constructor(
    readonly store: Store,
    private readonly embedder: MultigramEmbedder,
    private readonly source: Source,
  ) {}

  static async open({ dir, kind }: GrowthJob): Promise<Used> {
    const { kernel, env } = await openBuiltNative();
    const store = new Store(dir, env, "bench", undefined, { background: true });
    return new Used(store, new MultigramEmbedder(kernel), sourceOf(kind));
  }

  static async create(job: GrowthJob): Promise<Used> {
    const used = await Used.open(job);
    const { profile } = used.embedder;
    const texts = { dim: profile.dimension, partitionBy: KEY, lexical: true, embedderProfile: profile };
    used.opened = used.store.create(NAME, job.kind === "notes" ? texts : { dim: DIM, dtype: "int8" });
    return used;
  }

  get collection(): Collection {
    this.opened ??= this.store.open(NAME);
    return this.opened;
  }

  put(from: number, count: number): Promise<unknown> {
    const ids = Array.from({ length: count }, (_, i) => idOf(from + i));
    const { source, embedder, collection } = this;
    if ("texts" in source) {
      const texts = source.texts(from, count);
      return putTexts(collection, embedder, "add", { ids, texts, metadata: scopesOf(from, count) }, {});
    }
    return collection.add({ ids, vectors: source.vectors(from, count) });
  }

  /** Six words of a note, or a vector. */
  question(i: number): string | Float32Array {
    if ("vectors" in this.source) return questionVector(i);
    return this.source
      .texts(i * 37, 1)[0]!
      .split(" ")
      .slice(3, 9)
      .join(" ");
  }

  ask(question: string | Float32Array): Promise<unknown> {
    if (typeof question === "string")
      return searchTexts(this.collection, this.embedder, question, { topK: TOP, metadata: true });
    return Promise.resolve(this.collection.ask({ by: "vector", vector: question }, { topK: TOP, targetRecall: 1 }));
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
