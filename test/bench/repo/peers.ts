/** What ripgrep and git take to look at the same tree: they have no index, and read or `stat` every file. */
import { median } from "../measure.ts";

/** Milliseconds: CPU time of a process and its children, and time by the clock. */
export interface Timing {
  cpu: number;
  wall: number;
}

/** Of several. */
export const medianOf = (timings: readonly Timing[]): Timing => ({
  cpu: median(timings.map(({ cpu }) => cpu)),
  wall: median(timings.map(({ wall }) => wall)),
});

const RUNS = 15;
const COMMANDS = {
  "rg -c .": ["rg", "-c", "."],
  "rg -j1 -c .": ["rg", "-j1", "-c", "."],
  "git status": ["git", "status", "--porcelain"],
} as const;
export type PeerName = keyof typeof COMMANDS;

/** Medians of a peer's runs in a folder, after one that is not counted; undefined where it is not installed. */
export async function timePeer(name: PeerName, cwd: string, runs = RUNS): Promise<Timing | undefined> {
  const timings: Timing[] = [];
  for (let run = 0; run <= runs; run++) {
    const timing = await timeOnce(name, cwd);
    if (timing === undefined) return undefined;
    timings.push(timing);
  }
  return medianOf(timings.slice(1));
}

/** One run of a peer; undefined where it is not installed. */
export async function timeOnce(name: PeerName, cwd: string): Promise<Timing | undefined> {
  const [program, ...args] = COMMANDS[name];
  const path = Bun.which(program);
  if (!path) return undefined;
  const start = performance.now();
  const child = Bun.spawn([path, ...args], { cwd, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  await new Response(child.stdout).arrayBuffer();
  await child.exited;
  const wall = performance.now() - start;
  return { cpu: Number(child.resourceUsage()!.cpuTime.total) / 1000, wall };
}
