/** Pages of help: the usage of a command or group, its arguments, flags and members, paragraphs, and lines to copy. */
import { flagsOf, isGroup, type Node, positionalsOf, usageOf } from "./citty.ts";
import type { Arg } from "./command.ts";
import { style } from "./output.ts";
import { textColumns, wrapped } from "./width.ts";

/** A line of a list of arguments or commands: what is written, and what it is for. */
type Entry = readonly [label: string, text: string];

/** The share of a page that labels may take, and that lines to copy may; a longer one has its text below it. */
const LABEL_SHARE = 0.4;
const COMMAND_SHARE = 0.65;

/**
 * The page of a command or group.
 * @param columns that no line exceeds, but for words that are longer, and lines to copy, which stay whole
 */
export async function renderPage(node: Node, columns: number = textColumns()): Promise<string> {
  const { details, examples } = await node.about();
  const args = await node.args();
  const { name, description } = node.meta;
  const positionals = positionalsOf(args).map((each): Entry => [labelOf(each), textOf(each[1])]);
  const flags = flagsOf(args).map(flagEntry);
  flags.push(["-h, --help", "show this page"]);
  if (node.subCommands?.version) flags.push(["-v, --version", "show the version"]);
  const members = Object.entries(node.subCommands ?? {}).map(([word, { meta }]): Entry => [word, meta.description]);
  const command = members.length === 0 ? "" : isGroup(node) ? " <command>" : " [command]";
  const usage = usageOf(`${name} [OPTIONS]${command}`, args);
  return [
    wrapped(`${description} (${name})`, columns).join("\n"),
    `${heading("USAGE")} ${wrapped(usage, columns - 6, " ".repeat(6)).join("\n")}`,
    ...section("ARGUMENTS", positionals, columns),
    ...section("OPTIONS", flags, columns),
    ...section("COMMANDS", members, columns),
    ...(members.length > 0
      ? [wrapped(`'${name} <command> --help' has more about a command.`, columns).join("\n")]
      : []),
    ...(details === undefined ? [] : [reflowed(details, columns)]),
    [heading("EXAMPLES"), "", ...examples.map((line) => `  ${line}`)].join("\n"),
  ].join("\n\n");
}

/** What `svc` alone shows: the first steps, and what else there is. */
export async function renderWelcome(root: Node, columns: number = textColumns()): Promise<string> {
  const { firstSteps = [] } = await root.about();
  const { name, description } = root.meta;
  const members = Object.entries(root.subCommands ?? {}).map(([word, { meta }]): Entry => [word, meta.description]);
  return [
    wrapped(`${name}: ${description}`, columns).join("\n"),
    ...section("FIRST STEPS", firstSteps, columns, COMMAND_SHARE),
    ...section("COMMANDS", members, columns),
    wrapped(`No command is given. '${name} --help' says more, '${name} help COMMAND' about one of them.`, columns).join(
      "\n",
    ),
  ].join("\n\n");
}

/**
 * Paragraphs in lines of at most so many columns. A line that begins with spaces stays as it is, one that begins with
 * "- " is an entry of a list.
 */
export function reflowed(text: string, columns: number): string {
  const blocks: string[] = [];
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    const isOwn = line === "" || /^(?: |- )/.test(line);
    if (last === undefined || isOwn || last === "" || last.startsWith(" ")) blocks.push(line);
    else blocks[blocks.length - 1] = `${last} ${line}`;
  }
  return blocks
    .flatMap((block) => {
      if (block === "" || block.startsWith(" ")) return [block];
      if (!block.startsWith("- ")) return wrapped(block, columns);
      return wrapped(block.slice(2), columns, "  ").map((line, i) => (i === 0 ? `- ${line}` : line));
    })
    .join("\n");
}

function section(name: string, entries: readonly Entry[], columns: number, share = LABEL_SHARE): string[] {
  return entries.length === 0 ? [] : [`${heading(name)}\n\n${listed(entries, columns, share)}`];
}

/** Labels in one column, and what they are for in another; where a label is too long, below it. */
function listed(entries: readonly Entry[], columns: number, share: number): string {
  const most = Math.floor(columns * share);
  const widths = entries.map(([label]) => Bun.stringWidth(label)).filter((width) => width <= most);
  const width = Math.max(0, ...widths);
  const indent = " ".repeat(width + 4);
  return entries
    .flatMap(([label, text]) => {
      const [first = "", ...rest] = wrapped(text, columns, indent);
      const filled = width - Bun.stringWidth(label);
      if (filled < 0) return [`  ${style("cyan", label)}`, indent + first, ...rest];
      return [`  ${style("cyan", label)}${" ".repeat(filled)}  ${first}`.trimEnd(), ...rest];
    })
    .join("\n");
}

function labelOf([name, { repeatable }]: [string, Arg]): string {
  return `${name.toUpperCase()}${repeatable ? "..." : ""}`;
}

/** A flag that is on by itself is shown as what switches it off. */
function flagEntry([name, definition]: [string, Arg]): Entry {
  if (definition.type === "boolean" && definition.default === true)
    return [`--no-${name}`, definition.negativeDescription ?? ""];
  return [`--${name}${hintOf(definition)}`, textOf(definition)];
}

function hintOf(definition: Arg): string {
  if (definition.type === "boolean") return "";
  if (definition.type === "enum") return `=<${(definition.options ?? []).join("|")}>`;
  return `=<${definition.valueHint ?? "VALUE"}>`;
}

function textOf({ type, description, repeatable, required }: Arg): string {
  if (type === "positional") return description ?? "";
  const hints = [repeatable ? "; may be repeated" : "", required === true ? " (required)" : ""];
  return `${description ?? ""}${hints.join("")}`;
}

function heading(text: string): string {
  return style("bold", text);
}
