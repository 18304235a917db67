/** The user under which PostgreSQL runs. It refuses to run as root, so root starts it as "nobody". */
import { chmodSync, chownSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, relative } from "node:path";

const isRoot = process.getuid?.() === 0;
/** The user "nobody" and its group, by number: the group's name differs between distributions. */
const UNPRIVILEGED = 65534;

const setpriv = process.platform === "linux" ? Bun.which("setpriv") : null;

/** Why this user cannot start PostgreSQL; undefined: it can. */
export const lackOfUser = isRoot && !setpriv ? "PostgreSQL refuses to run as root: be another user" : undefined;

/** The user's id, which is also that of the owner of the servers' files. */
export const serverUid = isRoot ? UNPRIVILEGED : process.getuid?.();

/** Words before a command that make it run as the server's user. */
export const asServer: readonly string[] =
  isRoot && setpriv ? [setpriv, `--reuid=${UNPRIVILEGED}`, `--regid=${UNPRIVILEGED}`, "--clear-groups"] : [];

/** Words that make a server's process end, with an immediate shutdown, if the process that started it is killed. */
export const asServerOfThisProcess: readonly string[] =
  setpriv === null ? [] : [...(asServer.length > 0 ? asServer : [setpriv]), "--pdeathsig", "QUIT"];

/** Gives a file or folder to the server's user. */
export function give(path: string): void {
  if (isRoot) chownSync(path, UNPRIVILEGED, UNPRIVILEGED);
}

/** Lets the server's user pass through the folders above one, up to the folder of temporary files: tests make them private. */
export function openWayTo(folder: string): void {
  if (!isRoot) return;
  for (let at = dirname(folder); !relative(tmpdir(), at).startsWith(".."); at = dirname(at)) {
    const { mode } = statSync(at);
    if ((mode & 0o001) === 0) chmodSync(at, (mode & 0o7777) | 0o011);
  }
}

/** Runs a command to its end as the server's user. @throws Error with what it printed */
export async function runAsServer(command: readonly string[], env: Record<string, string> = {}): Promise<void> {
  const child = Bun.spawn([...asServer, ...command], {
    cwd: "/",
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}\n${out}${err}`);
}
