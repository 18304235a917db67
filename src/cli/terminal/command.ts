/** What the author of a command writes: its arguments in citty's terms, and what runs. */
import type { ArgDef } from "citty";
import { SvcError, ValueError } from "../../errors.ts";
import type { Env } from "../../paths.ts";

/** The exit codes, by what they say. */
export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** The command line itself was wrong: exit code 2. It prints as a ValueError, which it is. */
export class UsageError extends ValueError {}

/** Runs a check of what was written; what it refuses is wrong usage, whatever its type. */
export function asUsage<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof SvcError) misuses.add(error);
    throw error;
  }
}

/** Whether an error means that the command line was wrong. */
export function isUsage(error: unknown): error is SvcError {
  return error instanceof UsageError || (error instanceof SvcError && misuses.has(error));
}

const misuses = new WeakSet<SvcError>();

/** A flag or a positional in citty's terms, with what citty does not know. */
export type Arg = ArgDef & {
  /** Every value counts, in order: of a flag given more than once, or of the last positional and the words after it. */
  readonly repeatable?: true;
  /** The value is a number. */
  readonly numeric?: true;
  /** The only values of a positional. */
  readonly choices?: readonly string[];
  /**
   * What a shell completes it with, where neither its hint (FILE, DIR) nor its name says so: a kind, or some values.
   */
  readonly completes?: Completed | readonly string[];
};

/** What a shell can complete an argument with, other than choices. */
export type Completed = "file" | "folder" | "collection";

/** The flags and positionals of a command by name; positionals in their order. */
export type Args = Record<string, Arg>;

/** The values by name. citty's own type for them lets every name through and forgets that a flag may be absent. */
export type Values<T extends Args> = {
  readonly [K in keyof T]: T[K] extends { repeatable: true }
    ? readonly string[]
    : T[K] extends { numeric: true }
      ? number | undefined
      : T[K] extends { type: "boolean" }
        ? T[K] extends { default: boolean }
          ? boolean
          : boolean | undefined
        : T[K] extends { type: "positional"; required?: true }
          ? string
          : string | undefined;
};

/** A flag that takes a text. */
export const string = (valueHint: string, description: string) =>
  ({ type: "string", valueHint, description }) as const satisfies Arg;

/** A flag that takes a text and may be given more than once. */
export const strings = (valueHint: string, description: string) =>
  ({ type: "string", valueHint, description, repeatable: true }) as const satisfies Arg;

/** A flag that takes a finite number. */
export const number = (valueHint: string, description: string) =>
  ({ type: "string", valueHint, description, numeric: true }) as const satisfies Arg;

/** Where the memory is: the flag of every command that opens it. */
export const MEMORY_PATH = string("DIR", "memory directory (SVC_MEMORY_PATH, else memory in SVC_HOME)");

/** The flag of every command that prints a result. */
export const JSON_FLAG = { type: "boolean", description: "print one JSON object" } as const;

/** What becomes of credentials in texts: the flag of all commands that write them, or have them written. */
export const SECRETS = {
  type: "enum",
  options: ["store", "refuse", "mask"],
  description:
    "private keys and tokens of well-known formats in texts and metadata: store them (the default), refuse to store " +
    "them, or store [KIND removed]",
} satisfies Arg;

/** What a command runs with. */
export interface Invocation<T extends Args = Args> {
  readonly args: Values<T>;
  /** The command's own words, as `svc mem add`. */
  readonly name: string;
  readonly env: Env;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /**
   * From here on ending at once would lose something: a second signal only says so, with this sentence; the fourth
   * ends.
   */
  patient(why: string): void;
}

/** What help prints for a command in addition to its arguments. */
export interface About {
  /**
   * Paragraphs below the arguments, an empty line between them; a page breaks their lines where it needs to. Lines that
   * begin with spaces stay as they are, lines that begin with "- " are a list.
   */
  readonly details?: string;
  readonly examples: readonly string[];
  /** What to do instead, where one argument too many is given. */
  readonly unexpected?: (word: string) => string;
  /** On the page of the root: what to do first, as commands and what they are for. */
  readonly firstSteps?: readonly (readonly [command: string, what: string])[];
}

/** A command. */
export interface CommandSpec<T extends Args> extends About {
  readonly args: T;
  /** It works, or reports what is wrong itself, where SVC_HOME is a file; other commands are refused then. */
  readonly worksWithoutHome?: true;
  /** @returns the exit code; nothing means 0 */
  run(invocation: Invocation<T>): Promise<number | undefined> | Promise<void>;
}

const works: (() => Promise<void>)[] = [];

/** Has `work`, which must not throw, done once the command has printed its answer, unless that is interrupted. */
export function atEnd(work: () => Promise<void>): void {
  works.push(work);
}

/** Does it, in the order in which it came. */
export async function endOfCommand(): Promise<void> {
  for (const work of works.splice(0)) await work();
}

/** A command whose argument types are forgotten: what `group` takes. */
export type Command = CommandSpec<Args>;

/** Declares a command; exists for the sake of the types, which flow from `args` into `run`. */
export function command<const T extends Args>(spec: CommandSpec<T>): Command {
  return spec as unknown as Command;
}
