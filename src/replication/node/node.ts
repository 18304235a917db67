/** This process as a node: its copy of the memory, the engine, and what follows other nodes. */
import { createHash, randomUUID } from "node:crypto";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { OSError, ValueError } from "../../errors.ts";
import { copyPath, type Env, memoryPath } from "../../paths.ts";
import { EngineError } from "../engine.ts";
import { openPostgres } from "../postgres/engine.ts";
import { readAddress } from "../postgres/url.ts";
import { markCopy, readMark } from "./copy.ts";
import { Follower } from "./follower.ts";
import { LazyEngine } from "./lazy.ts";
import { Log } from "./log.ts";
import { type NodeReport, reportOf } from "./report.ts";

/** Which database, and where its copy is. */
export interface NodeSite {
  /** `postgres://…` */
  address: string;
  /** The directory of the copy; undefined: `SVC_MEMORY_PATH`, else one under `SVC_HOME` that belongs to the address. */
  path?: string | undefined;
  env?: Env | undefined;
  /** Gets what fails in the background, as a sentence. */
  warn?: ((line: string) => void) | undefined;
}

/** What is to be known of a node. */
export interface Replica {
  /** Its id, a UUID. */
  id: string;
  /** For `svc serve status` and `svc mem list`. */
  report(): NodeReport;
  /** The ids of the nodes that are connected to the database now; undefined: it does not answer. */
  connected(): Promise<string[] | undefined>;
}

export interface ReplicaNode extends Replica {
  /** The directory of the copy. */
  dir: string;
  log: Log;
  follower: Follower;
  /** Ends the connections. The store must be closed before. */
  close(): Promise<void>;
}

/** The directory of the copy. @throws ValueError for an address that cannot be used */
export function copyDirectory({ address, path, env = process.env }: NodeSite): string {
  if (path !== undefined || env.SVC_MEMORY_PATH) return memoryPath(path, env);
  const { hosts, database } = refusing(() => readAddress(address));
  const place = `${hosts.map(({ text }) => text).join()}/${database}`;
  return copyPath(createHash("sha256").update(place).digest("hex").slice(0, 16), env);
}

/**
 * Opens this process's copy, up to date where the database can be reached. Where it cannot, a copy that was made before
 * is used as it is.
 * @throws ValueError for an address or a directory that cannot be used; OSError where the database refuses, and where it
 *   cannot be reached and there is no copy yet
 */
export async function openNode(site: NodeSite, env: Environment): Promise<ReplicaNode> {
  const dir = copyDirectory(site);
  const mark = readMark(dir);
  const node = mark?.node ?? randomUUID();
  const engine = new LazyEngine(async () => {
    const opened = await openPostgres(site.address, { node });
    try {
      markCopy(dir, { memory: await opened.memory(), node });
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  });
  let isAway = false;
  try {
    await engine.memory();
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    if (error.fault !== "away" || mark === undefined) {
      throw new OSError(error.message, error.fault === "away" ? "disconnected" : undefined);
    }
    isAway = true;
    site.warn?.(`${error.message}; answers are from this machine's copy, and changes fail until it is back`);
  }
  const log = new Log(engine, dir);
  const follower = new Follower(log, env, (line) => site.warn?.(line));
  await follower.start(isAway);
  return {
    dir,
    log,
    follower,
    id: node,
    report: () => reportOf(log, follower),
    connected: () => engine.nodes().catch(() => undefined),
    async close() {
      await follower.close();
      await log.swept();
      await engine.close();
    },
  };
}

function refusing<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof EngineError ? new ValueError(error.message) : error;
  }
}
