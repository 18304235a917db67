/** Syncs of a commit, counted by strace. */
import { readFileSync } from "node:fs";

/** strace before a command: it counts the syncs of all its threads into a file. */
export const counting = (file: string) => ["strace", "-f", "-c", "-o", file, "-e", "trace=fsync,fdatasync,msync"];

/** What strace counted: the column of calls of all its lines. */
export function countedIn(file: string): number {
  const lines = readFileSync(file, "utf8").matchAll(/^ *[\d.]+ +[\d.]+ +\d+ +(\d+)(?: +\d+)? +\w+sync$/gm);
  return [...lines].reduce((sum, [, calls]) => sum + Number(calls), 0);
}
