/**
 * A new executable tries itself before it takes the place of the old one: it prints its version, signs in and installs
 * its runtime in an empty home, and verifies that. So it is known to run on this machine, with its native code. It gets
 * nothing of the user's environment, so that it reaches neither the memory nor the login.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildInfo } from "../../build-info.ts";
import { isObject } from "../../checks/kinds.ts";
import { diskError } from "../../durable.ts";
import { attempt, RuntimeError } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import type { Release } from "../../trust/runtime/releases.ts";
import { oneLine } from "../terminal/output.ts";
import { type Place, TRIAL_PREFIX } from "./place.ts";

/** What an executable says of itself. */
export interface Tried extends Release {
  /** The id of the release key that signed its runtime. */
  releaseKey: string;
}

export interface TrialOptions {
  readonly env: Env;
  readonly signal: AbortSignal;
}

/** The first start of a file of 125 MB on a slow disk; what takes longer hangs. */
const STEP_MS_MAX = 120_000;

/**
 * Tries an executable.
 * @throws RuntimeError where it does not run, with what it said; CancelledError
 */
export async function tryExecutable(program: string, place: Place, options: TrialOptions): Promise<Tried> {
  let home: string;
  try {
    home = mkdtempSync(join(tmpdir(), TRIAL_PREFIX));
  } catch (error) {
    throw diskError(error, "create a folder in", tmpdir());
  }
  try {
    place.noteTrial(home);
    const { PATH = "", TMPDIR } = options.env;
    const env = { PATH, HOME: home, SVC_HOME: join(home, "svc"), ...(TMPDIR && { TMPDIR }) };
    const step = (...words: string[]) => run(program, words, { ...options, env });
    const tried = readVersion(await step("version", "--json"));
    // A build of an organisation's authority signs in nowhere else.
    if (buildInfo().authority === null) {
      await step("login", "--yes");
      await step("runtime", "verify", "--json");
    }
    return tried;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function readVersion(text: string): Tried {
  const said: unknown = attempt(() => JSON.parse(text));
  const { version, release, release_key: releaseKey } = isObject(said) ? said : {};
  if (typeof version === "string" && typeof release === "number" && typeof releaseKey === "string")
    return { version, release, releaseKey };
  throw notRunning("version --json", "printed no version");
}

/** Runs a command of the new file. @returns what it printed */
async function run(program: string, words: readonly string[], { env, signal }: TrialOptions): Promise<string> {
  signal.throwIfAborted();
  const name = words.join(" ");
  let child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  try {
    child = Bun.spawn([program, ...words], {
      ...{ env, signal, timeout: STEP_MS_MAX, killSignal: "SIGKILL" },
      ...{ stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EACCES" ? "; its file system may be mounted with 'noexec': mount it without" : "";
    throw notRunning(name, `cannot be started (${code})${why}`);
  }
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  signal.throwIfAborted();
  if (code === 0) return out;
  const last = err.trimEnd().split("\n").at(-1) ?? "";
  const said = last === "" ? "" : `: ${oneLine(last)}`;
  throw notRunning(name, `ended with ${child.signalCode ?? `exit code ${code}`}${said}`);
}

function notRunning(command: string, what: string): RuntimeError {
  return new RuntimeError(`the new svc was not installed, as it does not run here: 'svc ${command}' ${what}`);
}
