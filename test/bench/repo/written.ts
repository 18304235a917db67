/** What calls write: the state of files, and the bytes that a process has written. Linux only. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Every file and folder below one, with what any write changes of it. */
export function stateBelow(dir: string): string[] {
  return ["", ...readdirSync(dir, { recursive: true, encoding: "utf8" })].sort().map((name) => {
    const { ino, size, mtimeNs, ctimeNs } = statSync(join(dir, name), { bigint: true });
    return `${name} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  });
}

/** How many entries of two states are not the same. */
export function changedBetween(before: readonly string[], after: readonly string[]): number {
  const [old, now] = [new Set(before), new Set(after)];
  return after.filter((line) => !old.has(line)).length + before.filter((line) => !now.has(line)).length;
}

/**
 * Bytes that a process has passed to calls that write, to files and pipes alike; with those of processes that it started
 * and that have ended.
 */
export function writtenBy(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

/** The most memory that a process has had, in bytes. */
export function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}
