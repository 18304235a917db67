/**
 * One command line to its exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted. citty's own `runMain` exits with
 * 1 for every failure, prints the whole help with a usage error, and a stack with any other.
 */
import { CancelledError, SvcError } from "../../errors.ts";
import { arrange, refuseUnknown, wantsHelp, wantsJson } from "./arrange.ts";
import { isGroup, type Node, type Reached, reach, refuseMisread, runReached } from "./citty.ts";
import { EXIT, endOfCommand, isUsage, UsageError } from "./command.ts";
import { interruption, listenForInterrupts } from "./interrupt.ts";
import { BrokenPipe, noteWhole, print, printError } from "./output.ts";

/**
 * Runs one command line to its end. Never throws.
 * @returns the exit code
 */
export async function run(root: Node, words: string[]): Promise<number> {
  if (words[0] === "__complete") return answerTab(root, words.slice(1));
  listenForInterrupts();
  const code = await runLine(root, words);
  if (!interruption.signal.aborted) await endOfCommand();
  return code;
}

/** What a shell asks at Tab. It gets no candidates where anything is wrong: a message would stand in the line. */
async function answerTab(root: Node, request: readonly string[]): Promise<number> {
  const { answerShell } = await import("./complete.ts");
  try {
    print(await answerShell(root, request, process.env));
    return EXIT.done;
  } catch {
    return EXIT.failed;
  }
}

async function runLine(root: Node, words: string[]): Promise<number> {
  const isJson = wantsJson(words);
  let reached = reach(root, words);
  try {
    reached = reach(root, await arrange(root, words));
    refuseUnknown(reached);
    if (wantsHelp(reached)) {
      const { renderPage } = await import("./help.ts");
      print(await renderPage(reached.node));
    } else if (isGroup(reached.node)) {
      return await noCommand(reached.node, root, isJson);
    } else {
      await refuseMisread(reached);
      await runReached(reached);
    }
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    return conclude(error, reached, isJson);
  }
}

/** Without a command there is nothing to do, and that is a mistake of usage: the page goes where mistakes go. */
async function noCommand(node: Node, root: Node, isJson: boolean): Promise<number> {
  if (isJson) throw new UsageError("no command is given");
  const { renderPage, renderWelcome } = await import("./help.ts");
  noteWhole(node === root ? await renderWelcome(node) : await renderPage(node));
  return EXIT.usage;
}

function conclude(error: unknown, { node }: Reached, isJson: boolean): number {
  const { aborted } = interruption.signal;
  if (error instanceof BrokenPipe) return aborted ? EXIT.interrupted : EXIT.done;
  if (isUsage(error)) {
    error.message += `; see '${node.meta.name} --help'`;
    printError(error, isJson);
    return EXIT.usage;
  }
  if (error instanceof CancelledError || (aborted && !(error instanceof SvcError))) {
    printError(error instanceof CancelledError ? error : new CancelledError("interrupted"), isJson);
    return EXIT.interrupted;
  }
  printError(error, isJson);
  return EXIT.failed;
}
