/** `docs/cli.md`: every command with its arguments, from the tree that the executable parses by. */
import type { ROOT } from "../../commands.ts";
import { cell, heading, table } from "./markdown.ts";

type Node = typeof ROOT;
type Arg = Awaited<ReturnType<Node["args"]>>[string];

const INTRODUCTION = `\
Every command of the executable, as \`svc COMMAND --help\` shows it. Exit codes are 0 where it is done, 1 where it failed, 2
where the command line was wrong and 130 where it was interrupted. Results go to stdout, everything else to stderr.`;

/** The page. @param root the group of all commands */
export async function cliPage(root: Node): Promise<string> {
  const nodes = await all(root);
  const index = table(
    ["Command", ""],
    nodes.slice(1).map((node) => [`[\`${node.meta.name}\`](#${anchor(node)})`, cell(node.meta.description)]),
  );
  const sections = await Promise.all(nodes.map(section));
  return [heading("The command line"), INTRODUCTION, index, ...sections].join("\n\n");
}

async function all(node: Node): Promise<Node[]> {
  const below = await Promise.all(Object.values(node.subCommands ?? {}).map(all));
  return [node, ...below.flat()];
}

const anchor = ({ meta }: Node) => meta.name.replaceAll(" ", "-");

async function section(node: Node): Promise<string> {
  const { details, examples } = await node.about();
  const args = Object.entries(await node.args());
  const positionals = args.filter(([, { type }]) => type === "positional");
  const flags = args.filter(([, { type }]) => type !== "positional");
  const parts = [`## ${node.meta.name}`, sentence(node.meta.description), usage(node, positionals, flags.length > 0)];
  if (positionals.length > 0)
    parts.push(
      table(
        ["Argument", ""],
        positionals.map(([name, arg]) => positional(name, arg)),
      ),
    );
  if (flags.length > 0)
    parts.push(
      table(
        ["Flag", "Default", ""],
        flags.flatMap(([name, arg]) => flag(name, arg)),
      ),
    );
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

function flag(name: string, definition: Arg): string[][] {
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
