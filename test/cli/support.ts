/** Runs `svc` from source as a process of its own, in an empty home. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A home that svc must not make. Among the temporary folders: Bun itself puts a cache below HOME, whatever that is. */
export const NO_HOME = join(tmpdir(), "svc-cli-no-home");

export const MAIN = join(import.meta.dir, "../../src/main.ts");

export interface RunOptions {
  /** What stands on stdin; nothing at all when absent. */
  stdin?: string | Uint8Array;
  env?: Record<string, string>;
  /** The directory it runs in, where it is not this one. */
  cwd?: string;
  /** Files that Bun loads first, such as the fake gate. */
  preload?: string[];
}

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs one command to its end. */
export async function svc(words: string[], options: RunOptions = {}): Promise<Finished> {
  const child = start(words, options);
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** A command that is still running; its stdin is closed after what the options say. */
export function start(words: string[], options: RunOptions = {}) {
  const bytes = typeof options.stdin === "string" ? new TextEncoder().encode(options.stdin) : options.stdin;
  return spawn(words, bytes ?? "ignore", options);
}

/**
 * Runs `svc mcp` with these requests. Its stdin is closed once each has an answer: calls have less than a second after
 * that, and on a busy machine the first one takes longer.
 */
export async function requests(messages: readonly object[], options: RunOptions = {}): Promise<Finished> {
  const child = spawn(["mcp"], "pipe", options);
  child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  child.stdin.flush();
  const stderr = new Response(child.stderr).text();
  let stdout = "";
  for await (const piece of child.stdout) {
    stdout += new TextDecoder().decode(piece);
    if (stdout.split("\n").length > messages.length) await child.stdin.end();
  }
  return { code: await child.exited, stdout, stderr: await stderr };
}

function spawn<In extends "pipe" | "ignore" | Uint8Array>(words: string[], stdin: In, options: RunOptions) {
  const preload = (options.preload ?? []).flatMap((file) => ["--preload", file]);
  return Bun.spawn([process.execPath, ...preload, MAIN, ...words], {
    stdin,
    stdout: "pipe",
    stderr: "pipe",
    cwd: options.cwd,
    env: { PATH: process.env.PATH, HOME: NO_HOME, SVC_HOME: join(NO_HOME, "svc"), ...options.env },
  });
}

/** A folder that is removed with the test. */
export function temporaryFolder(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "svc-cli-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** The fake gate: verbs that answer with their own arguments. */
export const FAKE_GATE = join(import.meta.dir, "access/fake-gate.ts");
/** A stand-in for the facts of a build, so that no test needs `npm run build`. */
export const FAKE_BUILD = join(import.meta.dir, "fake-build.ts");
/** A hook that appends every verification to the file in CHECKS_LOG. */
export const CHECK_LOG = join(import.meta.dir, "check-log.ts");
/** A hook that appends every module that was loaded to the file in MODULES_LOG. */
export const MODULE_LOG = join(import.meta.dir, "module-log.ts");
