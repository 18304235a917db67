/** The help of a command or a group, as text: every flag, and at least one line to copy. */
import type { ArgDef } from "citty";
import { type Command, flagName, type Group, isGroup } from "./command.ts";
import { style } from "./output.ts";

/** Renders the help page of what stands at `path`, for example `["svc", "mem", "search"]`. */
export function renderHelp(path: readonly string[], node: Command | Group): string {
  const name = path.join(" ");
  const usage = isGroup(node) ? `${name} <command>` : [name, ...positionalUsage(node), "[flags]"].join(" ");
  const sections = [`${style("bold", name)}: ${node.summary}`, section("Usage", [usage])];
  if (node.details) sections.push(node.details);
  if (isGroup(node)) {
    sections.push(
      section("Commands", columns(Object.entries(node.commands).map(([key, member]) => [key, member.summary]))),
    );
  } else {
    const positionals = positionalRows(node);
    if (positionals.length > 0) sections.push(section("Arguments", columns(positionals)));
  }
  sections.push(section("Flags", columns(isGroup(node) ? groupFlags(path) : [...flagRows(node), HELP_ROW])));
  sections.push(section("Examples", node.examples));
  if (isGroup(node)) sections.push(`Every command explains itself: ${name} <command> --help`);
  return sections.join("\n\n");
}

// ---------------------------------------------------------------------------------------------------------------------

const HELP_ROW: [string, string] = ["--help, -h", "show this page"];

function groupFlags(path: readonly string[]): [string, string][] {
  return path.length === 1 ? [HELP_ROW, ["--version, -v", "show the version"]] : [HELP_ROW];
}

function positionals(command: Command): [string, ArgDef][] {
  return Object.entries(command.args).filter(([, definition]) => definition.type === "positional");
}

function positionalUsage(command: Command): string[] {
  const words = positionals(command).map(([name, { required }]) => (required === false ? `[${name}]` : `<${name}>`));
  return command.rest ? [...words, `[${command.rest.name}...]`] : words;
}

function positionalRows(command: Command): [string, string][] {
  const rows = positionals(command).map(([name, { description }]): [string, string] => [name, description ?? ""]);
  return command.rest ? [...rows, [`${command.rest.name}...`, command.rest.description]] : rows;
}

function flagRows(command: Command): [string, string][] {
  return Object.entries(command.args)
    .filter(([, definition]) => definition.type !== "positional")
    .map(([name, definition]) => {
      const value = definition.type === "boolean" ? "" : ` ${definition.valueHint ?? "VALUE"}`;
      const repeat = command.repeatable?.includes(name) ? "; may be repeated" : "";
      return [`${flagName(name, definition)}${value}`, `${definition.description ?? ""}${repeat}`];
    });
}

function section(title: string, lines: readonly string[]): string {
  return [style("bold", `${title}:`), ...lines.map((line) => `  ${line}`)].join("\n");
}

/** Two columns; a left cell too wide for its column gets a line of its own. */
function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(26, Math.max(...rows.map(([left]) => left.length))) + 2;
  return rows.flatMap(([left, right]) =>
    left.length < width ? [left.padEnd(width) + right] : [left, " ".repeat(width) + right],
  );
}
