/** An engine in this process's memory, which several nodes share, and which fails on command. */
import {
  type Chunk,
  type Engine,
  EngineError,
  type EngineFault,
  type Head,
  type Lease,
} from "../../src/replication/engine.ts";

/** What the next commit does: it fails before or after it is made, with a fault. */
export interface NextCommit {
  fault: EngineFault;
  isMade: boolean;
}

export class MemoryEngine implements Engine {
  private readonly heads = new Map<string, Head>();
  /** By collection, stored name and offset. */
  private readonly files = new Map<string, Map<string, Map<number, Uint8Array>>>();
  private readonly dropped = new Set<string>();
  private readonly queues = new Map<string, Promise<void>>();
  private readonly listeners: ((collection: string) => void)[] = [];
  /** What later commits do; none: they succeed. */
  readonly next: NextCommit[] = [];
  /** Every call fails as if no server answered. */
  isAway = false;
  puts = 0;

  async memory(): Promise<string> {
    this.requireThere();
    return "00000000-0000-4000-8000-000000000001";
  }

  async head(collection: string): Promise<Head | undefined> {
    this.requireThere();
    return this.heads.get(collection);
  }

  async generations(): Promise<Map<string, Pick<Head, "generation" | "log">>> {
    this.requireThere();
    return new Map(this.heads);
  }

  async isDropped(_: string, log: string): Promise<boolean> {
    this.requireThere();
    return this.dropped.has(log);
  }

  async *get(collection: string, file: string, from: number, to: number): AsyncIterable<Chunk> {
    this.requireThere();
    const chunks = [...(this.files.get(collection)?.get(file) ?? [])].sort(([a], [b]) => a - b);
    for (const [at, bytes] of chunks) if (at + bytes.length > from && at < to) yield { file, at, bytes };
  }

  async nodes(): Promise<string[]> {
    this.requireThere();
    return [];
  }

  async put(collection: string, chunk: Chunk): Promise<void> {
    this.requireThere();
    this.puts++;
    this.store(collection, chunk);
  }

  async lease(collection: string): Promise<Lease> {
    this.requireThere();
    const before = this.queues.get(collection) ?? Promise.resolve();
    let end = () => {};
    this.queues.set(
      collection,
      before.then(() => new Promise((resolve) => (end = resolve))),
    );
    await before;
    await Promise.resolve();
    const head = this.heads.get(collection);
    return {
      head,
      release: async () => end(),
      swap: async (next, chunks) => {
        try {
          const { fault, isMade } = this.next.shift() ?? {};
          if (this.heads.get(collection)?.generation !== head?.generation) throw new EngineError("lost", "lost");
          if (fault === undefined || isMade) {
            for (const chunk of chunks) this.store(collection, chunk);
            this.heads.set(collection, next);
            for (const listener of this.listeners) listener(collection);
          }
          if (fault !== undefined) throw new EngineError(fault, `the commit failed on command (${fault})`);
        } finally {
          end();
        }
      },
    };
  }

  async sweep(): Promise<void> {}

  /** Forgets all commits after a head; undefined: the collection, as a backup that is older than it. */
  restore(collection: string, head: Head | undefined): void {
    if (head === undefined) this.heads.delete(collection);
    else this.heads.set(collection, head);
  }

  async drop(collection: string): Promise<boolean> {
    this.requireThere();
    this.files.delete(collection);
    const log = this.heads.get(collection)?.log;
    if (log !== undefined) this.dropped.add(log);
    return this.heads.delete(collection);
  }

  async listen(onHint: (collection: string) => void): Promise<void> {
    this.listeners.push(onHint);
  }

  async close(): Promise<void> {}

  private store(collection: string, { file, at, bytes }: Chunk): void {
    const files = this.files.get(collection) ?? new Map<string, Map<number, Uint8Array>>();
    this.files.set(collection, files);
    const chunks = files.get(file) ?? new Map<number, Uint8Array>();
    files.set(file, chunks);
    chunks.set(at, bytes.slice());
  }

  private requireThere(): void {
    if (this.isAway) throw new EngineError("away", "no server answers");
  }
}
