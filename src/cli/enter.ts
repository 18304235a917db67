/** Enter on the terminal, beside other work. */
import { closeSync, constants, openSync, readSync } from "node:fs";

/** A person does not notice it; each look is one system call. */
const LOOK_MS = 100;
/** The most that a terminal hands over of one line (Linux, N_TTY_BUF_SIZE). */
const LINE_BYTES = 4096;
/** Lines that were typed ahead, at most, before the first look. */
const AHEAD_MAX = 64;

/**
 * Calls `action` once, when the person presses Enter on an empty line: a command that is typed or pasted ahead means
 * the shell. What was typed before the call is dropped, as it does not answer what is asked now.
 *
 * The terminal is opened anew, and looked at without waiting. A stream of stdin would have a read pending that takes
 * the first line away from the shell after the end of this process, or keeps the process alive; an end of file (Ctrl-D)
 * only ends the looking. The terminal's settings are not touched.
 *
 * @returns what ends the looking; undefined where this process has no terminal
 */
export function onEnter(action: () => void): Disposable | undefined {
  let fd: number;
  try {
    fd = openSync("/dev/tty", constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return undefined;
  }
  for (let i = 0; i < AHEAD_MAX && (read(fd) ?? "") !== ""; i++);
  const look = () => {
    const typed = read(fd);
    if (typed === undefined) return;
    const isEnter = typed
      .split(/[\r\n]/)
      .slice(0, -1)
      .some((line) => line.trim() === "");
    if (typed === "" || isEnter) end();
    if (isEnter) action();
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
