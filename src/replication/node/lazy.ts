/** An engine that is connected to when it is first needed, and again after a failure: a node that is cut off answers. */
import { type Chunk, type Engine, EngineError, type Head, type Lease } from "../engine.ts";

export class LazyEngine implements Engine {
  private opening: Promise<Engine> | undefined;
  private onHint: ((collection: string) => void) | undefined;
  private isClosed = false;

  /** @param open connects, or throws an EngineError */
  constructor(private readonly open: () => Promise<Engine>) {}

  async memory(): Promise<string> {
    return (await this.opened()).memory();
  }

  async head(collection: string): Promise<Head | undefined> {
    return (await this.opened()).head(collection);
  }

  async generations(): Promise<Map<string, number>> {
    return (await this.opened()).generations();
  }

  async *get(collection: string, file: string, from: number): AsyncIterable<Chunk> {
    yield* (await this.opened()).get(collection, file, from);
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

  async listen(onHint: (collection: string) => void): Promise<void> {
    this.onHint = onHint;
    await (await this.opened()).listen(onHint);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await (await this.opening?.catch(() => undefined))?.close();
  }

  private opened(): Promise<Engine> {
    if (this.isClosed) return Promise.reject(new EngineError("away", "the connection to the database is closed"));
    this.opening ??= this.connect().catch((error) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  private async connect(): Promise<Engine> {
    const engine = await this.open();
    if (this.onHint !== undefined) await engine.listen(this.onHint).catch(() => {});
    return engine;
  }
}
