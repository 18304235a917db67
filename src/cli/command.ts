/**
 * The shape of a command: what citty needs to run it, and what it cannot say itself: examples, repeatable flags, further positionals.
 * A group holds its members' summaries beside their loaders, so that its help loads none of them.
 */
import type { ArgDef, ArgsDef } from "citty";
import { SvcError, ValueError } from "../errors.ts";
import type { Env } from "../paths.ts";

export type { ArgsDef } from "citty";

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

/**
 * The values of flags and positionals. citty's own type for them lets every name through and forgets that a flag may be absent.
 */
export type Values<T extends ArgsDef> = { readonly _: string[] } & {
  readonly [K in keyof T]: T[K] extends { type: "boolean" }
    ? T[K] extends { default: boolean }
      ? boolean
      : boolean | undefined
    : T[K] extends { type: "positional" }
      ? T[K] extends { required: false }
        ? string | undefined
        : string
      : string | undefined;
};

/** What a command is handed when it runs. */
export interface Invocation<T extends ArgsDef = ArgsDef> {
  /** The flags and positionals by name; all positionals in order under `_`. */
  readonly args: Values<T>;
  /** Every value of a repeatable flag, in order; empty if it was not given. */
  all(flag: keyof T & string): string[];
  readonly env: Env;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** From here on ending at once would lose something: a second signal only says so, with this sentence; the fourth ends. */
  patient(why: string): void;
}

/** Positionals after the named ones. */
export interface Rest {
  readonly name: string;
  readonly description: string;
}

/** What a command's author writes. */
export interface CommandSpec<T extends ArgsDef> {
  /** One line, lower case, without a full stop: it stands in the group's help. */
  readonly summary: string;
  /** Paragraphs below the usage line. */
  readonly details?: string;
  readonly examples: readonly string[];
  readonly args: T;
  /** Flags that may be given more than once; read them with `all`. */
  readonly repeatable?: readonly (keyof T & string)[];
  readonly rest?: Rest;
  /** @returns the exit code; nothing means 0 */
  run(invocation: Invocation<T>): Promise<number | undefined> | Promise<void>;
}

/** A command whose argument types are forgotten: what the dispatcher sees. */
export interface Command extends Omit<CommandSpec<ArgsDef>, "run"> {
  run(invocation: Invocation): Promise<number | undefined> | Promise<void>;
}

/** A member of a group: enough to list it, and a way to load it. */
export interface Member {
  readonly summary: string;
  load(): Promise<Command | Group>;
}

/** Commands under one name. */
export interface Group {
  readonly summary: string;
  readonly details?: string;
  readonly examples: readonly string[];
  readonly commands: Readonly<Record<string, Member>>;
}

/** Declares a command; exists for the sake of the types, which flow from `args` into `run`. */
export function command<const T extends ArgsDef>(spec: CommandSpec<T>): Command {
  return spec as unknown as Command;
}

/** Whether this is a group of commands rather than one. */
export function isGroup(node: Command | Group): node is Group {
  return "commands" in node;
}

/** How a flag is written: `--no-browser` for one that is on by itself, `--json` or `--path` otherwise. */
export function flagName(name: string, definition: ArgDef): string {
  return isOnByDefault(definition) ? `--no-${name}` : `--${name}`;
}

/** Whether a flag can only be switched off. */
export function isOnByDefault(definition: ArgDef): boolean {
  return definition.type === "boolean" && definition.default === true;
}
