/** An engine that is connected to when it is first needed, and again after a failure, so that a node without its database can still answer. */
import { type Chunk, type Engine, EngineError, type Head, type Lease } from "../engine.ts";

export class LazyEngine implements Engine {
  private opening: Promise<Engine> | undefined;
  private onHint: ((collection: string) => void) | undefined;
  /** The engine that sends hints. */
  private listening: Engine | undefined;
  private isClosed = false;

  /** @param open connects, or throws an EngineError */
  constructor(private readonly open: () => Promise<Engine>) {}

  async memory(): Promise<string> {
    return (await this.opened()).memory();
  }

  async head(collection: string): Promise<Head | undefined> {
    return (await this.opened()).head(collection);
  }

  async generations(): Promise<Map<string, Pick<Head, "generation" | "log">>> {
    return (await this.opened()).generations();
  }

  async isDropped(collection: string, log: string): Promise<boolean> {
    return (await this.opened()).isDropped(collection, log);
  }

  async *get(collection: string, file: string, from: number, to: number): AsyncIterable<Chunk> {
    yield* (await this.opened()).get(collection, file, from, to);
  }

  async put(collection: string, chunk: Chunk): Promise<void> {
    await (await this.opened()).put(collection, chunk);
  }

  async lease(collection: string, waitMs: number): Promise<Lease> {
    return (await this.opened()).lease(collection, waitMs);
  }

  async sweep(collection: string): Promise<void> {
    await (await this.opened()).sweep(collection);
  }

  async drop(collection: string): Promise<boolean> {
    return (await this.opened()).drop(collection);
  }

  async nodes(): Promise<string[]> {
    return (await this.opened()).nodes();
  }

  async listen(onHint: (collection: string) => void): Promise<void> {
    this.onHint = onHint; // from the next call on
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await (await this.opening?.catch(() => undefined))?.close();
  }

  private async opened(): Promise<Engine> {
    if (this.isClosed) throw new EngineError("away", "the connection to the database is closed");
    this.opening ??= this.open().catch((error) => {
      this.opening = undefined;
      throw error;
    });
    const engine = await this.opening;
    if (this.onHint !== undefined && this.listening !== engine) {
      this.listening = engine;
      await engine.listen(this.onHint).catch(() => {});
    }
    return engine;
  }
}
