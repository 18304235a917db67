/** One executable's server on a repository, and what its calls cost. */
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { connectWithPid, type Home, textOf } from "../home.ts";
import { childrenCpuOf, cpuOf } from "../processes.ts";
import { bytesBelow } from "../text/sizes.ts";
import { medianOf, type Timing } from "./peers.ts";
import { peakOf, writtenBy } from "./written.ts";

/** A file stamped less than this long before a run is read again by the next. */
export const SETTLED_MS = 2100;
/** A question of plain words. */
export const QUESTION = { query: "how are results sorted before they are returned" };

/** What is measured second finds the machine's caches as the first left them: they change places every round. */
export const inTurn = <T>(items: readonly T[], round: number): T[] => {
  return round % 2 === 0 ? [...items] : items.toReversed();
};

export class RepoServer {
  private constructor(
    private readonly client: Client,
    private readonly pid: number,
    private readonly memory: string,
  ) {}

  /** A server with a memory of its own below the home, which has answered its first call. */
  static async start(home: Home, workspace: string, name: string): Promise<RepoServer> {
    const memory = join(home.dir, name);
    const own = { ...home, env: { ...home.env, SVC_MEMORY_PATH: memory } };
    const { client, pid } = await connectWithPid(own, "--workspace", workspace);
    await textOf(client, "svc_list_collections", {});
    return new RepoServer(client, pid, memory);
  }

  /** CPU time of the process alone, and time by the clock, of one call. */
  async time(name: string, args: object): Promise<Timing> {
    const [cpu, start] = [cpuOf(this.pid), performance.now()];
    await textOf(this.client, name, args);
    const wall = performance.now() - start;
    return { cpu: cpuOf(this.pid) - cpu, wall };
  }

  /** CPU time of what it started and what has ended: git, which lists the files. */
  childrenCpu(): number {
    return childrenCpuOf(this.pid);
  }

  /** Whether it takes such a call. */
  async takes(name: string, args: object): Promise<boolean> {
    return await textOf(this.client, name, args).then(
      () => true,
      () => false,
    );
  }

  /** The most memory that it has had, in bytes. */
  peak(): number {
    return peakOf(this.pid);
  }

  /** Bytes that a call made it write, its answer aside, which a pipe carries: to files, and by git to a pipe. */
  async written(name: string, args: object): Promise<number> {
    const before = writtenBy(this.pid);
    const answer = await textOf(this.client, name, args);
    return writtenBy(this.pid) - before - Buffer.byteLength(JSON.stringify(answer));
  }

  /** Bytes of its memory on disk. */
  disk(): number {
    return bytesBelow(this.memory);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.client.close();
  }
}

/** Indexes `root` into empty memories, and the medians; the servers of the last round, one a home, stay until `ends`. */
export async function firstIndexes(
  homes: readonly Home[],
  root: string,
  rounds: number,
  ends: AsyncDisposableStack,
): Promise<{ servers: RepoServer[]; timings: Timing[] }> {
  const servers: RepoServer[] = [];
  const timings: Timing[][] = homes.map(() => []);
  for (let round = 1; round <= rounds; round++) {
    for (const [i, home] of inTurn([...homes.entries()], round)) {
      const server = await RepoServer.start(home, root, `memory-${round}`);
      if (round === rounds) servers[i] = ends.use(server);
      const samples = new Samples(server);
      await samples.add("svc_index_repo", {});
      timings[i]!.push(samples.result());
      if (round < rounds) await server[Symbol.asyncDispose]();
    }
  }
  return { servers, timings: timings.map(medianOf) };
}

/** Calls of one server. Its children's CPU time is counted in hundredths of a second: that of all calls together is exact. */
export class Samples {
  private readonly timings: Timing[] = [];
  private readonly before: number;

  constructor(private readonly server: RepoServer) {
    this.before = server.childrenCpu();
  }

  async add(name: string, args: object): Promise<void> {
    this.timings.push(await this.server.time(name, args));
  }

  /** Medians, with the mean of the children's CPU time. */
  result(): Timing {
    const { cpu, wall } = medianOf(this.timings);
    return { cpu: cpu + (this.server.childrenCpu() - this.before) / this.timings.length, wall };
  }
}
