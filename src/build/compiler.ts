/** Starts zig: the C compiler and the linker. */
import { basename, join } from "node:path";
import { BuildError } from "./step.ts";
import { zigPath } from "./zig.ts";

/** What a start of zig needs to know. */
export interface ZigOptions {
  /** The working directory, from which sources are named. */
  root: string;
  /** zig's own caches go below it. */
  cache: string;
  /** The zig executable; default: the one in node_modules. */
  zig?: string;
}

/** A compiler or linker that was ended by a signal. */
export class Crash extends BuildError {}

/** Runs zig, and prints its warnings. @throws BuildError with its output where it fails */
export async function zig(options: ZigOptions, args: string[]): Promise<void> {
  const output = await outputOf(options, args);
  if (output) console.error(output);
}

/** @returns what zig wrote to stderr */
async function outputOf(options: ZigOptions, args: string[]): Promise<string> {
  const caches = join(options.cache, "zig");
  const env = {
    ...process.env,
    ZIG_GLOBAL_CACHE_DIR: join(caches, "global"),
    ZIG_LOCAL_CACHE_DIR: join(caches, "local"),
  };
  const child = Bun.spawn([options.zig ?? zigPath(), ...args], {
    cwd: options.root,
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const output = (await new Response(child.stderr).text()).trim();
  if ((await child.exited) === 0) return output;
  if (child.signalCode !== null) throw new Crash(output || `zig ended by ${child.signalCode}`);
  throw new BuildError(output || "zig failed without output");
}

/** The arguments of zig that compile a source to an object. */
type CompilerCommand = (source: string, object: string) => string[];

/** By root and flags. */
const commands = new Map<string, Promise<CompilerCommand>>();

/**
 * Returns the arguments with which zig is the compiler itself, clang. `zig cc` derives them for each file and starts a second
 * process with them, which costs 0.1 s a file; many files compile in that time. `zig cc -###` prints them for one file and
 * compiles nothing; for other files the names in them are replaced.
 *
 * @param sample a source that exists
 */
export function compilerCommand(flags: string[], sample: string, options: ZigOptions): Promise<CompilerCommand> {
  const key = [options.root, ...flags].join("\0");
  const known = commands.get(key);
  if (known) return known;
  const command = readCommand(flags, sample, options);
  commands.set(key, command);
  return command;
}

async function readCommand(flags: string[], sample: string, options: ZigOptions): Promise<CompilerCommand> {
  const placeholder = "placeholder.o";
  const printed = await outputOf(options, ["cc", "-###", ...flags, "-c", sample, "-o", placeholder]);
  // The last line has every argument in quotes, with a backslash before a quote, a backslash and a dollar.
  const words =
    printed
      .split("\n")
      .at(-1)!
      .match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  const [, ...args] = words.map((word) => word.slice(1, -1).replace(/\\(.)/g, "$1"));
  if (args[0] !== "-cc1") throw new BuildError(`zig cc -### did not print the compiler's command: ${printed}`);
  return (source, object) => {
    const own = new Map([
      [placeholder, object],
      [sample, source],
      [basename(sample), basename(source)], // of -main-file-name
    ]);
    return args.map((arg) => own.get(arg) ?? arg);
  };
}
