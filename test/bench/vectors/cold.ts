/** Spawn to the first answer: a new process opens what was saved and runs one query. Files are in the page cache. */
import { join } from "node:path";
import { buildInfo } from "../../../src/build-info.ts";
import { signedInHome } from "../home.ts";
import { median } from "../measure.ts";
import type { Cold, Figures } from "./figures.ts";
import { PEERS } from "./peers/peers.ts";
import { type Commands, OURS, writeJob } from "./process.ts";
import type { Job } from "./protocol.ts";

const RUNS = 7;
/** Milliseconds until a process counts as hung. */
const PATIENCE = 60_000;
/** Arguments of a bare Bun process. */
const BARE = ["-e", 'process.stdout.write("answer 0\\nresident 1\\n")'];

interface Starter {
  /** undefined: the bare runtime. */
  figures?: Figures;
  key: "cold" | "coldExact" | "coldSource";
  command: string[];
  env: Record<string, string | undefined>;
  samples: Cold[];
  /** Why it did not answer. */
  failure?: string;
}

/**
 * Fills in `cold` of those that did not fail before, and `coldExact` of ours; they take turns. A peer under Node.js
 * is started under Bun too, and the faster start counts: the runtime's own start is a large part of it.
 *
 * @returns milliseconds of a bare Bun process
 */
export async function coldStarts(
  all: readonly Figures[],
  jobs: ReadonlyMap<string, Job>,
  commands: Commands,
  log: (line: string) => void,
): Promise<number> {
  using home = signedInHome();
  const starters: Starter[] = [{ key: "cold", command: [process.execPath, ...BARE], env: {}, samples: [] }];
  for (const figures of all.filter(({ error }) => !error)) {
    const path = writeJob(jobs.get(figures.name)!);
    const add = (command: string[], env: Starter["env"], key: Starter["key"] = "cold") =>
      starters.push({ figures, key, command, env, samples: [] });
    if (figures.name === OURS) {
      const source = join(import.meta.dir, "child-cold.ts");
      const program = join(home.dir, "first-answer");
      compile(source, program);
      add([program, path], home.env);
      add([program, path, "--exact"], home.env, "coldExact");
      add([process.execPath, source, path], home.env, "coldSource");
      continue;
    }
    const own = await commands.of(figures.name);
    add([...own.command, path, "--cold"], own.env);
    if (PEERS[figures.name]!.runtime === "bun") continue;
    const other = await commands.of(figures.name, "bun");
    add([...other.command, path, "--cold"], other.env);
  }
  for (let run = 0; run <= RUNS; run++) {
    for (const starter of starters.filter(({ failure }) => !failure)) {
      try {
        const cold = await once(starter);
        if (run > 0) starter.samples.push(cold); // the first fills the page cache
      } catch (error) {
        starter.failure = (error as Error).message;
        log(`${starter.figures?.name ?? "bun"}: ${starter.failure}`);
      }
    }
  }
  for (const { figures, key, samples, failure } of starters) {
    if (!figures || failure) continue;
    const ms = median(samples.map((sample) => sample.ms));
    const known = figures[key];
    if (!known || ms < known.ms) figures[key] = { ms, resident: median(samples.map((sample) => sample.resident)) };
  }
  return median(starters[0]!.samples.map((sample) => sample.ms));
}

/** A program with the SDK as its user would ship it: one executable, as svc itself is. */
function compile(source: string, program: string): void {
  const flags = [
    "--compile",
    "--minify",
    "--bytecode",
    "--format=esm",
    `--define=SVC_BUILD_INFO=${JSON.stringify(buildInfo())}`,
  ];
  const built = Bun.spawnSync([process.execPath, "build", source, ...flags, `--outfile=${program}`]);
  if (!built.success)
    throw new Error(`the program with the first query was not compiled: ${built.stderr.toString().trim()}`);
}

async function once({ command, env }: Starter): Promise<Cold> {
  const start = performance.now();
  const child = Bun.spawn(command, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE,
    killSignal: "SIGKILL",
  });
  const stderr = new Response(child.stderr).text();
  let ms: number | undefined;
  let seen = "";
  for await (const bytes of child.stdout) {
    seen += new TextDecoder().decode(bytes);
    if (seen.includes("answer ")) ms ??= performance.now() - start;
  }
  await child.exited;
  const resident = Number(seen.match(/^resident (\d+)$/m)?.[1]);
  if (ms === undefined || !resident) {
    const said = (await stderr).trim().split("\n").slice(-3).join(" ");
    throw new Error(`a new process gave no first answer (status ${child.exitCode ?? child.signalCode}): ${said}`);
  }
  return { ms, resident };
}
