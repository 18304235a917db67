/**
 * The strict reading of a command line, in front of citty's lenient one.
 *
 * The danger it removes: citty 0.2 accepts a flag it does not know, makes the value behind it a positional, keeps only the last value
 * of a repeated flag and drops what begins with `--no-`. `svc mem delete notes --wehre scope=x` would delete a row named
 * "scope=x". Here every word of the line is accounted for or refused; what goes on to citty has one reading only.
 */
import type { ArgDef } from "citty";
import { type Command, flagName, UsageError } from "./command.ts";
import { nearest } from "./suggest.ts";

/** A command line that was understood in full. */
export interface Reading {
  /** The same line again as `--flag=value`, then `--`, then positionals: citty cannot misread it. */
  readonly canonical: string[];
  /** Every value of every flag that takes one, in order. */
  readonly values: ReadonlyMap<string, string[]>;
}

/**
 * Reads the words after a command's name.
 * @throws UsageError for an unknown or repeated flag, a missing or unwanted value, a missing or superfluous positional
 */
export function readFlags(command: Command, words: readonly string[]): Reading {
  const values = new Map<string, string[]>();
  const switches = new Map<string, boolean>();
  const positionals: string[] = [];
  const flags = flagTable(command);
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word === "--") {
      positionals.push(...words.slice(i + 1));
      break;
    }
    // A lone dash is the customary name of stdin.
    if (!word.startsWith("-") || word === "-") {
      positionals.push(word);
      continue;
    }
    const equals = word.indexOf("=");
    const written = equals < 0 ? word : word.slice(0, equals);
    const flag = flags.get(written);
    if (!flag) throw unknownFlag(written, [...flags.keys()]);
    if (flag.definition.type === "boolean") {
      switches.set(flag.name, readSwitch(written, equals < 0 ? undefined : word.slice(equals + 1)));
      continue;
    }
    const value = equals < 0 ? words[++i] : word.slice(equals + 1);
    // An empty value is most often a script's variable that was not set: taking it for the default would act on the wrong thing.
    if (
      value === undefined ||
      (value === "" && flag.definition.type === "string" && !command.repeatable?.includes(flag.name))
    )
      throw new UsageError(`${written} needs a value`);
    if (equals < 0 && value.startsWith("--")) {
      throw new UsageError(`${written} needs a value; if '${value}' is meant, write ${written}=${value}`);
    }
    const given = values.get(flag.name) ?? [];
    if (given.length > 0 && !command.repeatable?.includes(flag.name)) throw new UsageError(`${written} is given twice`);
    values.set(flag.name, [...given, value]);
  }
  checkPositionals(command, positionals);
  const valued = [...values].map(([name, given]) => `--${name}=${given.at(-1)}`);
  const switched = [...switches].map(([name, on]) => (on ? `--${name}` : `--no-${name}`));
  return { canonical: [...valued, ...switched, "--", ...positionals], values };
}

/**
 * A flag's value as a number.
 * @throws UsageError naming the flag if it is anything else
 */
export function numberFlag(flag: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() === "" || !Number.isFinite(number)) throw new UsageError(`--${flag}: '${value}' is not a number`);
  return number;
}

/**
 * A flag's value as JSON.
 * @throws UsageError naming the flag if it is none
 */
export function jsonFlag(flag: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new UsageError(`--${flag}: '${value.slice(0, 80)}' is not JSON`);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

/** Flags as they may be written. What is on by itself has a second name that says so. */
function flagTable(command: Command): Map<string, { name: string; definition: ArgDef }> {
  const table = new Map<string, { name: string; definition: ArgDef }>();
  for (const [name, definition] of Object.entries(command.args)) {
    if (definition.type === "positional") continue;
    table.set(`--${name}`, { name, definition });
    table.set(flagName(name, definition), { name, definition });
  }
  return table;
}

/** `--json`, `--json=true`, `--json=false`; `--no-browser` as it stands. */
function readSwitch(written: string, value: string | undefined): boolean {
  if (value === undefined) return !written.startsWith("--no-");
  if (written.startsWith("--no-")) throw new UsageError(`${written} takes no value`);
  if (value !== "true" && value !== "false") throw new UsageError(`${written} takes no value, or true or false`);
  return value === "true";
}

function unknownFlag(written: string, known: string[]): UsageError {
  const similar = nearest(written, known);
  if (similar) return new UsageError(`unknown flag '${written}', did you mean '${similar}'?`);
  const hint = written.startsWith("--") ? "" : " (put '--' in front of a text that begins with a dash)";
  return new UsageError(`unknown flag '${written}'${hint}`);
}

function checkPositionals(command: Command, positionals: string[]): void {
  const named = Object.entries(command.args).filter(([, definition]) => definition.type === "positional");
  const missing = named.find(([, definition], i) => definition.required !== false && positionals[i] === undefined);
  if (missing) throw new UsageError(`<${missing[0]}> is missing`);
  const extra = positionals[named.length];
  if (extra !== undefined && !command.rest) throw new UsageError(`unexpected argument '${extra}'`);
}
