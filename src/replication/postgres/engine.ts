/** PostgreSQL as the engine that keeps the logs of collections. */
import type { Chunk, Engine, Head, Lease } from "../engine.ts";
import { checkName, putChunk, readChunks } from "./chunks.ts";
import type { Deadlines } from "./connection.ts";
import { openLease } from "./lease.ts";
import { Listener } from "./listen.ts";
import { connectedNodes, sessionName } from "./nodes.ts";
import { Pool } from "./pool.ts";
import { memoryId, prepareSchema } from "./schema.ts";
import { dropCollection, sweepCollection } from "./sweep.ts";
import { readHead } from "./transaction.ts";
import { readAddress, type Target } from "./url.ts";

/** How an engine is used. */
export interface PostgresOptions {
  /** The id of this node, a UUID: it names the node's sessions in the server's list. */
  node: string;
  /** Each 5, 30, 10 and 30 s where it is missing. */
  deadlines?: Partial<Deadlines>;
  /** How long a file that no head names stays stored, in ms; 1 hour where it is missing. */
  graceMs?: number;
}

const DEADLINES: Deadlines = { connect: 5_000, statement: 30_000, lock: 10_000, idle: 30_000 };
const GRACE_MS = 3_600_000;

/**
 * Connects to `postgres://user:password@host1,host2/database` and makes the tables where they are missing.
 * @throws EngineError `refused` for an address, credentials, rights or tables that cannot be used, `away` otherwise
 */
export async function openPostgres(address: string, options: PostgresOptions): Promise<Engine> {
  const target = readAddress(address);
  const pool = new Pool(target, {
    deadlines: { ...DEADLINES, ...options.deadlines },
    applicationName: sessionName(options.node),
  });
  try {
    await prepareSchema(pool);
  } catch (error) {
    await pool.close();
    throw error;
  }
  return new PostgresEngine(pool, target, options.graceMs ?? GRACE_MS);
}

class PostgresEngine implements Engine {
  readonly #pool: Pool;
  readonly #target: Target;
  readonly #graceMs: number;
  readonly #listeners: Listener[] = [];

  constructor(pool: Pool, target: Target, graceMs: number) {
    this.#pool = pool;
    this.#target = target;
    this.#graceMs = graceMs;
  }

  async memory(): Promise<string> {
    return this.#pool.run(memoryId);
  }

  async head(collection: string): Promise<Head | undefined> {
    checkCollection(collection);
    return this.#pool.run((connection) => readHead(connection, collection));
  }

  async generations(): Promise<Map<string, Pick<Head, "generation" | "log">>> {
    const text = "select collection, generation, log::text as log from svc.svc_head";
    const rows = await this.#pool.run((connection) => connection.query(text));
    return new Map(
      rows.map((row) => [row.collection as string, { generation: Number(row.generation), log: row.log as string }]),
    );
  }

  async isDropped(collection: string, log: string): Promise<boolean> {
    checkCollection(collection);
    const text = "select 1 as found from svc.svc_dropped where collection = $1 and log = $2::uuid";
    return (await this.#pool.run((connection) => connection.query(text, [collection, log]))).length > 0;
  }

  get(collection: string, file: string, from: number, to: number): AsyncIterable<Chunk> {
    checkCollection(collection);
    return readChunks(this.#pool, collection, { file, from, to });
  }

  async put(collection: string, chunk: Chunk): Promise<void> {
    checkCollection(collection);
    await putChunk(this.#pool, collection, chunk);
  }

  async lease(collection: string, waitMs: number): Promise<Lease> {
    checkCollection(collection);
    return openLease(this.#pool, collection, waitMs);
  }

  async sweep(collection: string): Promise<void> {
    checkCollection(collection);
    await sweepCollection(this.#pool, collection, this.#graceMs);
  }

  async drop(collection: string): Promise<boolean> {
    checkCollection(collection);
    return dropCollection(this.#pool, collection);
  }

  async nodes(): Promise<string[]> {
    return this.#pool.run(connectedNodes);
  }

  async listen(onHint: (collection: string) => void): Promise<void> {
    const listener = new Listener(this.#pool, this.#target, onHint);
    this.#listeners.push(listener);
    await listener.start();
  }

  async close(): Promise<void> {
    for (const listener of this.#listeners.splice(0)) listener.close();
    await this.#pool.close();
  }
}

const checkCollection = (name: string) => checkName(name, "name of the collection");
