/** Other processes of this machine, by their ids. */
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Whether this machine has Linux' `/proc`; elsewhere `ps` is asked. */
export const hasProc = existsSync("/proc/self/stat");

/** Processes whose parent is `pid`. */
export function childrenOf(pid: number): number[] {
  if (!hasProc) {
    const { stdout } = Bun.spawnSync(["ps", "-A", "-o", "pid=,ppid="]);
    const lines = stdout.toString().trim().split("\n");
    return lines.map((line) => line.trim().split(/\s+/).map(Number)).flatMap(([id, of]) => (of === pid ? [id!] : []));
  }
  // Not by a glob: it fails where a process ends between the look at /proc and the one into its folder.
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.map(Number).filter((id) => Number(/\) \S (\d+)/.exec(stat(id))?.[1]) === pid);
}

/** Whether a process exists and is not a zombie. */
export function isRunning(pid: number): boolean {
  return !["", "Z"].includes(state(pid));
}

/** Stops a process with SIGSTOP, and waits until it no longer runs. */
export async function suspend(pid: number): Promise<void> {
  signal(pid, "SIGSTOP");
  while (!["", "Z", "T"].includes(state(pid))) await Bun.sleep(1);
}

/** Sends a signal to a process that may have ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The letter of a process's state, as `ps` prints it; empty: there is no such process. */
function state(pid: number): string {
  if (hasProc) return /\) (\S)/.exec(stat(pid))?.[1] ?? "";
  return Bun.spawnSync(["ps", "-o", "state=", "-p", String(pid)])
    .stdout.toString()
    .slice(0, 1)
    .trim();
}

function stat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return "";
  }
}
