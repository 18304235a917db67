/** What the steps of a build share: their error, a hash of their inputs, their progress, and other programs. */

/** A step that failed: with what a tool printed, or what is wrong with its inputs. */
export class BuildError extends Error {}

/** 20 hex digits over parts, each with its length, so that different lists of parts never give the same bytes. */
export function hash(...parts: (string | Uint8Array)[]): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const part of parts) hasher.update(`${part.length}:`).update(part);
  return hasher.digest("hex").slice(0, 20);
}

/** Prints the end of each step: its name, how long it took, and a detail. */
export function stepper(log: (line: string) => void): (name: string, detail?: string) => void {
  let last = performance.now();
  return (name, detail = "") => {
    const now = performance.now();
    log(`${name.padEnd(26)} ${`${Math.round(now - last)} ms`.padStart(9)}  ${detail}`.trimEnd());
    last = now;
  };
}

/** Runs a program to its end. @throws BuildError with what it printed to stderr */
export async function run(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const output = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new BuildError(output.trim() || `${command[0]} failed without output`);
}
