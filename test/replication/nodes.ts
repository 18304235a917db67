/** Nodes of a database that the tests of one file share, and what they commit. */
import { beforeAll, beforeEach } from "bun:test";
import { type Chunk, type Engine, EngineError, type Head } from "../../src/replication/engine.ts";
import { openPostgres, type PostgresOptions } from "../../src/replication/postgres/engine.ts";
import { closedAtEnd } from "../opened.ts";
import { Server } from "./server.ts";

export const NODE: string = crypto.randomUUID();
const LOG: string = crypto.randomUUID();
export const WAIT_MS = 10_000;

export let server: Server;
export let database: string;

/** Has the tests of a file share a server, each with a database of its own. */
export function useServer(): void {
  beforeAll(async () => {
    server = await Server.start();
  });
  beforeEach(async () => {
    database = await server.database();
  });
}

/** Another node. */
export const open = async (options: Partial<PostgresOptions> = {}, url = server.url(database)) =>
  closedAtEnd(await openPostgres(url, { node: NODE, ...options }));

/** The fault and the message of a call; `none` where it succeeds. */
export async function faultOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "none",
    (error) => (error instanceof EngineError ? `${error.fault}: ${error.message}` : String(error)),
  );
}

export const bytes = (text: string) => new TextEncoder().encode(text);
export const chunk = (file: string, at: number, text: string): Chunk => ({ file, at, bytes: bytes(text) });
export const headOf = (generation: number, files: Record<string, string> = {}): Head => ({
  generation,
  manifest: bytes(`{"generation": ${generation}}`),
  files,
  commit: crypto.randomUUID(),
  log: LOG,
});

/** Commits the next generation. */
export async function commit(
  engine: Engine,
  files: Record<string, string>,
  chunks: Chunk[] = [],
  collection = "notes",
) {
  const lease = await engine.lease(collection, WAIT_MS);
  const next = headOf((lease.head?.generation ?? 0) + 1, files);
  await lease.swap(next, chunks);
  return next;
}

/** The chunks that end after `from`, as `place:text`. */
export async function contentOf(engine: Engine, file: string, from = 0, collection = "notes"): Promise<string> {
  let text = "";
  for await (const { at, bytes } of engine.get(collection, file, from, Number.MAX_SAFE_INTEGER))
    text += `${at}:${new TextDecoder().decode(bytes)} `;
  return text.trim();
}

/** Generations without the logs. */
export function generationsOf(all: Awaited<ReturnType<Engine["generations"]>>): Map<string, number> {
  return new Map([...all].map(([name, { generation }]) => [name, generation]));
}
