/** A peer's work in processes of its own, for `text` and `words`. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { bundledForNode } from "../bundle.ts";
import { install } from "../vectors/install.ts";
import { PEERS } from "../vectors/peers/peers.ts";
import { inProcess, type Job } from "./job.ts";

/**
 * Installs a peer where it is a package, and returns what runs one kind of its work.
 * @throws Error with a sentence where the peer is not available
 */
export async function peerRunner(
  name: string,
  ours: Job,
  scratch: string,
  log: (line: string) => void,
): Promise<<T>(work: string) => Promise<T>> {
  const job: Job = { ...ours, dir: join(scratch, name) };
  mkdirSync(job.dir);
  let command = [process.execPath, join(import.meta.dir, `child-${name}.ts`)];
  let env: Record<string, string> = {};
  const peer = PEERS[name];
  if (peer) {
    log(`installing ${peer.packages.join(" and ")}`);
    job.packages = install(name);
    command = [Bun.which("node") ?? process.execPath, await bundledForNode(command[1]!, job.dir)];
    env = { ...peer.env };
  }
  return <T>(work: string): Promise<T> => {
    log(`${name}: ${work}`);
    return inProcess<T>(command, { ...job, work }, env);
  };
}
