/**
 * The executable loads its runtime while another process swaps it with an evil one. Each try is a process; it loads the
 * signed bytes or refuses with a sentence.
 *
 *   bun test/e2e/swaps/races.ts --tries N [--seed S] [--parallel P]      prints what was counted
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runtimePaths } from "../../../src/paths.ts";
import { type Ended, type Home, SVC, signedIn, svc } from "../home.ts";
import { evilKey, MARK, makeEvilInstall, tag } from "./evil.ts";

export interface Races {
  /** Processes that answered from the signed runtime, and those that refused. */
  loaded: number;
  refused: number;
  /** Everything else: what was run, and how it ended. */
  wrong: string[];
  /** Libraries mapped that are not the signed ones. */
  mapped: number;
  /** Libraries mapped when the evil install's own key is trusted: that a mapping is noticed. */
  noticed: number;
  /** Swaps by their way. */
  swaps: Record<string, number>;
}

type Outcome = "loaded" | "refused" | undefined;
const TEXT = "we deploy on Tuesdays";
const SENTENCE = /^(Runtime|Permission|OS)Error: [^\n]+$/;
/** Stdin has ended by the time of the call; on a busy machine that comes before it begins. */
const CANCELLED = /^CancelledError: the call was cancelled before it began; nothing was written$/;
const call = (id: number, method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
const CALLS =
  call(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } }) +
  call(2, "tools/call", { name: "svc_get", arguments: { collection: "notes", ids: ["1"] } });

/** A failure of a command with `--json`, as a tool says it; what is no such line as it stands. */
function failureLine(err: string): string {
  try {
    const { type, message } = (JSON.parse(err) as { error: { type: string; message: string } }).error;
    return `${type}: ${message}`;
  } catch {
    return err;
  }
}

/** What is run, with what of stdin, and what an end of it means; undefined where it must not end so. */
const RUNS: { words: string[]; input: string; judge: (ended: Ended) => Outcome }[] = [
  {
    words: ["mem", "get", "notes", "1", "--json"],
    input: "",
    judge({ code, out, err }) {
      if (code === 0) return out.includes(TEXT) ? "loaded" : undefined;
      return code === 1 && SENTENCE.test(failureLine(err)) ? "refused" : undefined;
    },
  },
  {
    words: ["runtime", "verify", "--json"],
    input: "",
    judge({ code, out, err }) {
      const report = JSON.parse(out);
      if (err !== "" || report.ok !== (code === 0)) return undefined;
      return report.ok ? "loaded" : "refused";
    },
  },
  {
    words: ["mcp"],
    input: CALLS,
    judge({ code, out }) {
      const { result } = JSON.parse(out.trimEnd().split("\n")[1]!);
      const { text } = result.content[0];
      if (code !== 0) return undefined;
      if (!result.isError) return text.includes(TEXT) ? "loaded" : undefined;
      return SENTENCE.test(text) || CANCELLED.test(text) ? "refused" : undefined;
    },
  },
];

/** Runs the executable `tries` times, `parallel` at a time, while another process swaps what it loads. */
export async function race(options: { tries: number; seed: number; parallel: number }): Promise<Races> {
  const env = await signedIn();
  await svc(env, ["mem", "add", "notes", TEXT, "--id", "1"]);
  const home = env.SVC_HOME!;
  const { dir } = runtimePaths(home, tag);
  // Closed to others, like the folder that is swapped with them: each check but that of the bytes is good.
  const folder = join(home, "swaps");
  mkdirSync(folder, { mode: 0o700 });
  const [good, evil] = [join(folder, "good"), join(folder, "evil")];
  cpSync(dir, good, { recursive: true });
  await makeEvilInstall(home, evil);
  const noticed = await mappedWhenTrusted(env, evil);
  const mark = join(folder, "mark");
  const swapper = Bun.spawn(
    [process.execPath, join(import.meta.dir, "swapper.ts"), dir, good, evil, `${options.seed}`],
    {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  const races: Races = { loaded: 0, refused: 0, wrong: [], mapped: 0, noticed, swaps: {} };
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < options.tries; i = next++) {
      const run = RUNS[i % RUNS.length]!;
      const ended = await svc({ ...env, [MARK]: mark }, run.words, run.input);
      const outcome = attempt(() => run.judge(ended));
      if (outcome) races[outcome]++;
      else races.wrong.push(`svc ${run.words.join(" ")}: ${JSON.stringify(ended)}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.parallel }, worker));
  } finally {
    swapper.stdin.end();
    races.swaps = JSON.parse(await new Response(swapper.stdout).text());
  }
  races.mapped = sizeOf(mark);
  const after = await svc(env, ["runtime", "verify"]);
  if (after.code !== 0) races.wrong.push(`the install is not whole at the end: ${after.out}`);
  rmSync(env.HOME!, { recursive: true, force: true });
  return races;
}

/** How often the libraries of the evil install are mapped by an executable that trusts its key. */
async function mappedWhenTrusted(original: Home, evil: string): Promise<number> {
  const env = { ...original, SVC_HOME: join(original.HOME!, "trusting"), SVC_RELEASE_PUBKEY: evilKey };
  cpSync(original.SVC_HOME!, env.SVC_HOME, { recursive: true });
  const { dir } = runtimePaths(env.SVC_HOME, tag);
  rmSync(dir, { recursive: true });
  cpSync(evil, dir, { recursive: true });
  const mark = join(env.SVC_HOME, "mark");
  await svc({ ...env, [MARK]: mark }, ["mem", "list"]);
  return sizeOf(mark);
}

function attempt(judge: () => Outcome): Outcome {
  try {
    return judge();
  } catch {
    return undefined;
  }
}

function sizeOf(path: string): number {
  return existsSync(path) ? readFileSync(path).length : 0;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { tries: { type: "string" }, seed: { type: "string" }, parallel: { type: "string" } },
  });
  const { tries = "1000", seed = "1", parallel = "2" } = values;
  const races = await race({ tries: Number(tries), seed: Number(seed), parallel: Number(parallel) });
  console.log(JSON.stringify({ svc: SVC, seed, ...races, wrong: races.wrong.length }), ...races.wrong.slice(0, 5));
}
