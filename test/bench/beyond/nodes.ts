/** Servers and nodes of this benchmark. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../../src/api/local-store.ts";
import { copyTo, withDatabase } from "../../../src/replication/node/move.ts";
import { setMeaning } from "../../../src/texts/meaning/setting.ts";
import { PostgresServer } from "../../beyond/postgres.ts";
import { openBuiltNative } from "../../native.ts";
import { childrenOf } from "../../processes.ts";
import type { Kind } from "../growth/options.ts";
import type { GrowthJob } from "../growth/ours.ts";
import { childrenCpuOf, cpuOf, memoryOf } from "../processes.ts";
import { Script } from "../serve/processes.ts";
import { inProcess } from "../text/job.ts";
import { type Answers, NAME, type Order, type Site } from "./node.ts";

/** A process with one node. */
export class NodeScript implements AsyncDisposable {
  private readonly script: Script<unknown>;

  private constructor(site: Site) {
    this.script = new Script("../beyond/node.ts", JSON.stringify(site));
  }

  /** Starts a process, which opens the node. */
  static async open(site: Site): Promise<NodeScript & { opened: Answers["open"] }> {
    const node = new NodeScript(site);
    return Object.assign(node, { opened: await node.run({ do: "open" }) });
  }

  get pid(): number {
    return this.script.pid;
  }

  async run<O extends Order>(order: O): Promise<Answers[O["do"]]> {
    this.script.tell(order);
    return (await this.script.next()) as Answers[O["do"]];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.script.kill();
  }
}

/** Starts a server with the settings that it has after its installation. */
export function startServer(dir: string): Promise<PostgresServer> {
  return PostgresServer.start({ dir: join(dir, "server"), settings: { shared_buffers: "128MB" } });
}

/** CPU milliseconds that all processes of a server have used so far. */
export function serverCpu({ pid }: PostgresServer): number {
  // Between the list and the look a process may end: then it is counted among those that ended.
  const running = childrenOf(pid).map((child) => {
    try {
      return cpuOf(child);
    } catch {
      return 0;
    }
  });
  return cpuOf(pid) + childrenCpuOf(pid) + running.reduce((sum, ms) => sum + ms, 0);
}

/** Private bytes of the server's processes, in all. */
export function serverMemory({ pid }: PostgresServer): { bytes: number; processes: number } {
  const each = childrenOf(pid).map((child) => memoryOf(child).private);
  return { bytes: each.reduce((sum, bytes) => sum + bytes, 0), processes: each.length };
}

/**
 * A server that has the collection of notes, compacted, with so many rows.
 * @param isMeaningOn off for saves: the sentence encoder takes 2 to 3 ms of CPU for a note, with a database or without
 */
export async function sharedServer(
  dir: string,
  rows: number,
  isMeaningOn = true,
): Promise<{ server: PostgresServer } & AsyncDisposable> {
  const memory = join(dir, "memory");
  await fill(memory, "notes", rows);
  const native = await openBuiltNative();
  if (!isMeaningOn) {
    const store = new LocalStore(memory, native, "bench");
    await setMeaning(store.shared.open(NAME), false);
    await store.close();
  }
  const server = await startServer(dir);
  await withDatabase(server.url, async (engine) => {
    const { env } = native;
    const site = { env, dir: memory, signal: new AbortController().signal, onProgress: () => {} };
    await copyTo(engine, site, NAME);
  });
  return { server, [Symbol.asyncDispose]: () => server.close() };
}

/** Fills a memory directory with a collection of a kind, as `npm run bench -- growth` does. */
export async function fill(dir: string, kind: Kind, rows: number): Promise<{ disk: number }> {
  mkdirSync(dir, { recursive: true });
  const job: GrowthJob = { work: "import", dir, kind, rows, passages: "", queries: "", budget: 0, packages: "" };
  return inProcess([process.execPath, join(import.meta.dir, "../growth/child-ours.ts")], job);
}
