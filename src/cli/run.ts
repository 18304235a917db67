/**
 * One command line through citty, to an exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted. citty's own
 * `runMain` exits with 1 for every failure, prints the whole help with a usage error, and a stack with any other.
 */
import { CancelledError, SvcError } from "../errors.ts";
import {
  isNoCommand,
  type Node,
  type Reached,
  reach,
  refuseMisread,
  renderPage,
  runReached,
  usageError,
  wantsHelp,
} from "./citty.ts";
import { EXIT, endOfCommand, isUsage } from "./command.ts";
import { interruption, listenForInterrupts } from "./interrupt.ts";
import { BrokenPipe, note, print, printError } from "./output.ts";

/**
 * Runs one command line to its end. Never throws.
 * @returns the exit code
 */
export async function run(root: Node, words: string[]): Promise<number> {
  listenForInterrupts();
  const code = await runLine(root, words);
  if (!interruption.signal.aborted) await endOfCommand();
  return code;
}

async function runLine(root: Node, words: string[]): Promise<number> {
  // citty's own flag prints a bare number and takes no --json.
  const line = words[0] === "--version" || words[0] === "-v" ? ["version", ...words.slice(1)] : words;
  const reached = reach(root, line);
  try {
    if (wantsHelp(reached)) {
      print(await renderPage(reached.node));
    } else {
      await refuseMisread(reached);
      await runReached(reached);
    }
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    if (!isNoCommand(error)) return conclude(usageError(error, reached), reached);
    // Without a command there is nothing to do, and that is a mistake of usage; the page goes where mistakes go.
    note(await renderPage(reached.node));
    return EXIT.usage;
  }
}

function conclude(error: unknown, { node }: Reached): number {
  const { aborted } = interruption.signal;
  if (error instanceof BrokenPipe) return aborted ? EXIT.interrupted : EXIT.done;
  if (isUsage(error)) {
    error.message += `; see '${node.meta.name} --help'`;
    printError(error);
    return EXIT.usage;
  }
  if (error instanceof CancelledError || (aborted && !(error instanceof SvcError))) {
    printError(error instanceof CancelledError ? error : new CancelledError("interrupted"));
    return EXIT.interrupted;
  }
  printError(error);
  return EXIT.failed;
}
