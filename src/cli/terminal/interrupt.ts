/** Ctrl-C and SIGTERM: the process's, and so the running command's. */
import { CancelledError } from "../../errors.ts";
import { EXIT, type Invocation } from "./command.ts";
import { note } from "./output.ts";

/** So many signals end a command that would lose something. */
const SIGNALS_MAX = 4;

/**
 * Milliseconds in which signals of one kind are one order: a terminal, or a service manager, sends one to svc and to the
 * process that started it, and npx and our launcher pass theirs on.
 */
const SAME_MS_MAX = 100;

const controller = new AbortController();
let count = 0;
const times = new Map<string, number>();
let loss: string | undefined;
let isLeft = false;

/** What a command gets of it. */
export const interruption: Pick<Invocation, "signal" | "patient"> = {
  signal: controller.signal,
  patient(why) {
    loss = why;
  },
};

/**
 * Handles the signals. The first aborts, the second exits: the disk always has the last saved state, so that exiting is
 * safe. A command that would lose something says so and waits for more signals.
 */
export function listenForInterrupts(): void {
  const interrupt = (name: string) => {
    const now = performance.now();
    if (now - (times.get(name) ?? Number.NEGATIVE_INFINITY) < SAME_MS_MAX) return;
    times.set(name, now);
    count++;
    if (count === 1) controller.abort(new CancelledError("interrupted"));
    else if (loss === undefined || count >= SIGNALS_MAX) process.exit(EXIT.interrupted);
    else note(`svc: ${loss} (${SIGNALS_MAX - count} more to end at once)`);
  };
  process.on("SIGINT", (name) => {
    if (!isLeft) interrupt(name);
  });
  process.on("SIGTERM", interrupt);
}

/** Waits for an interruption, or for `ms` milliseconds where they are given. */
export function interrupted(signal: AbortSignal, ms?: number): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (ms !== undefined) setTimeout(resolve, ms);
  });
}

/** Leaves Ctrl-C to a program that has the terminal, such as a pager, until it is disposed of. */
export function leaveInterrupts(): Disposable {
  isLeft = true;
  return {
    [Symbol.dispose]() {
      isLeft = false;
    },
  };
}
