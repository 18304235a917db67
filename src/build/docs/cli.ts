/** `docs/cli.md`: every command with its arguments, from the tree that the executable parses by. */
import type { ROOT } from "../../commands.ts";
import { cell, heading, table } from "./markdown.ts";

type Node = typeof ROOT;
type Args = Awaited<ReturnType<Node["args"]>>;
type Arg = Args[string];

const positionalsOf = (args: Args) => Object.entries(args).filter(([, { type }]) => type === "positional");
const flagsOf = (args: Args) => Object.entries(args).filter(([, { type }]) => type !== "positional");

const INTRODUCTION = `\
Every command of the executable, as \`svc COMMAND --help\` shows it. The exit code is 0 when it is done, 1 when it failed,
2 when the command line is wrong, and 130 when it was interrupted. Results go to stdout, everything else to stderr.

On a terminal, an answer that is longer than the screen goes through \`SVC_PAGER\`, \`PAGER\` or less; paths of repositories and
backups are links, unless \`FORCE_HYPERLINK\` is 0; \`NO_COLOR\` turns colours and links off. A long command shows how far it is, and
elsewhere than on a terminal prints a line about it every five seconds.`;

const SHARED = `\
## Flags of several commands

The tables of the commands leave these flags out. The line "Also" below a table names those that the command takes.`;

/** A flag that so many commands describe alike stands once, at the top. */
const SHARED_FROM = 4;

/** The page. @param root the group of all commands */
export async function cliPage(root: Node): Promise<string> {
  const nodes = await nodesBelow(root);
  const index = table(
    ["Command", ""],
    nodes.slice(1).map((node) => [`[\`${node.meta.name}\`](#${anchor(node)})`, cell(node.meta.description)]),
  );
  const all = (await Promise.all(nodes.map((node) => node.args()))).flatMap((args) => flagsOf(args).map(flagRows));
  const counts = Map.groupBy(all, rowKey);
  const shared = [...counts.values()].filter((alike) => alike.length >= SHARED_FROM).map(([rows]) => rows!);
  const isShared = (rows: string[][]) => counts.get(rowKey(rows))!.length >= SHARED_FROM;
  const sections = await Promise.all(nodes.map((node) => section(node, isShared)));
  const top = `${SHARED}\n\n${table(FLAG_COLUMNS, shared.flat())}`;
  return [heading("The command line"), INTRODUCTION, index, top, ...sections].join("\n\n");
}

const FLAG_COLUMNS = ["Flag", "Default", ""];

/** What two commands have to say alike for a flag to be shared. */
const rowKey = (rows: string[][]) => rows.flat().join("\n");

async function nodesBelow(node: Node): Promise<Node[]> {
  const below = await Promise.all(Object.values(node.subCommands ?? {}).map(nodesBelow));
  return [node, ...below.flat()];
}

const anchor = ({ meta }: Node) => meta.name.replaceAll(" ", "-");

async function section(node: Node, isShared: (rows: string[][]) => boolean): Promise<string> {
  const { details, examples } = await node.about();
  const args = await node.args();
  const positionals = positionalsOf(args);
  const flags = flagsOf(args).map(flagRows);
  const own = flags.filter((rows) => !isShared(rows));
  const parts = [`## ${node.meta.name}`, sentence(node.meta.description), usage(node, positionals, flags.length > 0)];
  const argumentRows = positionals.map(([name, arg]) => positional(name, arg));
  if (positionals.length > 0) parts.push(table(["Argument", ""], argumentRows));
  if (own.length > 0) parts.push(table(FLAG_COLUMNS, own.flat()));
  const shared = flags.filter(isShared).map((rows) => rows[0]![0]!.replace(/=.*`$/, "`"));
  if (shared.length > 0) parts.push(`${own.length > 0 ? "Also" : "Flags:"} ${shared.join(", ")}.`);
  // Details are laid out in lines; an indented part of them stays as it is.
  if (details) parts.push(paragraphs(details));
  parts.push(
    `<!-- not run: examples of the help page, with names of your own -->\n\`\`\`sh\n${examples.join("\n")}\n\`\`\``,
  );
  return parts.join("\n\n");
}

const sentence = (summary: string) => cell(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`);

function usage(node: Node, positionals: readonly [string, Arg][], hasFlags: boolean): string {
  const words = positionals.map(([name, { required, repeatable }]) => {
    const shown = `${name.toUpperCase()}${repeatable ? "…" : ""}`;
    return required === false ? `[${shown}]` : shown;
  });
  const parts = [node.meta.name, ...(hasFlags ? ["[FLAGS]"] : []), ...words];
  const isGroup = node.subCommands !== undefined && !node.run;
  return `\`${isGroup ? `${node.meta.name} COMMAND` : parts.join(" ")}\``;
}

function positional(name: string, { description = "", repeatable }: Arg): string[] {
  return [`\`${name.toUpperCase()}${repeatable ? "…" : ""}\``, cell(description)];
}

/** A row for a flag, and one for what switches it off. */
function flagRows([name, definition]: [string, Arg]): string[][] {
  const { description = "", repeatable, type } = definition;
  const hint = "valueHint" in definition && definition.valueHint ? definition.valueHint : "VALUE";
  const choices =
    type === "enum" && "options" in definition ? (definition.options as readonly string[]).join("|") : hint;
  const written = type === "boolean" ? `--${name}` : `--${name}=${choices}`;
  const preset =
    definition.default === undefined || definition.default === false ? "" : `\`${String(definition.default)}\``;
  const text = repeatable ? `${description}; may be repeated` : description;
  const rows = [[`\`${written}\``, preset === "`true`" ? "on" : preset, cell(text)]];
  const off = "negativeDescription" in definition ? definition.negativeDescription : undefined;
  if (off) rows.push([`\`--no-${name}\``, "", cell(String(off))]);
  return rows.map((row) => row.map((each) => each.replaceAll(/(?<!\\)\|/g, "\\|")));
}

function paragraphs(details: string): string {
  return details
    .split("\n\n")
    .map((part) =>
      /^ {2}/m.test(part) ? `<!-- not run: part of the help page -->\n\`\`\`text\n${part}\n\`\`\`` : cell(part),
    )
    .join("\n\n");
}
