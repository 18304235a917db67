/**
 * What citty 0.2 lacks. citty finds a command in its groups, parses its words, refuses an unknown command, a missing
 * positional and a value that is no choice, and renders usage. Here is the rest, each part with the reason: members
 * that load on demand, the command that was found, refusal of what citty misreads, repeated flags and numbers, pages of
 * help, and names for what was mistyped.
 */
import { parseArgs } from "node:util";
import { type CommandDef, type ParsedArgs, renderUsage, runCommand } from "citty";
import { type About, type Arg, type Args, type Command, UsageError, type Values } from "./command.ts";
import { interruption } from "./interrupt.ts";
import { hasColours, style } from "./output.ts";

/** A command or a group, as citty takes it. */
export interface Node extends CommandDef {
  readonly meta: { readonly name: string; readonly description: string };
  args(): Promise<Args>;
  readonly subCommands?: Readonly<Record<string, Node>>;
  /** What citty's usage has no place for. */
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
  return {
    meta: { name, description: spec.summary },
    args: async () => ({}),
    subCommands: nodesOf(name, spec.commands),
    about: async () => spec,
  };
}

/** A command that has members as well: `svc mcp` serves, and `svc mcp install` is one of its members. */
export function withMembers(name: string, [summary, load]: Member, members: Readonly<Record<string, Member>>): Node {
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
      const { args, run } = await load();
      const code = await run({ args: readValues(args, parsed, rawArgs), name, env: process.env, ...interruption });
      // What a command returns is dropped by citty's runner of its group.
      process.exitCode = code ?? undefined;
    },
  };
}

/**
 * Where a command line leads, and the words that are the node's own: behind its name, for a group only the next one.
 */
export interface Reached {
  readonly node: Node;
  readonly words: readonly string[];
}

/** citty looks a command up by itself, but does not say which one it found: help, checks and error messages need it. */
export function reach(node: Node, words: readonly string[]): Reached {
  const member = node.subCommands?.[words[0] ?? ""];
  if (member) return reach(member, words.slice(1));
  return { node, words: isGroup(node) ? words.slice(0, 1) : words };
}

/** Whether a node only leads to its members; others run by themselves, with or without members. */
function isGroup(node: Node): boolean {
  return node.run === undefined;
}

/** Runs what was reached. citty runs a command that has members once more after its member: here it sees none. */
export async function runReached({ node, words }: Reached): Promise<void> {
  await runCommand(isGroup(node) ? node : { ...node, subCommands: {} }, { rawArgs: [...words] });
}

/**
 * Refuses what citty would misread. It takes a flag it does not know for a switch and the value behind it for a
 * positional, drops every word that begins with `--no-`, keeps the last value of a flag given twice, turns a missing
 * value into "", `--json=maybe` into true, and ignores superfluous positionals: `svc mem delete notes --wehre scope=x`
 * would delete the row "scope=x".
 * @throws UsageError
 */
export async function refuseMisread({ node, words }: Reached): Promise<void> {
  const args = await node.args();
  const flags = flagNames(args);
  const { tokens, positionals } = tokenise(args, words);
  const given = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const written = words[token.index]!.replace(/=.*/s, "");
    const name = flags.get(written);
    if (name === undefined) {
      const isText = !written.startsWith("--") && !isGroup(node);
      const hint = isText ? " (put '--' in front of a text that begins with a dash)" : "";
      throw new UsageError(`unknown flag '${written}'${didYouMean(written, [...flags.keys()]) || hint}`);
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
  const named = positionalsOf(args);
  const extra = positionals[named.length];
  if (extra === undefined || isGroup(node) || named.at(-1)?.[1].repeatable) return;
  if (!node.subCommands) throw new UsageError(`unexpected argument '${extra}'`);
  if (node.subCommands[extra]) throw new UsageError(`'${extra}' stands right behind '${node.meta.name}', before flags`);
  throw new UsageError(`Unknown command ${extra}${didYouMean(extra, Object.keys(node.subCommands))}`);
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

/** Flags as they may be written, with their names: what is on by itself, or says so, has a second one that switches it off. */
function flagNames(args: Args): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, definition] of flagsOf(args)) {
    names.set(`--${name}`, name);
    const isSwitchedOff = definition.default === true || "negativeDescription" in definition;
    if (isSwitchedOff) names.set(`--no-${name}`, name);
  }
  return names;
}

function flagsOf(args: Args): [string, Arg][] {
  return Object.entries(args).filter(([, { type }]) => type !== "positional");
}

function positionalsOf(args: Args): [string, Arg][] {
  return Object.entries(args).filter(([, { type }]) => type === "positional");
}

/** `--json`, `--json=true`, `--json=false`; `--no-browser` as it stands. */
function checkSwitch(written: string, value: string | undefined): void {
  if (value === undefined) return;
  if (written.startsWith("--no-")) throw new UsageError(`${written} takes no value`);
  if (value !== "true" && value !== "false") throw new UsageError(`${written} takes no value, or true or false`);
}

function checkValue(written: string, { repeatable, numeric }: Arg, value: string | undefined, isInline: boolean): void {
  // An empty value is most often a script's variable that was not set: taking it for the default would act on the wrong
  // thing.
  if (value === undefined || (value === "" && !repeatable)) throw new UsageError(`${written} needs a value`);
  if (!isInline && value.startsWith("--"))
    throw new UsageError(`${written} needs a value; if '${value}' is meant, write ${written}=${value}`);
  if (numeric && (value.trim() === "" || !Number.isFinite(Number(value))))
    throw new UsageError(`${written}: '${value}' is not a number`);
}

/** Whether a node's own words request help. citty's `runMain` also takes what follows `--`, which is a text. */
export function wantsHelp({ words }: Reached): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).some((word) => word === "--help" || word === "-h");
}

/**
 * citty's usage of a command or group, and what it has no place for: paragraphs, lines to copy, what may be repeated,
 * `--help` itself. citty colours it in a pipe too, and fills lines up with spaces.
 */
export async function renderPage(node: Node): Promise<string> {
  const { details, examples } = await node.about();
  const shown = Object.entries(await node.args()).map(([name, definition]): [string, Arg] => {
    if (!definition.repeatable) return [name, definition];
    if (definition.type === "positional") return [`${name}...`, definition];
    return [name, { ...definition, description: `${definition.description}; may be repeated` }];
  });
  const help: Args = { help: { type: "boolean", alias: "h", description: "show this page" } };
  if (node.subCommands?.version) help.version = { type: "boolean", alias: "v", description: "show the version" };
  const usage = (await renderUsage({ ...node, args: { ...Object.fromEntries(shown), ...help } })).trimEnd();
  // citty knows no command whose members need not be named.
  const members = Object.keys(node.subCommands ?? {}).join("|");
  const optional = isGroup(node) || members === "" ? usage : usage.replace(members, () => `[${members}]`);
  const arranged = (hasColours() ? optional : Bun.stripANSI(optional)).replace(/ +$/gm, "");
  const copyable = [style("bold", "EXAMPLES"), "", ...examples.map((line) => `  ${line}`)].join("\n");
  return [arranged, details, copyable].filter((part) => part !== undefined).join("\n\n");
}

/** Whether citty says that a group was given no command; its class of errors is not exported. */
export function isNoCommand(error: unknown): boolean {
  return isCittyError(error) && error.code === "E_NO_COMMAND";
}

/**
 * citty's error as one of ours, without its colours; other errors as they are. citty proposes no name for one that was
 * mistyped.
 */
export function usageError(error: unknown, { node, words }: Reached): unknown {
  if (!isCittyError(error)) return error;
  const isName = error.code === "E_UNKNOWN_COMMAND";
  const hint = isName ? didYouMean(words[0]!, Object.keys(node.subCommands ?? {})) : "";
  return new UsageError(Bun.stripANSI(error.message).replace(/\.$/, "") + hint);
}

function isCittyError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && error.name === "CLIError";
}

function didYouMean(name: string, candidates: readonly string[]): string {
  const similar = nearest(name, candidates);
  return similar === undefined ? "" : `, did you mean '${similar}'?`;
}

/** The candidate nearest to a name, or undefined if none is near enough to be what was meant. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = letters(name);
  let best: string | undefined;
  // A third of the letters wrong is another word.
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const known = letters(candidate);
    const distance = wanted.length >= 2 && known.startsWith(wanted) ? 1 : editDistance(wanted, known);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Dashes, underscores and case are not what people get wrong: `--topK` and `build_ivf` are the right word. */
function letters(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal string
 * alignment).
 */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
