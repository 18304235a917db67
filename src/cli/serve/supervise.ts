/**
 * `svc serve --supervise`: runs the server as a child and starts it again when it crashed. The child's stdin is a pipe
 * without data: when this process dies, however it dies, the child reads its end and ends in order.
 */
import type { Log } from "../../log.ts";
import { EXIT } from "../terminal/command.ts";
import { interrupted } from "../terminal/interrupt.ts";
import { isTerminal, print } from "../terminal/output.ts";

/** Set in a supervised child. */
export const SUPERVISED = "SVC_SUPERVISED";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
/** A child that ran so long starts the pauses again. */
const STEADY_MS = 60_000;

/**
 * Runs `command` until it ends by itself in order, or `signal` says so.
 * @returns its last exit code
 */
export async function supervise(
  command: string[],
  env: Record<string, string | undefined>,
  signal: AbortSignal,
  log: Log,
): Promise<number> {
  let pause = FIRST_PAUSE_MS;
  let hasListened = false;
  let hungUp = () => {};
  onHangUp(() => hungUp());
  let restarted = () => {};
  process.on("SIGUSR2", () => restarted());
  for (;;) {
    const started = performance.now();
    const child = Bun.spawn(command, {
      env: { ...env, [SUPERVISED]: "1" },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    // Not a signal: Ctrl-C in a terminal, or a service manager, has sent the child one already, and a second one means
    // "at once".
    const end = () => void child.stdin.end();
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    // Before it listens it would end by a signal.
    hungUp = () => void (hasListened && child.kill("SIGHUP"));
    restarted = () => void (hasListened && child.kill("SIGUSR2"));
    // The first line says that it listens: it is printed once, and distinguishes a crash from a command line that can
    // never work.
    for await (const chunk of child.stdout) {
      if (!hasListened) print(new TextDecoder().decode(chunk).trimEnd());
      hasListened = true;
    }
    const code = await child.exited;
    signal.removeEventListener("abort", end);
    if (signal.aborted) return code;
    if (code === EXIT.done || code === EXIT.usage || !hasListened) return code;
    if (performance.now() - started > STEADY_MS) pause = FIRST_PAUSE_MS;
    const how = child.signalCode ?? `exit code ${code}`;
    log({
      level: "error",
      event: "crashed",
      message: `the server ended with ${how}; starting it again in ${pause} ms`,
      fields: { how, pause_ms: pause },
    });
    await interrupted(signal, pause);
    if (signal.aborted) return EXIT.done;
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/**
 * SIGHUP is a request to read files again, except where there is a terminal: one that is closed sends it too.
 * @param closed what ends the process in order then; by default the system ends it
 */
export function onHangUp(reload: () => void, closed?: () => void): void {
  const action = isTerminal(0) || isTerminal(2) ? closed : reload;
  if (action !== undefined) process.on("SIGHUP", action);
}

/** Calls `end` when the supervising process is gone. Does not keep this process alive. */
export function whenOrphaned(end: () => void): void {
  void Bun.stdin.stream().getReader().read().then(end, end);
}
