/** Whether a command line that a page shows is one that `svc` accepts. */
import { parseArgs } from "citty";
import { type Node, reach, refuseMisread } from "../../src/cli/terminal/citty.ts";
import { ROOT } from "../../src/commands.ts";

/**
 * What is wrong with a command line: a command or a flag that does not exist, a missing argument, a value of the wrong
 * kind. Names in capitals stand for values; `…` and what follows it is left out.
 * @param words without `svc` itself
 * @param isWhole whether all of its arguments are given; a sentence may name a command without them
 */
export async function objection(words: readonly string[], isWhole: boolean): Promise<string | undefined> {
  const end = words.indexOf("…");
  const given = (end < 0 ? words : words.slice(0, end)).map((word) => (/^[A-Z]$/.test(word) ? "1" : word));
  if (/^(--version|-v|--help|-h)$/.test(given[0] ?? "")) return undefined;
  const reached = reach(ROOT, given);
  const { node } = reached;
  if (given.some((word) => word === "--help" || word === "-h")) return undefined;
  const isGroup = node.subCommands !== undefined && !("run" in node && node.run);
  if (isGroup) {
    if (reached.words[0] === "COMMAND") return undefined;
    if (reached.words.length > 0) return `'${node.meta.name}' has no command '${reached.words[0]}'`;
    return isWhole && end < 0 ? `'${node.meta.name}' does nothing by itself` : undefined;
  }
  try {
    await refuseMisread(reached);
    if (isWhole && end < 0) parseArgs([...reached.words], await node.args());
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

/** Every flag of every command, with its dashes. */
export async function allFlags(node: Node = ROOT): Promise<Set<string>> {
  const flags = new Set<string>(["--help", "--version"]);
  for (const [name, { type }] of Object.entries(await node.args())) {
    if (type === "positional") continue;
    flags.add(`--${name}`).add(`--no-${name}`);
  }
  for (const member of Object.values(node.subCommands ?? {}))
    for (const flag of await allFlags(member)) flags.add(flag);
  return flags;
}
