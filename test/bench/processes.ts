/** CPU time and memory of other processes. Linux only. */
import { dlopen, FFIType, ptr } from "bun:ffi";
import { readFileSync } from "node:fs";

/**
 * The clock of a process's CPU time: all its threads together, those that ended among them (clock_getcpuclockid(3)).
 */
const clockOf = (pid: number) => (~pid << 3) | 2;

const time = new BigInt64Array(2);
let clocks: { clock_gettime(clock: number, out: unknown): number } | undefined;

/**
 * CPU milliseconds that a process has used so far, to the nanosecond. /proc/PID/stat counts in hundredths of a second,
 * and the schedstat files of threads end with them.
 *
 * @throws Error where there is no such process
 */
export function cpuOf(pid: number): number {
  const { i32, ptr: pointer } = FFIType;
  clocks ??= dlopen("libc.so.6", { clock_gettime: { args: [i32, pointer], returns: i32 } }).symbols;
  if (clocks!.clock_gettime(clockOf(pid), ptr(time)) !== 0) throw new Error(`process ${pid} has no CPU clock`);
  return Number(time[0]) * 1000 + Number(time[1]) / 1e6;
}

/** CPU milliseconds of the processes that a process started and that ended; rounded down to hundredths of a second. */
export function childrenCpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // Fields 16 and 17 of proc(5), counted from after the name, which may hold blanks.
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(13, 15)
    .map(Number);
  return (user! + system!) * 10;
}

/** Bytes of a process in memory, and those among them that it shares with no other. */
export interface Memory {
  resident: number;
  private: number;
}

/** Memory of a process now. */
export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0) * 1024;
  return { resident: of("Rss"), private: of("Private_Clean") + of("Private_Dirty") };
}
