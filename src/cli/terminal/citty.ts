/**
 * What citty 0.2 lacks. citty parses the words of one command. Here is the rest, each part with the reason: commands
 * that load on demand, which of them a line means, refusal of what citty misreads, repeated flags and numbers. Pages of
 * help are in `help.ts`, flags that stand before their command in `arrange.ts`.
 */

import { parseArgs } from "node:util";
import { type CommandDef, type ParsedArgs, runCommand } from "citty";
import { didYouMean } from "../../checks/nearest.ts";
import { SvcError } from "../../errors.ts";
import {
  type About,
  type Arg,
  type Args,
  asUsage,
  type Command,
  MEMORY_PATH,
  UsageError,
  type Values,
} from "./command.ts";
import { interruption } from "./interrupt.ts";

/** A command or a group, as citty takes it. */
export interface Node extends CommandDef {
  readonly meta: { readonly name: string; readonly description: string };
  args(): Promise<Args>;
  readonly subCommands?: Readonly<Record<string, Node>>;
  /** What else its page contains. */
  about(): Promise<About>;
}

/** A member of a group: one line for the group's help, lower case and without a full stop, and how to load it. */
export type Member = readonly [summary: string, load: () => Promise<Command>];

/**
 * Commands under one name, such as `svc mem`. citty's usage of a group loads each of its members for the line about it;
 * here that line stands in the group, and what a member needs is imported when it is parsed.
 */
export function group(
  name: string,
  spec: About & { readonly summary: string; readonly commands: Readonly<Record<string, Member | Node>> },
): Node {
  let nodes: Record<string, Node> | undefined;
  return {
    meta: { name, description: spec.summary },
    args: async () => ({}),
    // Made on first use: a command line uses the commands of one group only.
    get subCommands() {
      nodes ??= nodesOf(name, spec.commands);
      return nodes;
    },
    about: async () => spec,
  };
}

/** A command that has members as well: `svc mcp` serves, and `svc mcp install` is one of its members. */
export function withMembers(
  name: string,
  [summary, load]: Member,
  members: Readonly<Record<string, Member | Node>>,
): Node {
  return { ...onDemand(name, summary, load), subCommands: nodesOf(name, members) };
}

function nodesOf(name: string, members: Readonly<Record<string, Member | Node>>): Record<string, Node> {
  const nodes = Object.entries(members).map(([word, member]) => {
    return [word, "meta" in member ? member : onDemand(`${name} ${word}`, ...member)];
  });
  // Without a prototype: in any other object citty finds a command `constructor`.
  return Object.assign(Object.create(null), Object.fromEntries(nodes));
}

function onDemand(name: string, description: string, load: () => Promise<Command>): Node {
  return {
    meta: { name, description },
    args: async () => (await load()).args,
    about: load,
    async run({ args: parsed, rawArgs }) {
      const { args, run, worksWithoutHome } = await load();
      if (!worksWithoutHome) (await import("./home.ts")).requireHomeFolder(process.env);
      const values = readValues(args, parsed, rawArgs);
      try {
        // What a command returns is dropped by citty's runner.
        process.exitCode = (await run({ args: values, name, env: process.env, ...interruption })) ?? undefined;
      } catch (error) {
        if (!(error instanceof SvcError) || error.reason !== "no_collection") throw error;
        const { withNames } = await import("./missing-collection.ts");
        throw withNames(error, values.path as string | undefined, process.env);
      }
    },
  };
}

/** Where a command line leads, and the words that are the node's own: after its name. */
export interface Reached {
  readonly node: Node;
  readonly words: readonly string[];
}

/** citty looks a command up by itself, but does not say which one it found: help, checks and error messages need it. */
export function reach(node: Node, words: readonly string[]): Reached {
  const member = node.subCommands?.[words[0] ?? ""];
  return member ? reach(member, words.slice(1)) : { node, words };
}

/** Whether a node only leads to its members; others run by themselves, with or without members. */
export function isGroup(node: Node): boolean {
  return node.run === undefined;
}

/** Runs the command that was reached. citty runs one that has members once more after its member: here it sees none. */
export async function runReached({ node, words }: Reached): Promise<void> {
  await runCommand({ ...node, subCommands: {} }, { rawArgs: [...words] });
}

/**
 * Refuses what citty would misread. It takes a flag it does not know for a switch and the value after it for a
 * positional, drops every word that begins with `--no-`, keeps the last value of a flag given twice, turns a missing
 * value into "", `--json=maybe` into true, and ignores superfluous positionals: `svc mem delete notes --wehre scope=x`
 * would delete the row "scope=x". What is missing, or is not a choice, citty would refuse in words of its own.
 * @throws UsageError
 */
export async function refuseMisread({ node, words }: Reached): Promise<void> {
  const args = await node.args();
  const positionals = checkFlags(args, words);
  const named = positionalsOf(args);
  const missing = named.find(([, { required }], i) => required !== false && positionals[i] === undefined);
  if (missing) {
    const choices = missing[1].choices === undefined ? "" : `, one of ${missing[1].choices.join(", ")}`;
    const usage = `${missing[0].toUpperCase()} is given${choices}: ${usageOf(node.meta.name, args)}`;
    throw new UsageError(`no ${usage}${await takenFor(node, args, positionals)}`);
  }
  for (const [i, [name, { choices }]] of named.entries()) checkChoice(name.toUpperCase(), choices, positionals[i]);
  await refuseAddresses(args, words, positionals);
  const extra = positionals[named.length];
  if (extra === undefined || named.at(-1)?.[1].repeatable) return;
  if (!node.subCommands) {
    const { unexpected } = await node.about();
    throw new UsageError(`unexpected argument '${extra}'${unexpected ? `: ${unexpected(extra)}` : ""}`);
  }
  if (node.subCommands[extra]) throw new UsageError(`'${extra}' stands right after '${node.meta.name}', before flags`);
  throw new UsageError(`unknown command '${extra}'${didYouMean(extra, Object.keys(node.subCommands))}`);
}

/** Refuses the address of a server where a folder belongs, before a login is required or anything is made. */
async function refuseAddresses(args: Args, words: readonly string[], positionals: readonly string[]): Promise<void> {
  const { values } = tokenise(args, words);
  const places = positionalsOf(args).map(([name]) => name);
  for (const [name, definition] of Object.entries(args)) {
    const at = places.indexOf(name);
    const value = at < 0 ? values[name]?.[0] : positionals[at];
    if (typeof value !== "string" || (definition.valueHint !== "DIR" && definition.completes !== "folder")) continue;
    const { readFolder, readMemoryFolder } = await import("../../checks/folders.ts");
    const read = definition === MEMORY_PATH ? readMemoryFolder : readFolder;
    asUsage(() => read(value, at < 0 ? `--${name}` : name.toUpperCase()));
  }
}

/**
 * The command takes two words and got one: which argument that word was taken for, and the command to type instead.
 */
async function takenFor(node: Node, args: Args, positionals: readonly string[]): Promise<string> {
  const [first, second] = positionalsOf(args).map(([name]) => name.toUpperCase());
  const [word] = positionals;
  if (positionals.length !== 1 || second === undefined) return "";
  const { withMissing } = await import("./shell-words.ts");
  return ` ('${word}' was taken for the ${first}: type ${withMissing(node.meta.name, word!, first!, second)})`;
}

/** Flags of commands that accept a served memory. To others the nearest known flag may be the opposite: --remove of pin. */
const SERVED_FLAGS: ReadonlySet<string> = new Set(["--remote", "--token-file", "--tls-ca", "--tls-cert", "--tls-key"]);
const NEEDS_FILES = ": this command works on files of this machine; for a served memory, run it where 'svc serve' runs";

/**
 * Checks the flags among a command's words, and their values.
 * @returns the positionals
 * @throws UsageError
 */
export function checkFlags(args: Args, words: readonly string[]): readonly string[] {
  const flags = flagNames(args);
  const { tokens, positionals } = tokenise(args, words);
  const given = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const written = words[token.index]!.replace(/=.*/s, "");
    const name = flags.get(written);
    if (name === undefined) {
      const hint = written.startsWith("--") ? "" : " (put '--' in front of a text that begins with a dash)";
      const meant = SERVED_FLAGS.has(written) ? NEEDS_FILES : didYouMean(written, [...flags.keys()]);
      throw new UsageError(`unknown flag '${written}'${meant || hint}`);
    }
    const definition = args[name]!;
    if (definition.type === "boolean") {
      checkSwitch(written, token.value);
      continue;
    }
    checkValue(written, definition, token.value, token.inlineValue === true);
    if (given.has(name) && !definition.repeatable) throw new UsageError(`${written} is given twice`);
    given.add(name);
  }
  return positionals;
}

/** `svc mem get [OPTIONS] <COLLECTION> [ROW-ID]...`: how a command is written, without its flags. */
export function usageOf(name: string, args: Args): string {
  const positionals = positionalsOf(args).map(([positional, { required, repeatable }]) => {
    const word = positional.toUpperCase();
    return `${required === false ? `[${word}]` : `<${word}>`}${repeatable ? "..." : ""}`;
  });
  return [name, ...positionals].join(" ");
}

/** What citty parsed, with what it does not do: it keeps one value of a repeated flag, and has no type for numbers. */
function readValues(args: Args, parsed: ParsedArgs, words: readonly string[]): Values<Args> {
  const { values } = tokenise(args, words);
  const last = positionalsOf(args).length - 1;
  const read = ([name, { type, repeatable, numeric }]: [string, Arg]) => {
    if (repeatable) return [name, type === "positional" ? parsed._.slice(last) : (values[name] ?? [])];
    return [name, numeric && parsed[name] !== undefined ? Number(parsed[name]) : parsed[name]];
  };
  return Object.fromEntries(Object.entries(args).map(read));
}

/** The parser below citty, with the same types of flags, and every value of each. */
function tokenise(args: Args, words: readonly string[]) {
  const options = Object.fromEntries(
    flagsOf(args).map(([name, { type }]) => {
      return [name, { type: type === "boolean" ? type : "string", multiple: true } as const];
    }),
  );
  return parseArgs({ args: words, options, strict: false, allowPositionals: true, tokens: true });
}

/**
 * Flags as they may be written, with their names: what is on by itself, or says so, has a second one that switches it
 * off.
 */
export function flagNames(args: Args): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, definition] of flagsOf(args)) {
    names.set(`--${name}`, name);
    const isSwitchedOff = definition.default === true || "negativeDescription" in definition;
    if (isSwitchedOff) names.set(`--no-${name}`, name);
  }
  return names;
}

/** Flags by name, without the positionals. */
export function flagsOf(args: Args): [string, Arg][] {
  return Object.entries(args).filter(([, { type }]) => type !== "positional");
}

/** Positionals by name, in their order. */
export function positionalsOf(args: Args): [string, Arg][] {
  return Object.entries(args).filter(([, { type }]) => type === "positional");
}

/** `--json`, `--json=true`, `--json=false`; `--no-browser` as it stands. */
function checkSwitch(written: string, value: string | undefined): void {
  if (value === undefined) return;
  if (written.startsWith("--no-")) throw new UsageError(`${written} takes no value`);
  if (value !== "true" && value !== "false") throw new UsageError(`${written} takes no value, or true or false`);
}

function checkValue(written: string, definition: Arg, value: string | undefined, isInline: boolean): void {
  const { repeatable, numeric } = definition;
  // An empty value is most often a script's variable that was not set: taking it for the default would act on the wrong
  // thing.
  if (value === undefined || (value === "" && !repeatable)) throw new UsageError(`${written} needs a value`);
  if (!isInline && value.startsWith("--"))
    throw new UsageError(`${written} needs a value; if '${value}' is meant, write ${written}=${value}`);
  if (numeric && (value.trim() === "" || !Number.isFinite(Number(value))))
    throw new UsageError(`${written}: '${value}' is not a number`);
  if (definition.type === "enum") checkChoice(written, definition.options, value);
}

function checkChoice(written: string, choices: readonly string[] | undefined, value: string | undefined): void {
  if (!choices || value === undefined || choices.includes(value)) return;
  const hint = didYouMean(value, choices) || `: give one of ${choices.join(", ")}`;
  throw new UsageError(`${written} cannot be '${value}'${hint}`);
}
