/**
 * The only printer. Results go to stdout, everything else to stderr.
 *
 * It writes with `writeSync` in a loop: `process.stdout` alone costs 12–15 ms of a start, `console.log` swallows a
 * broken pipe, and an exit right after a large asynchronous write loses what was not yet sent. A synchronous write is
 * also the back-pressure: an export never runs ahead of its reader.
 */
import { fstatSync, statSync, writeSync } from "node:fs";
import { errorLine, OSError } from "../errors.ts";

/** The reader of stdout has closed it (`svc mem ids notes | head -1`): no failure, only the end of the work. */
export class BrokenPipe extends Error {}

/** Prints a result and a line break on stdout. @throws BrokenPipe when its reader has closed it; OSError */
export function print(text: string): void {
  write(1, `${text}\n`);
}

/** Prints a result as one line of JSON on stdout. @throws BrokenPipe, OSError */
export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** Prints a remark on stderr: what was done, what to do next. A closed stderr is no failure. */
export function note(text: string): void {
  try {
    write(2, `${text}\n`);
  } catch {
    // There is no other place to say it.
  }
}

/** Prints a failure on stderr as the one line `svc: <Type>: message`. */
export function printError(error: unknown): void {
  note(`svc: ${oneLine(errorLine(error))}`);
}

/** Overwrites the current line of a terminal's stderr; for progress only. */
export function redraw(text: string): void {
  try {
    write(2, `\r\x1b[2K${text}`);
  } catch {
    // As in `note`.
  }
}

/**
 * Whether a descriptor is a terminal. Importing `node:tty` for it costs 8 ms; a character device that is not /dev/null
 * is a terminal for every purpose here.
 */
export function isTerminal(fd: 0 | 1 | 2): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isCharacterDevice() && stat.rdev !== statSync("/dev/null").rdev;
  } catch {
    return false;
  }
}

/** Whether stdout is a terminal that wants colours. */
export function hasColours(): boolean {
  colours ??= isTerminal(1) && !process.env.NO_COLOR && process.env.TERM !== "dumb";
  return colours;
}

/** Codes of the SGR styles: on, off. */
const STYLES = { bold: [1, 22], dim: [2, 22], green: [32, 39], magenta: [35, 39] } as const;

/** Wraps text in an SGR style where stdout is a terminal that wants colours, and leaves it alone everywhere else. */
export function style(name: keyof typeof STYLES, text: string): string {
  const [on, off] = STYLES[name];
  return hasColours() ? `\x1b[${on}m${text}\x1b[${off}m` : text;
}

/** Makes text a link to a file (OSC 8) under the same condition. */
export function link(file: string, text: string): string {
  return hasColours() ? `\x1b]8;;${Bun.pathToFileURL(file)}\x1b\\${text}\x1b]8;;\x1b\\` : text;
}

/**
 * Makes untrusted text safe to show: control characters, which could move the cursor or rename the window, become
 * visible escapes. Line breaks and tabs stay.
 */
export function visible(text: string): string {
  return text.replace(CONTROL, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** The same on a single line: white space of any kind becomes one space. */
export function oneLine(text: string): string {
  return visible(text.replace(/\s+/g, " ").trim());
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not reach a terminal.
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

let colours: boolean | undefined;

function write(fd: 1 | 2, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += writeSync(fd, bytes, offset, bytes.length - offset);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A parent may have made the pipe non-blocking for its own use; then a full pipe is an error and means "soon".
      if (code === "EAGAIN") Bun.sleepSync(1);
      else if (code === "EPIPE") throw new BrokenPipe("stdout was closed");
      else if (code !== "EINTR") throw new OSError(`cannot write to ${fd === 1 ? "stdout" : "stderr"}: ${code}`);
    }
  }
}
