/**
 * The only printer. Results go to stdout, everything else to stderr. What a terminal would obey leaves it escaped, but
 * for the styles and links that this file makes: stored text that holds the same codes is escaped too. That does not
 * depend on what stdout is; a program that wants the stored bytes reads JSON (`--json`, `svc mem export`).
 *
 * It writes with `writeSync` in a loop: `process.stdout` alone costs 12–15 ms of a start, `console.log` swallows a
 * broken pipe, and an exit right after a large asynchronous write loses what was not yet sent. A synchronous write is
 * also the back-pressure: an export never runs ahead of its reader.
 */
import { fstatSync, statSync, writeSync } from "node:fs";
import { errorFacts, errorMessage, OSError } from "../../errors.ts";

/** The reader of stdout has closed it (`svc mem ids notes | head -1`): no failure, only the end of the work. */
export class BrokenPipe extends Error {}

/** Prints a result and a line break on stdout. @throws BrokenPipe when its reader has closed it; OSError */
export function print(text: string): void {
  write(1, `${guarded(text)}\n`);
}

/** Prints results as lines of JSON on stdout, of one line each. @throws BrokenPipe, OSError */
export function printJson(...values: unknown[]): void {
  write(1, values.map((value) => `${asciiControls(JSON.stringify(value))}\n`).join(""));
}

/** Calls `printing` for a server, which does not fail when its stdout is closed. @throws OSError */
export function unlessClosed(printing: () => void): void {
  try {
    printing();
  } catch (error) {
    if (!(error instanceof BrokenPipe)) throw error;
  }
}

/** Prints lines of JSON that are made already, by `asciiControls`. @throws BrokenPipe, OSError */
export function printLines(lines: string): void {
  if (lines !== "") write(1, lines);
}

/**
 * The same JSON with escapes (RFC 8259 section 7) for what a terminal would obey: `JSON.stringify` escapes U+0000 to
 * U+001F only.
 */
export function asciiControls(json: string): string {
  return json.replace(COMMANDS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Prints a remark on stderr: what was done, what to do next. A terminal gets it broken between words, and anything else
 * as it is. A closed stderr is not a failure.
 */
export function note(text: string): void {
  if (!isFailed) remark(broken(guarded(text)));
}

/** The same for a line of a log, or one to copy: it is never broken. */
export function noteWhole(text: string): void {
  if (!isFailed) remark(guarded(text));
}

/**
 * Prints a failure on stderr as one line (of a terminal, as `note` does): `svc: message`, or for a program
 * `{"error": {"type", "code", "message"}}`. That is the last line of stderr then: nothing is remarked after it.
 */
export function printError(error: unknown, json = false): void {
  if (json) remark(failureLine(error, true));
  else note(failureLine(error, false));
  isFailed ||= json;
}

/** That line. */
export function failureLine(error: unknown, json: boolean): string {
  return json ? asciiControls(JSON.stringify({ error: errorFacts(error) })) : `svc: ${oneLine(errorMessage(error))}`;
}

let isFailed = false;

/** No terminal is narrower: a remark that is shorter fits everywhere. */
export const COLUMNS_MIN = 20;
/** Columns of a terminal that does not report its width. */
export const COLUMNS = 80;

/** What the environment says of the width of terminals, in columns; undefined where it says nothing. */
export function setColumns(): number | undefined {
  const set = process.env.COLUMNS ?? "";
  return /^[1-9]\d{0,4}$/.test(set) ? Math.max(COLUMNS_MIN, Number(set)) : undefined;
}

/** Lines that are wider than the terminal of stderr, broken between words; they go on as far in as they began. */
function broken(text: string): string {
  if (text.length <= COLUMNS_MIN || !isTerminal(2)) return text;
  const columns = setColumns() ?? Math.max(COLUMNS_MIN, process.stderr.columns || COLUMNS);
  return text
    .split("\n")
    .map((line) => {
      if (Bun.stringWidth(line) <= columns) return line;
      const indent = /^ {0,12}/.exec(line)![0];
      const lines = Bun.wrapAnsi(line.slice(indent.length), columns - indent.length, { hard: false, trim: true });
      return lines.replace(/^/gm, indent);
    })
    .join("\n");
}

function remark(line: string): void {
  try {
    write(2, `${line}\n`);
  } catch {
    // There is no other place to say it.
  }
}

/** Takes a terminal's cursor to the beginning of its line, and clears that. */
const CLEAR_LINE = "\r\x1b[2K";

/** A line for stderr that takes the place of the progress on a terminal. */
export function overProgress(line: string): string {
  return `${isTerminal(2) ? CLEAR_LINE : ""}${line}\n`;
}

/** Overwrites the current line of a terminal's stderr; for progress only. */
export function redraw(text: string): void {
  try {
    write(2, `${CLEAR_LINE}${visible(text)}`);
  } catch {
    // As in `remark`.
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
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  green: [32, 39],
  magenta: [35, 39],
  cyan: [36, 39],
  yellow: [33, 39],
} as const;

/**
 * A number in every code that `style` and `link` make, which `guarded` takes out again. Stored text cannot know it, so
 * that a code in it is never taken for one of svc. Functions that measure text skip it with the code. It is made
 * with the first code.
 */
const mark = () => (markMade ??= crypto.getRandomValues(new Uint32Array(1))[0]!);
let markMade: number | undefined;
const sgr = (code: number | string) => `\x1b[${code};${mark()}m`;
const osc8 = (address: string | URL) => `\x1b]8;id=${mark()};${address}\x1b\\`;

/**
 * Wraps text in an SGR style where stdout is a terminal that wants colours, and leaves it alone everywhere else. Only
 * the functions of this file print what it returns.
 */
export function style(name: keyof typeof STYLES, text: string): string {
  const [on, off] = STYLES[name];
  return hasColours() ? sgr(on) + text + sgr(off) : text;
}

/**
 * Makes text a link to a file (OSC 8) under the same condition, but where CI keeps a log of it, on the console of
 * Linux, which shows the address, and where FORCE_HYPERLINK is 0.
 */
export function link(file: string, text: string): string {
  const { CI, TERM, FORCE_HYPERLINK } = process.env;
  const hasLinks = hasColours() && !CI && TERM !== "linux" && FORCE_HYPERLINK !== "0";
  return hasLinks ? osc8(Bun.pathToFileURL(file)) + text + osc8("") : text;
}

/**
 * Makes untrusted text safe to show: characters that could move the cursor, rename the window or reverse what follows
 * become visible escapes. Line breaks and tabs stay, as do joiners, without which some scripts cannot be read.
 */
export function visible(text: string): string {
  return text.replace(COMMANDS, escaped);
}

/**
 * A name, or whatever else of a file or a server is said in a sentence, on a single line: white space of any kind
 * becomes one space, and characters that show nothing become escapes too, as two names that look alike are not one.
 */
export function oneLine(text: string): string {
  return visible(text.replace(/\s+/g, " ").trim()).replace(UNSEEN, escaped);
}

function escaped(char: string): string {
  const code = char.codePointAt(0)!;
  if (code > 0xffff) return `\\u{${code.toString(16)}}`;
  return code > 0xff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\x${code.toString(16).padStart(2, "0")}`;
}

/** As `visible`, but the marked codes of `style` and `link` become real terminal codes. */
export function guarded(text: string): string {
  if (!hasColours()) return visible(text);
  return text.replace(styled(), (found, code?: string, address?: string) => {
    if (code !== undefined) return `\x1b[${code}m`;
    return address === undefined ? escaped(found) : `\x1b]8;;${address}\x1b\\`;
  });
}

/**
 * Text in lines of at most so many columns, broken between words. Styles and links go on in the next line.
 * @param hard whether a longer word is broken too; otherwise it has a line of its own
 */
export function inLines(text: string, columns: number, hard = false): string[] {
  const lines = Bun.wrapAnsi(guarded(text), columns, { hard, trim: true });
  // The only codes now are those of `style` and `link`, which are also closed and opened again where a line ends.
  const marked = lines.replace(CODES, (_, code?: string, address = "") => (code ? sgr(code) : osc8(address)));
  return marked.split("\n");
}

/**
 * What a terminal obeys: C0 without line breaks and tabs, DEL, C1, and the embeddings, overrides and isolates of
 * Unicode's bidirectional algorithm (UAX #9 section 2), with which a name shows as another one.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not reach a terminal.
const COMMANDS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
/** Codes of `style` and `link`, or any single one of the above. */
const styled = () =>
  (styledMade ??= new RegExp(
    `\x1b\\[(\\d{1,2});${mark()}m|\x1b\\]8;id=${mark()};([!-~]*)\x1b\\\\|${COMMANDS.source}`,
    "g",
  ));
let styledMade: RegExp | undefined;
/** The same codes as a terminal takes them; Bun ends links in its own way. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const CODES = /\x1b\[(\d{1,2})m|\x1b\]8;;([!-~]*)(?:\x1b\\|\x07)/g;
/**
 * Those of Default_Ignorable_Code_Point (Unicode) that no script or symbol of a name needs, marks and tags included.
 */
const UNSEEN = /[\xad\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

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

/** A time in UTC, as `2026-11-23 06:25`. @param ms since 1970 */
export function minute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}
