/** The command line of a hook, as a client's shell takes it apart. */
import { basename } from "node:path";

/**
 * The command line: the program first, each word quoted where a shell would change it. A program that is gone, or is an
 * older one without this command, ends with a code that some clients take for a refusal, so the line ends well anyway.
 */
export function hookCommand(program: string, args: readonly string[]): string {
  return `${[program, ...args].map(quoted).join(" ")}${END}`;
}

const END = " || true";

/** The program of a hook of svc; undefined for another command. */
export function hookProgram(command: string): string | undefined {
  const [, word] = /^('(?:[^']|'\\'')*'|[^\s'"\\]+) mcp hook /.exec(command) ?? [];
  const program = word?.startsWith("'") ? word.slice(1, -1).replaceAll(`'\\''`, "'") : word;
  if (program === undefined) return undefined;
  return basename(program) === "svc" || program === process.execPath ? program : undefined;
}

/** In single quotes; sh, bash, zsh and fish read it alike. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
