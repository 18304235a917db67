/** A node with a server of ours, which fails on command. */
import { beforeEach, expect } from "bun:test";
import { inspect } from "node:util";
import { type Engine, EngineError, type Head } from "../../src/replication/engine.ts";
import { openPostgres } from "../../src/replication/postgres/engine.ts";
import { closedAtEnd } from "../opened.ts";
import { FakePostgres } from "./fake-postgres.ts";

export { MOVE } from "./fake-postgres.ts";

const DEADLINES = { connect: 1000, statement: 300, lock: 300, idle: 300 };
export const NODE: string = crypto.randomUUID();
const LOG = crypto.randomUUID();
/** Statements of a commit. */
export const COMMIT = /^commit$/;
export const LOCK = /for update$/;
/** Finds out whether a commit was made. */
export const LOOK = /^update svc.svc_commit/;

export let server: FakePostgres;
export let engine: Engine;

/** Connects to an address, with short deadlines. */
export const openAt = async (url: string, idle = DEADLINES.idle): Promise<Engine> =>
  closedAtEnd(await openPostgres(url, { node: NODE, deadlines: { ...DEADLINES, idle } }));

/** Has each test of a file begin with a new server and a node. */
export function useFake(): void {
  beforeEach(async () => {
    server = new FakePostgres();
    engine = await openAt(server.url);
  });
}

export const headAt = (generation: number): Head => ({
  generation,
  manifest: new Uint8Array([generation]),
  files: { delta: `delta-${NODE}` },
  commit: crypto.randomUUID(),
  log: LOG,
});

/** The fault and the message of a call that fails. Nothing of it may show the password. */
export async function failureOf(call: Promise<unknown>): Promise<[string, string]> {
  try {
    await call;
  } catch (error) {
    expect(error).toBeInstanceOf(EngineError);
    expect(inspect(error, { depth: 9, showHidden: true }) + Bun.inspect(error)).not.toContain("secret-word");
    const { fault, message } = error as EngineError;
    return [fault, message];
  }
  throw new Error("the call succeeded");
}

/** Commits a generation with a chunk. */
export async function commitAt(generation = 1, node = engine): Promise<void> {
  const lease = await node.lease("notes", 300);
  await lease.swap(headAt(generation), [{ file: `delta-${NODE}`, at: 0, bytes: new Uint8Array(3) }]);
}
