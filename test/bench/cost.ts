/** CPU time, wall time and memory of work in this process. Runs under Node.js and Bun. */
import { readFileSync, writeFileSync } from "node:fs";

/** Cost of work that was done once. */
export interface Cost {
  /** Seconds. */
  cpu: number;
  wall: number;
  /** Most resident memory while it ran, less what was resident before it, in bytes. */
  memory: number;
}

/** Runs `work` and measures it. */
export async function cost(work: () => Promise<unknown>): Promise<Cost> {
  // Resets the peak (Linux: proc(5), clear_refs).
  if (process.platform === "linux") writeFileSync("/proc/self/clear_refs", "5");
  const before = resident();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const wall = (performance.now() - start) / 1000;
  return { cpu: secondsSince(cpu), wall, memory: status("VmHWM") - before };
}

/** CPU seconds of all threads of this process since `before`. */
export function secondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Bytes of this process that are in memory. */
export const resident = () => status("VmRSS");

/** What work used that was done once in a process of its own. */
export interface Usage {
  /** Seconds: CPU time of all threads, and by the clock. */
  user: number;
  system: number;
  wall: number;
  /** Bytes: most resident memory of the process, and most of it that no file backs, as far as it was looked at. */
  peak: number;
  anonymous: number;
  /** Page faults. */
  faults: number;
}

/** Runs `work` and measures it. Anonymous memory is looked at where `work` calls `look`. Linux only. */
export async function usage(work: (look: () => void) => Promise<unknown>): Promise<Usage> {
  let anonymous = 0;
  const look = () => {
    anonymous = Math.max(anonymous, status("RssAnon"));
  };
  const faults = () => process.resourceUsage().minorPageFault + process.resourceUsage().majorPageFault;
  const [before, start, faulted] = [process.cpuUsage(), performance.now(), faults()];
  await work(look);
  const wall = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(before);
  look();
  const used = { user: user / 1e6, system: system / 1e6, wall, faults: faults() - faulted };
  return { ...used, peak: status("VmHWM"), anonymous };
}

/** A line of this process's status in bytes; 0 where there is no such file. */
export function status(name: "VmRSS" | "VmHWM" | "RssAnon"): number {
  if (process.platform !== "linux") return name === "VmRSS" ? process.memoryUsage.rss() : 0;
  const line = readFileSync("/proc/self/status", "utf8").match(new RegExp(`^${name}:\\s+(\\d+) kB`, "m"));
  return Number(line?.[1] ?? 0) * 1024;
}
