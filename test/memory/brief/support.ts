/** Memories whose briefs are read. */
import { join } from "node:path";
import { Memory } from "../../../src/memory/memory.ts";
import type { Terminal } from "../../../src/memory/terminal.ts";
import type { Collection } from "../../../src/store/collection.ts";
import type { Store } from "../../../src/store/store.ts";
import { MultigramEmbedder } from "../../../src/texts/kernel.ts";
import { native, openStore, scratchDir } from "../../fixture.ts";
import { closedAtEnd } from "../../opened.ts";
import { call } from "../calls.ts";

/** A note as a test writes it. */
export interface Note {
  id: string;
  text: string;
  metadata?: Record<string, unknown>;
}

/** A memory with marks of briefs. */
export class BriefMemory {
  private constructor(
    readonly dir: string,
    readonly marksFile: string,
    readonly store: Store,
    readonly memory: Memory,
    readonly terminal: Terminal,
  ) {}

  static async open(dir = scratchDir(), marksFile = join(scratchDir(), "briefs.json")): Promise<BriefMemory> {
    const store = await openStore(dir);
    const embedder = new MultigramEmbedder((await native()).kernel);
    const repositories = () => Promise.reject(new Error("a brief needs no repositories"));
    const memory = closedAtEnd(
      new Memory({ store, repoStore: store, embedder, repositories, marksFile, dispose: async () => {} }),
    );
    return new BriefMemory(dir, marksFile, store, memory, await memory.terminal());
  }

  async put(collection: string, ...notes: Note[]): Promise<void> {
    const lists = { ids: notes.map(({ id }) => id), texts: notes.map(({ text }) => text) };
    const metadata = notes.map((note) => note.metadata ?? {});
    await call(this.memory, "upsert", { collection, ...lists, metadata });
    // Rows of two saves have different times.
    await Bun.sleep(2);
  }

  delete(collection: string, ...ids: string[]) {
    return call(this.memory, "delete", { collection, ids });
  }

  collection(name: string): Collection {
    return this.store.open(name);
  }
}

/** The rows of a brief, as `part: id` in their order. */
export function rowsIn({ parts }: { parts: object }): string[] {
  const lists = Object.entries(parts) as [string, { id: string; change?: string }[]][];
  return lists.flatMap(([part, rows]) =>
    rows.map(({ id, change }) => `${part}: ${change === undefined ? id : `${change} ${id}`}`),
  );
}
