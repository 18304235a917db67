/** Answers that are longer than the screen, a screen at a time: through PAGER, or less where there is one. */
import { CancelledError } from "../../errors.ts";
import { programFolders } from "../../paths.ts";
import { interruption, leaveInterrupts } from "./interrupt.ts";
import { guarded, isTerminal, print } from "./output.ts";
import { terminalColumns } from "./width.ts";

/** Lines of a terminal that does not report its height. */
const ROWS = 24;
/** TERM of terminals on which no pager can move. */
const NOT_KNOWN = ["", "dumb", "unknown"];
/** Exit codes of a shell that did not find the command, or could not run it. */
const NOT_STARTED = [126, 127];

/**
 * Prints a text, through a pager where stdout is a terminal that it does not fit on. A pager that is left early is not
 * a failure. SVC_PAGER or PAGER names another one, "" or cat none.
 * @throws CancelledError on SIGTERM; what `print` throws
 */
export async function printPaged(text: string): Promise<void> {
  const command = isTerminal(1) && isLong(text) ? pager() : undefined;
  if (command === undefined || !(await runPager(command, `${guarded(text)}\n`))) print(text);
}

/** Whether a text has more lines than the screen, one of which the prompt takes. */
function isLong(text: string): boolean {
  const columns = terminalColumns() ?? 1;
  const rows = (process.stdout.rows || ROWS) - 1;
  let count = 0;
  for (let start = 0; start <= text.length && count <= rows; ) {
    const end = text.indexOf("\n", start);
    // A line longer than the whole screen is not measured to its end.
    const line = text.slice(start, Math.min(end < 0 ? text.length : end, start + 4 * rows * columns));
    count += Math.max(1, Math.ceil(Bun.stringWidth(line) / columns));
    start = end < 0 ? text.length + 1 : end + 1;
  }
  return count > rows;
}

/** The command of the pager, or undefined where there is none. */
function pager(): string[] | undefined {
  const { SVC_PAGER, PAGER, TERM = "" } = process.env;
  const named = SVC_PAGER ?? PAGER;
  // less begins with a warning and waits where it knows nothing of the terminal.
  if (NOT_KNOWN.includes(TERM) || named?.trim() === "" || named?.trim() === "cat") return undefined;
  // PAGER is a line of the shell, such as "less -S".
  if (named !== undefined) return ["/bin/sh", "-c", named];
  const less = Bun.which("less", { PATH: programFolders(process.env).join(":") });
  // It ends by itself where all fits, shows styles and links, and leaves the text on the screen.
  return less ? [less, "-FRX"] : undefined;
}

/** @returns whether it has run */
async function runPager(command: string[], text: string): Promise<boolean> {
  const { LESS = "FRX", LESSCHARSET = "utf-8" } = process.env;
  // Ctrl-C is the pager's, which stays.
  using _ = leaveInterrupts();
  try {
    const child = Bun.spawn(command, {
      env: { ...process.env, LESS, LESSCHARSET },
      stdin: new TextEncoder().encode(text),
      stdout: "inherit",
      stderr: "inherit",
    });
    const end = () => child.kill();
    interruption.signal.addEventListener("abort", end);
    const code = await child.exited;
    interruption.signal.removeEventListener("abort", end);
    if (interruption.signal.aborted) throw new CancelledError("interrupted");
    return !NOT_STARTED.includes(code);
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    return false;
  }
}
