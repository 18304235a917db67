/** Enter on the terminal, beside other work, and a line that answers a question. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { note } from "./output.ts";

/** A person does not notice it; each look is one system call. */
const LOOK_MS = 100;
/** The most that a terminal hands over of one line (Linux, N_TTY_BUF_SIZE). */
const LINE_BYTES = 4096;
/** A person who is asked answers sooner, or has gone away. */
const ANSWER_MS = 10 * 60_000;
/** Lines that were typed ahead, at most, before the first look. */
const AHEAD_MAX = 64;

/**
 * Calls `action` once, when the person presses Enter on an empty line: a command that is typed or pasted ahead means
 * the shell. What was typed before the call is dropped, as it does not answer what is asked now.
 *
 * The terminal is opened again, and looked at without waiting. A stream of stdin would have a read pending that takes
 * the first line away from the shell after the end of this process, or keeps the process alive; an end of file (Ctrl-D)
 * only ends the looking. The terminal's settings are not touched.
 *
 * @returns what ends the looking; undefined where this process has no terminal
 */
export function onEnter(action: () => void): Disposable | undefined {
  const watch = watchTyped((typed) => {
    const isEnter = typed
      .split(/[\r\n]/)
      .slice(0, -1)
      .some((line) => line.trim() === "");
    if (isEnter) watch?.[Symbol.dispose]();
    if (isEnter) action();
  });
  return watch;
}

/**
 * The next line that is typed, without its end; undefined where there is no terminal, it ended, `signal` aborts or
 * none was typed after `timeoutMs`. What was typed before the call is dropped.
 */
export function nextLine(signal: AbortSignal, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (line?: string) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      watch?.[Symbol.dispose]();
      resolve(line);
    };
    const stop = () => end();
    const watch = watchTyped((typed) => end(typed === "" ? undefined : typed.split(/[\r\n]/, 1)[0]));
    const timer = setTimeout(stop, timeoutMs);
    signal.addEventListener("abort", stop, { once: true });
    if (watch === undefined || signal.aborted) stop();
  });
}

/**
 * Asks a question on a line of its own.
 * @param also what else means yes, in addition to `y` and `yes`
 * @returns whether the answer is yes; no answer, another one and an interruption are no
 */
export async function agrees(question: string, signal: AbortSignal, also?: string): Promise<boolean> {
  // Before the question: what is typed as soon as that is read counts.
  const answer = nextLine(signal, ANSWER_MS);
  note(question);
  const line = (await answer)?.trim();
  return line !== undefined && (/^y(es)?$/i.test(line) || line === also);
}

/** Calls `typed` with each piece that is read, "" at the end of the input, after which there is no other. */
function watchTyped(typed: (text: string) => void): Disposable | undefined {
  let fd: number;
  try {
    fd = openSync("/dev/tty", constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return undefined;
  }
  for (let i = 0; i < AHEAD_MAX && (read(fd) ?? "") !== ""; i++);
  const look = () => {
    const text = read(fd);
    if (text === undefined) return;
    if (text === "") end();
    typed(text);
  };
  const timer = setInterval(look, LOOK_MS);
  let isOpen = true;
  const end = () => {
    clearInterval(timer);
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  return { [Symbol.dispose]: end };
}

/** The next line; "" at the end of the input or where the terminal is gone, undefined where nothing was typed yet. */
function read(fd: number): string | undefined {
  const bytes = new Uint8Array(LINE_BYTES);
  try {
    return new TextDecoder().decode(bytes.subarray(0, readSync(fd, bytes)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "EAGAIN" || code === "EINTR" ? undefined : "";
  }
}
