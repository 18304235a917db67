/**
 * A listening socket that a process is started with, as systemd hands one over (sd_listen_fds): descriptor 3, which the
 * environment announces. A server that restarts leaves its own one to the next program in the same way.
 */
import type { Inherited } from "../../remote/server/listen.ts";
import { UsageError } from "../terminal/command.ts";

/** The first descriptor after stdin, stdout and stderr. */
export const LISTEN_FD = 3;

/** The name of a socket that svc opened itself before a restart; a service manager's sockets have other names. */
const OWN = "svc-serve";
const INSTANCE = "SVC_SERVE_INSTANCE";
/** The descriptor that has the lock of the memory directory. */
const LOCK_FD = "SVC_SERVE_LOCK_FD";

/** What a process is started with: a socket, and what the server before has left. */
export interface Activation {
  readonly inherited: Inherited;
  /** The identity of the server before a restart, which clients know; undefined at a first start. */
  readonly instance: string | undefined;
  readonly lockFd: number | undefined;
}

/**
 * The socket that the environment announces to this process, if there is one. The variables are removed: they are not for
 * programs that this one starts.
 * @throws UsageError for more than one socket
 */
export function takeActivation(env: Record<string, string | undefined>): Activation | undefined {
  const { LISTEN_FDS: count, LISTEN_PID: pid, LISTEN_FDNAMES: names, [INSTANCE]: instance, [LOCK_FD]: lock } = env;
  if (count === undefined || pid !== String(process.pid)) return undefined;
  for (const name of ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", INSTANCE, LOCK_FD]) delete env[name];
  if (count === "0") return undefined;
  if (count !== "1")
    throw new UsageError(
      `svc serve listens on one socket, and was started with ${count}: name one in the socket's unit`,
    );
  const ownsFile = names === OWN;
  const lockFd = lock === undefined || !/^\d{1,9}$/.test(lock) ? undefined : Number(lock);
  return { inherited: { fd: LISTEN_FD, ownsFile }, instance: instance || undefined, lockFd };
}

/** The variables that announce what a server leaves to the program that takes this process's place. */
export function announce(
  isOwn: boolean,
  instance: string | undefined,
  lockFd: number | undefined,
): Record<string, string | undefined> {
  return {
    LISTEN_FDS: "1",
    LISTEN_PID: String(process.pid),
    LISTEN_FDNAMES: isOwn ? OWN : undefined,
    [INSTANCE]: instance,
    [LOCK_FD]: lockFd?.toString(),
  };
}
