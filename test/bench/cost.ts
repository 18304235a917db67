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

/** A line of this process's status in bytes; 0 where there is no such file. */
function status(name: "VmRSS" | "VmHWM"): number {
  if (process.platform !== "linux") return name === "VmRSS" ? process.memoryUsage.rss() : 0;
  const line = readFileSync("/proc/self/status", "utf8").match(new RegExp(`^${name}:\\s+(\\d+) kB`, "m"));
  return Number(line?.[1] ?? 0) * 1024;
}
