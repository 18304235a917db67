/** Nodes of one process that share an engine in its memory: each has a copy, a store and a follower. */
import { expect } from "bun:test";
import { Follower } from "../../src/replication/node/follower.ts";
import { Log } from "../../src/replication/node/log.ts";
import { Store } from "../../src/store/store.ts";
import { contents as filesOf, native, scratchDir } from "../fixture.ts";
import { closedAtEnd } from "../opened.ts";
import { random, unitVectors } from "../random.ts";
import { MemoryEngine } from "./memory-engine.ts";

export const DIM = 16;

export interface Node {
  store: Store;
  log: Log;
  follower: Follower;
  /** What the follower has warned of. */
  warnings: string[];
}

/** @param dir of the copy; another node's, to share it */
export async function nodeOf(engine: MemoryEngine, dir = scratchDir()): Promise<Node> {
  const { env } = await native();
  const log = new Log(engine, dir);
  const store = closedAtEnd(new Store(log.dir, env, "0.0.0-test", undefined, {}, {}, log));
  const warnings: string[] = [];
  return { store, log, follower: new Follower(log, env, (line) => warnings.push(line)), warnings };
}

/** Two nodes of a new engine. */
export async function pairOf(): Promise<{ engine: MemoryEngine; a: Node; b: Node }> {
  const engine = new MemoryEngine();
  return { engine, a: await nodeOf(engine), b: await nodeOf(engine) };
}

let made = 0;
/** Rows of new ids. */
export function rows(n = 1) {
  const ids = Array.from({ length: n }, () => `row ${++made}`);
  return { ids, vectors: unitVectors(n, DIM, random(made)), texts: ids.map((id) => `text of ${id}`) };
}

/** The files of a copy. Only nodes that fetched a file know the name that it has in the engine. */
export function contents(folder: string): Record<string, string> {
  const { ".svc-stored": _, ...files } = filesOf(folder);
  return files;
}

/** The files of both nodes' copies are the same, byte for byte, but for the id map, a copy. */
export function expectSame(a: Node, b: Node, name = "c"): void {
  const [one, other] = [a, b].map(({ store }) => contents(`${store.dir}/${name}`));
  expect(other).toEqual(one!);
}
