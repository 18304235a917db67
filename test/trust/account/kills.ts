/** Logins from source that are killed at a chosen step. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { authorityPaths } from "../../../src/paths.ts";
import { FAKE_BUILD, MAIN, NO_HOME } from "../../cli/support.ts";
import { LICENSE_KEY_PEM } from "./helpers.ts";

const STEPS = join(import.meta.dir, "kill-steps.ts");

/**
 * Which login: from an account alone, or with the runtime of the last build; that of the first call to `svc mcp --login`;
 * or one that pins the authority at an address, with the fingerprint of its key.
 */
export type Kind = "account" | "runtime" | "first call" | { readonly authority: string; readonly key: string };

/**
 * Runs a login in a home, and kills it before the step `at`, from 1 on; without one, or where other logins leave it fewer
 * steps, it runs to its end.
 * @returns whether it was killed
 * @throws where it failed
 */
export async function killedLogin(home: string, kind: Kind, at?: number, log = ""): Promise<boolean> {
  const isFirst = kind === "first call";
  const preload = kind === "runtime" || isFirst ? [] : ["--preload", FAKE_BUILD];
  const child = Bun.spawn([process.execPath, ...preload, "--preload", STEPS, MAIN, ...wordsOf(kind)], {
    env: {
      PATH: process.env.PATH,
      HOME: NO_HOME,
      SVC_HOME: home,
      STEPS_LOG: log,
      KILL_AT: String(at ?? 0),
      LICENSE_KEY_PEM,
    },
    stdin: isFirst ? "pipe" : "ignore",
    stdout: isFirst ? "pipe" : "ignore",
    stderr: "pipe",
  });
  if (isFirst) await called(child as Bun.Subprocess<"pipe", "pipe", "pipe">);
  const [stderr] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (child.signalCode === "SIGKILL") return true;
  if (child.exitCode === 0) return false;
  throw new Error(`the login ended with ${child.exitCode ?? child.signalCode}: ${stderr}`);
}

/** Calls a tool of a server, and ends its input once it has answered or is gone. */
async function called({ stdin, stdout }: Bun.Subprocess<"pipe", "pipe", "pipe">): Promise<void> {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "svc_list_collections", arguments: {} } };
  stdin.write(`${JSON.stringify(call)}\n`);
  await stdin.flush();
  for await (const _ of stdout) break;
  await stdin.end();
}

function wordsOf(kind: Kind): string[] {
  if (kind === "first call") return ["mcp", "--login"];
  if (kind === "runtime") return ["login", "--yes"];
  if (kind === "account") return ["login", "--yes", "--no-install"];
  return ["login", "--no-browser", "--no-install", "--authority", kind.authority, "--license-pubkey", kind.key];
}

/** The steps of a login in a home, in their order. */
export async function stepsOf(home: string, kind: Kind): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "svc-steps-"));
  try {
    const log = join(folder, "log");
    await killedLogin(home, kind, undefined, log);
    return readFileSync(log, "utf8").trim().split("\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * The numbers of the steps to kill at: with KILLS=all all of them, else without those that leave the files as the step
 * before them did: requests, their answers, and the statements of the ledger, which SQLite answers for.
 */
export function chosen(steps: readonly string[]): number[] {
  const all = steps.map((name, index) => ({ name, at: index + 1 }));
  return all
    .filter(({ name }) => process.env.KILLS === "all" || !/^(ask|answered|ledger)/.test(name))
    .map(({ at }) => at);
}

/** What is left of a killed login in a home: temporary files, and those of an install. */
export function leftIn(home: string): string[] {
  const left = /\.tmp$|\.new$|^\.staging-/;
  return [home, authorityPaths(home).dir, join(home, "runtime")]
    .flatMap((folder) => namesIn(folder))
    .filter((name) => left.test(name));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Calls `task` with every item, some at a time. */
export async function forEachOf<T>(items: readonly T[], task: (item: T) => Promise<void>, atOnce = 3): Promise<void> {
  const queue = [...items];
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await task(item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
