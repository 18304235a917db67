/**
 * From words to an exit code. It finds the command, reads its flags strictly, lets citty run it, and turns whatever happened into
 * one line and one number: 0 done, 1 failed, 2 wrong usage, 130 interrupted. citty's own runner would print usage on stdout, minified
 * source on a throw, and exit with 1 for everything.
 */
import { CancelledError, SvcError } from "../errors.ts";
import type { Env } from "../paths.ts";
import {
  type Command,
  EXIT,
  type Group,
  type Invocation,
  isGroup,
  isUsage,
  type Member,
  UsageError,
} from "./command.ts";
import { readFlags } from "./flags.ts";
import { BrokenPipe, note, print, printError } from "./output.ts";
import { nearest } from "./suggest.ts";

/**
 * Runs one command line to its end. Never throws.
 * @returns the exit code
 */
export async function run(root: Group, words: readonly string[], env: Env = process.env): Promise<number> {
  const path = ["svc"];
  const interruption: Interruption = { controller: new AbortController(), count: 0, why: undefined };
  const stopListening = onInterrupt(interruption);
  try {
    const found = await find(root, words, path);
    if (wantsHelp(found.rest)) {
      const { renderHelp } = await import("./help.ts");
      print(renderHelp(path, found.node));
      return EXIT.done;
    }
    if (isGroup(found.node)) {
      // Without a command there is nothing to do, and that is a mistake of usage; the page goes where mistakes go.
      const { renderHelp } = await import("./help.ts");
      note(renderHelp(path, found.node));
      return EXIT.usage;
    }
    return await invoke(found.node, found.rest, env, interruption);
  } catch (error) {
    return conclude(error, path, interruption.controller.signal);
  } finally {
    stopListening();
  }
}

// ---------------------------------------------------------------------------------------------------------------------

interface Found {
  node: Command | Group;
  /** The words after the command's name. */
  rest: readonly string[];
}

/** Walks down the groups by name; `path` grows as it goes. @throws UsageError for a name that no group has */
async function find(root: Group, words: readonly string[], path: string[]): Promise<Found> {
  let node: Command | Group = root;
  let rest = words;
  while (isGroup(node)) {
    const word = rest[0];
    if (word === undefined || word === "--help" || word === "-h") break;
    if (node === root && (word === "--version" || word === "-v")) rest = ["version", ...rest.slice(1)];
    const name = rest[0]!;
    if (name.startsWith("-")) throw new UsageError(`unknown flag '${name}'`);
    const member: Member | undefined = Object.hasOwn(node.commands, name) ? node.commands[name] : undefined;
    if (!member) throw unknownCommand(name, node);
    path.push(name);
    rest = rest.slice(1);
    node = await member.load();
  }
  return { node, rest };
}

function unknownCommand(name: string, group: Group): UsageError {
  const similar = nearest(name, Object.keys(group.commands));
  return new UsageError(`unknown command '${name}'${similar ? `, did you mean '${similar}'?` : ""}`);
}

function wantsHelp(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).some((word) => word === "--help" || word === "-h");
}

async function invoke(
  command: Command,
  words: readonly string[],
  env: Env,
  interruption: Interruption,
): Promise<number> {
  const { signal } = interruption.controller;
  const patient = (why: string) => {
    interruption.why = why;
  };
  const { canonical, values } = readFlags(command, words);
  const { runCommand } = await import("citty");
  const { result } = await runCommand(
    {
      args: command.args,
      run: ({ args }) =>
        command.run({
          args,
          all: (flag: string) => values.get(flag) ?? [],
          env,
          signal,
          patient,
        } as unknown as Invocation),
    },
    { rawArgs: canonical },
  );
  return typeof result === "number" ? result : EXIT.done;
}

function conclude(error: unknown, path: readonly string[], signal: AbortSignal): number {
  if (error instanceof BrokenPipe) return signal.aborted ? EXIT.interrupted : EXIT.done;
  if (isUsage(error)) {
    error.message += `; see '${path.join(" ")} --help'`;
    printError(error);
    return EXIT.usage;
  }
  if (error instanceof CancelledError || (signal.aborted && !(error instanceof SvcError))) {
    printError(error instanceof CancelledError ? error : new CancelledError("interrupted"));
    return EXIT.interrupted;
  }
  printError(error);
  return EXIT.failed;
}

/** Signals so far, and what a command loses when it is ended at once. */
interface Interruption {
  controller: AbortController;
  count: number;
  why: string | undefined;
}

/** So many signals end a command that would lose something. */
const SIGNALS_MAX = 4;

/**
 * The first Ctrl-C asks, the second ends: what is on disk is the last saved state at any moment, so that ending is safe, and whoever
 * presses twice means it. A command that would lose something says so and waits for more of them.
 */
function onInterrupt(interruption: Interruption): () => void {
  const interrupt = () => {
    interruption.count++;
    const { controller, count, why } = interruption;
    if (count === 1) controller.abort(new CancelledError("interrupted"));
    else if (why === undefined || count >= SIGNALS_MAX) process.exit(EXIT.interrupted);
    else note(`svc: ${why} (${SIGNALS_MAX - count} more to end at once)`);
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  return () => {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  };
}
