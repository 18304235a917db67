/** Nodes of one database, and what makes them the same. */
import { afterEach, beforeAll, beforeEach, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ID_MAP, ID_MAP_HEADER, savedState } from "../../src/replication/node/manifest.ts";
import { scratchDir } from "../fixture.ts";
import { client } from "./client.ts";
import { NodeProcess } from "./node-client.ts";
import { type Listed, NAME } from "./node-process.ts";
import { PostgresServer } from "./postgres.ts";
import { TcpProxy } from "./proxy.ts";

const DEADLINES = { connect: 2000, statement: 2000, lock: 6000, idle: 2000 };
export const TIMEOUT_MS = 120_000;

export interface Node {
  process: NodeProcess;
  proxy: TcpProxy;
  /** Its folder of the collection. */
  folder: string;
}

let made = 0;
/** Rows of new ids. */
export const fresh = (n = 1) => Array.from({ length: n }, () => ({ id: `row ${++made}`, version: 0 }));
export const add = (rows = fresh()) => ({ call: "add", rows }) as const;

/** @param variables of the environment of its process */
export async function nodeOf(
  server: PostgresServer,
  dir = scratchDir(),
  variables: Record<string, string> = {},
): Promise<Node> {
  const proxy = await TcpProxy.start(server.port);
  const address = server.urlAt(proxy.port);
  const site = { address, dir, node: crypto.randomUUID(), deadlines: DEADLINES };
  const process = await NodeProcess.start(site, variables);
  return { process, proxy, folder: join(dir, NAME) };
}

export async function generationOf(server: PostgresServer): Promise<number> {
  const sql = client(server.url);
  const [row] = await sql`select generation from svc.svc_head where collection = ${NAME}`;
  return Number(row.generation);
}

/** All nodes are whole and have the same rows, answers and files. @returns the ids */
export async function expectSame(server: PostgresServer, nodes: readonly Node[]): Promise<string[]> {
  const generation = await generationOf(server);
  for (const { process } of nodes) await process.reach(generation);
  const answers = await Promise.all(nodes.map(({ process }) => process.value({ call: "ask" })));
  const lists = await Promise.all(nodes.map(({ process }) => process.value<Listed[]>({ call: "list" })));
  for (const { process } of nodes) await process.value({ call: "verify" });
  for (const [i, { folder }] of nodes.entries()) {
    expect(answers[i]).toEqual(answers[0]!);
    expect(lists[i]).toEqual(lists[0]!);
    expect(committedOf(folder)).toEqual(committedOf(nodes[0]!.folder));
  }
  const ids = lists[0]!.map(([id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  return ids;
}

/** Hashes of what the manifest counts: a save that failed may leave bytes after it, and its count of ids. */
export function committedOf(folder: string): [string, string][] {
  const { files, bytes } = savedState(folder)!;
  const hash = (bytes: Uint8Array) => Bun.hash(bytes).toString(16);
  const all = files.map(({ name, bytes }): [string, string] => {
    return [name, hash(readFileSync(join(folder, name)).subarray(name === ID_MAP ? ID_MAP_HEADER : 0, bytes))];
  });
  return [...all, ["manifest", hash(bytes)]];
}

/** Two nodes with 80 rows in the collection. */
async function pairOf(server: PostgresServer): Promise<[Node, Node]> {
  const [a, b] = [await nodeOf(server), await nodeOf(server)];
  await a.process.value({ call: "create" });
  for (let i = 0; i < 4; i++) await a.process.value(add(fresh(20)));
  await b.process.reach(await generationOf(server));
  return [a, b];
}

/** A server that the tests of a file share; each test begins with an empty database. */
export function useServer(): { server: PostgresServer; a: Node; b: Node } {
  const used = {} as ReturnType<typeof useServer>;
  beforeAll(async () => {
    used.server = await PostgresServer.start({ dir: join(scratchDir(), "server") });
  }, TIMEOUT_MS);
  beforeEach(async () => {
    [used.a, used.b] = await pairOf(used.server);
  }, TIMEOUT_MS);
  afterEach(async () => {
    await client(used.server.url)`drop schema if exists svc cascade`;
  });
  return used;
}
