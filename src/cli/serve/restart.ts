/**
 * A restart in place, at SIGUSR2: the server ends in order and the program that is now at its path takes its place, with
 * the same process number and the same listening socket. Clients that connect meanwhile wait in the socket's queue.
 */
import { existsSync } from "node:fs";
import { duplicate, replaceProcess } from "../../../ffi/system/process.ts";
import { errorLine, OSError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { RunningServer } from "../../remote/server/server.ts";
import { announce, LISTEN_FD } from "./activation.ts";

/** How long the new program may take to show that it runs here. */
const TRIAL_MS = 10_000;

/** What is restarted. */
export interface Restartable {
  server: RunningServer;
  /** The command line of this process, its program first. */
  command: readonly string[];
  env: Record<string, string | undefined>;
  /** The socket is this server's own, not a service manager's. */
  isOwn: boolean;
  /** Releases what the server used. */
  close(): Promise<void>;
  /** Aborted when the process has to end. */
  signal: AbortSignal;
  log: Log;
}

/**
 * Restarts. It returns only if there is no restart: the server goes on, as the log says, or was ending already.
 * @throws OSError if the server has ended and the program could not be started in its place
 */
export async function restart({ server, command, env, isOwn, close, signal, log }: Restartable): Promise<void> {
  const refuse = (why: string) => log({ level: "error", event: "restart_refused", message: `no restart: ${why}` });
  log({ level: "info", event: "restarting", message: "restarting at the same address: trying the program first" });
  const program = command[0]!;
  const why = await objection(program);
  if (why !== undefined) {
    refuse(`${why}; this server goes on`);
    return;
  }
  const left = await server.handOver();
  if (left === undefined) {
    refuse("it is ending already, or changes cannot be saved, as the lines above say");
    return;
  }
  await close();
  if (signal.aborted) return;
  // The socket takes the place of what has its number.
  const lockFd = left.lockFd === LISTEN_FD ? duplicate(LISTEN_FD) : left.lockFd;
  replaceProcess(program, command, { ...env, ...announce(isOwn, left.instance, lockFd) }, left.fd, LISTEN_FD);
  throw new OSError(`the system could not start '${program}' in place of this process`);
}

/** Why a program cannot take over; undefined if it runs here, which printing its version shows. */
async function objection(program: string): Promise<string | undefined> {
  if (!existsSync(program)) return `there is no program at '${program}' any more`;
  try {
    const trial = Bun.spawn([program, "--version"], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
      timeout: TRIAL_MS,
    });
    const code = await trial.exited;
    return code === 0 ? undefined : `'${program} --version' ended with ${trial.signalCode ?? `exit code ${code}`}`;
  } catch (error) {
    return `'${program}' cannot be started: ${errorLine(error)}`;
  }
}
